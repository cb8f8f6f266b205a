"""`prewarm config check FILE`: the configuration as the service would read it, without starting anything."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import click

from prewarm.http.auth import check_listen
from prewarm.settings_file import read_settings


@click.group(epilog="Example: prewarm config check prewarm.toml")
def config() -> None:
    """Look after configuration files."""


@config.command("check", epilog="Example: prewarm config check prewarm.toml --json")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print what is in force, defaults included, as JSON.")
def check(file: Path, as_json: bool) -> int:
    """Check FILE, with PREWARM_ variables on top; exit status 2 and one line for the first fault."""
    settings = read_settings(file, os.environ)
    check_listen(settings.serve.listen, settings.auth)
    told = dataclasses.asdict(settings)
    for digests in ("read_token_sha256", "write_token_sha256"):
        told["auth"][digests] = f"{len(told['auth'][digests])} configured"
    if as_json:
        click.echo(json.dumps(told, indent=2, default=str))
    else:
        entries = f"{len(settings.function)} function entries, {len(settings.call)} calls"
        click.echo(f"{file}: good ({entries}, listening on {settings.serve.listen})")
    return 0

"""`prewarm place -f FILE`: where would this go, why, and (with --apply) put it there."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prewarm.cli.kubeconfigs import WAIT, fleet_options, places_of, usual_places
from prewarm.cli.running import run
from prewarm.domain import InputError
from prewarm.settings_file import read_settings

if TYPE_CHECKING:
    from federation.desk.once import Answer


@click.command(
    epilog="Examples: prewarm place -f shop.yaml --kubeconfig fleet.yaml;  "
    "prewarm place -f shop.yaml --kubeconfig fleet.yaml --apply --with-dependencies;  "
    "prewarm place -f shop.yaml --kubeconfig fleet.yaml --delete"
)
@click.option(
    "-f", "--file", "file", required=True, help="Deployment, Knative Service, Job or our own form; - is stdin."
)
@fleet_options
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="TOML file with [[cluster]], [[link]].")
@click.option("-n", "--namespace", default="default", show_default=True, help="Of objects that name none.")
@click.option("--apply", "apply", is_flag=True, help="Put it there; otherwise clusters are only asked (a dry run).")
@click.option("--delete", "delete", is_flag=True, help="Take it away again: what we made for it, nothing else.")
@click.option("--with-dependencies", is_flag=True, help="Copy the namespace, configuration and secrets that it needs.")
@click.option("--force", is_flag=True, help="Take fields that another manager owns.")
@click.option("--route", metavar="CLUSTER:[NS/]GATEWAY", help="Also write an HTTPRoute with the weights there.")
@click.option("--route-backend", default="{name}-{cluster}", show_default=True, help="Name of each cluster's backend.")
@click.option("--database", help="Where work is written down before it is begun [default: state/prewarm.db].")
@click.option(
    "--wait", "wait_s", type=WAIT, default=10.0, show_default=True, help="Seconds to wait for silent members."
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole record as JSON.")
def place(file: str, config: Path | None, as_json: bool, **options: Any) -> int:
    """Place the workloads in FILE over the fleet. Without --kubeconfig: KUBECONFIG, else ~/.kube/config.

    Exit status 1 where something fits nowhere or could not be carried out.
    """
    from federation.desk.once import Wish, place_once

    if options["apply"] and options["delete"]:
        raise InputError("--delete: cannot go with --apply")
    places = places_of(options) or usual_places()
    settings = read_settings(config, os.environ)
    wish = Wish(
        text=_read(file),
        name=file,
        database=options.pop("database") or settings.serve.database,
        **options,
    )
    answers = run(place_once(places, settings, os.environ, wish))
    if as_json:
        click.echo(json.dumps([one.to_json() for one in answers], indent=2))
    else:
        for one in answers:
            _say(one)
    return 0 if all(one.good for one in answers) else 1


def _say(one: Answer) -> None:
    click.echo(one.headline)
    for line in one.lines:
        click.echo(f"  {line}")


def _read(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or error})") from None

"""`prewarm explain ID|FUNCTION`: why a decision was taken, asked of the running service."""

from __future__ import annotations

import json
import re
from typing import Any

import click

from prewarm.cli.client import DEFAULT_SERVICE, ServiceClient, encoded

_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


@click.command(epilog="Examples: prewarm explain shop/checkout; prewarm explain 01M8P2XRR0R134J4BVWEWT9N2Y --json")
@click.argument("what", metavar="ID|FUNCTION")
@click.option("--service", default=DEFAULT_SERVICE, show_default=True, envvar="PREWARM_SERVICE", help="Its address.")
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON.")
def explain(what: str, service: str, as_json: bool) -> int:
    """Say why a decision was taken: a pool's or a placement's by its id, or the latest one on a function."""
    client = ServiceClient(service)
    path = f"/v1/decisions/{what}" if _ID.fullmatch(what) else f"/v1/functions/{encoded(what)}/decision"
    made = client.read(path)
    click.echo(json.dumps(made, indent=2) if as_json else "\n".join(_sentences(made)))
    return 0


def _sentences(made: dict[str, Any]) -> list[str]:
    policy = made["policy"]
    change = f"stays at {made['to']}" if made["from"] == made["to"] else f"{made['from']} -> {made['to']} instances"
    done = "carried out" if made["applied"] else "not carried out"
    lines = [f"{made['function']}: {change} ({made['mode']}, {done}), {made['at']}"]
    if made["held"]:
        lines.append(f"  held: {made['held']}")
    lines += [f"  - {text}" for text in _reasons(made)]
    lines.append(f"  decided by {policy['name']} {policy['version']}")
    if policy["rule_decided"]:
        lines.append(f"  the plain rule decided: {policy['why']}")
    lines.append(f"  id {made['id']}")
    return lines


def _reasons(made: dict[str, Any]) -> list[str]:
    """Why, in sentences."""
    if made["kind"] != "placement":
        return [str(reason["text"]) for reason in made["reasons"]]
    from federation.placement.explain.text import sentences

    return sentences(made, [(reason["factor"], reason["text"]) for reason in made["reasons"]])

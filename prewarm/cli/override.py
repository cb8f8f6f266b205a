"""`prewarm override set|list|end`: a person's word on a function, said to the running service."""

from __future__ import annotations

import getpass
import json
import re
from typing import Any

import click

from prewarm.cli.client import DEFAULT_SERVICE, ServiceClient, encoded
from prewarm.domain import Action, InputError, parse_time, rfc3339

_SPAN = re.compile(r"(\d{1,12})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
MOST_S = 3650 * 86_400

service_option = click.option(
    "--service", default=DEFAULT_SERVICE, show_default=True, envvar="PREWARM_SERVICE", help="Address of the service."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")


@click.group(epilog="Example: prewarm override set shop/checkout pin 3 --for 2h --reason launch")
def override() -> None:
    """Pin, bound or pause a function; it wins over every policy until it ends, and is audited."""


@override.command("set", epilog="Example: prewarm override set shop/checkout floor 2 --for 1d --reason 'sale day'")
@click.argument("function", metavar="FUNCTION[@CLUSTER]")
@click.argument("action", type=click.Choice([str(action) for action in Action]))
@click.argument("value", type=click.IntRange(0, 100_000), required=False)
@click.option("--reason", required=True, help="Why; it is shown with every decision that it changes.")
@click.option("--owner", default=getpass.getuser, help="Who says so [default: your login].")
@click.option("--for", "span", help="Ends after this long by the service's clock: 30m, 2h, 1d.")
@click.option("--until", help="Ends at this RFC 3339 time.")
@click.option("--forever", is_flag=True, help="Holds until it is ended.")
@service_option
@json_option
def set_override(function: str, action: str, value: int | None, **options: Any) -> int:
    """Set or replace the override on FUNCTION. One of --for, --until, --forever is needed."""
    client = ServiceClient(options["service"])
    body = {
        "action": action,
        "value": value,
        "owner": options["owner"],
        "reason": options["reason"],
        "expires_at": _end(client, options["span"], options["until"], forever=options["forever"]),
    }
    answer = client.send("PUT", f"/v1/overrides/{encoded(function)}", body)
    click.echo(json.dumps(answer, indent=2) if options["as_json"] else _line(answer))
    return 0


@override.command("list", epilog="Example: prewarm override list --json")
@service_option
@json_option
def list_overrides(service: str, as_json: bool) -> int:
    """List the overrides that hold."""
    client, found, cursor = ServiceClient(service), list[dict[str, Any]](), None
    while True:
        page = client.read("/v1/overrides?limit=1000" + (f"&cursor={encoded(cursor)}" if cursor else ""))
        found += page["overrides"]
        cursor = page["next"]
        if cursor is None:
            break
    click.echo(json.dumps(found, indent=2) if as_json else "\n".join(map(_line, found)) or "no override holds")
    return 0


@override.command("end", epilog="Example: prewarm override end shop/checkout")
@click.argument("function", metavar="FUNCTION[@CLUSTER]")
@service_option
@json_option
def end_override(function: str, service: str, as_json: bool) -> int:
    """End the override on FUNCTION."""
    answer = ServiceClient(service).send("DELETE", f"/v1/overrides/{encoded(function)}")
    click.echo(json.dumps(answer, indent=2) if as_json else f"ended: {_line(answer)}")
    return 0


def _end(client: ServiceClient, span: str | None, until: str | None, *, forever: bool) -> str | None:
    """When it ends, by the service's clock: a simulated world's runs ahead of ours."""
    if (span is not None) + (until is not None) + forever != 1:
        raise InputError("override: say when it ends, by one of --for, --until and --forever")
    if until is not None:
        return rfc3339(parse_time(until, "--until"))
    if span is None:
        return None
    said = _SPAN.fullmatch(span)
    if said is None:
        raise InputError(f"--for: must be a number with s, m, h, d or w, is {span[:40]!r}")
    length_s = int(said[1]) * _SECONDS[said[2]]
    if length_s > MOST_S:
        raise InputError(f"--for: must be 10 years or less (or say --forever), is {span[:40]!r}")
    return rfc3339(float(client.read("/readyz")["now"]) + length_s)


def _line(one: dict[str, Any]) -> str:
    place = one["function"] if one["cluster"] is None else f"{one['function']}@{one['cluster']}"
    value = "" if one["value"] is None else f" {one['value']}"
    end = "until ended" if one["expires_at"] is None else f"until {one['expires_at']}"
    return f"{place}: {one['action']}{value} {end} ({one['owner']}: {one['reason']})"

"""`prewarm fleet`: which clusters there are, whether each can be worked with, and taking one out of use."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import click

from prewarm.cli.client import DEFAULT_SERVICE, ServiceClient, encoded
from prewarm.cli.kubeconfigs import WAIT, fleet_options, places_of, usual_places
from prewarm.cli.running import run
from prewarm.cli.tables import print_table
from prewarm.domain import InputError
from prewarm.settings_file import read_settings

_CONFIG = click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="TOML file with [[cluster]].")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_WAIT = click.option(
    "--wait", "wait_s", type=WAIT, default=10.0, show_default=True, help="Seconds to wait for silent members."
)
_SERVICE = click.option("--service", default=DEFAULT_SERVICE, show_default=True, envvar="PREWARM_SERVICE")


@click.group(epilog="Example: prewarm fleet list --kubeconfig eu.yaml --kubeconfig us.yaml")
def fleet() -> None:
    """Look at the fleet's clusters, and take one out of use."""


@fleet.command("list", epilog="Example: prewarm fleet list --kubeconfig fleet.yaml --json")
@fleet_options
@_CONFIG
@_WAIT
@_JSON
def list_members(config: Path | None, wait_s: float, as_json: bool, **options: Any) -> int:
    """List members as they answer now. Without --kubeconfig: KUBECONFIG, else ~/.kube/config.

    Exit status 1 where a context cannot be a member or a member does not answer.
    """
    from federation.desk.inspect import look_at

    places = places_of(options) or usual_places()
    found = run(look_at(places, read_settings(config, os.environ), os.environ, wait_s=wait_s))
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        print_table(_rows(found["clusters"]))
        for notice in found["notices"]:
            click.echo(notice, err=True)
    return 1 if any(one["state"] in ("dark", "refused") for one in found["clusters"]) else 0


@fleet.command("check", epilog="Example: prewarm fleet check --kubeconfig fleet.yaml --writes shop")
@fleet_options
@_CONFIG
@_WAIT
@click.option("--writes", "namespaces", multiple=True, help="Also check that placements may be written here.")
@_JSON
def check(config: Path | None, wait_s: float, as_json: bool, namespaces: tuple[str, ...], **options: Any) -> int:
    """Check each member: reachable, rights to read (and write), metrics, clock, certificates, region, links.

    Exit status 1 where something was found.
    """
    from federation.desk.inspect import check_fleet

    places = places_of(options) or usual_places()
    settings = read_settings(config, os.environ)
    found = run(check_fleet(places, settings, os.environ, wait_s=wait_s, namespaces=namespaces))
    if as_json:
        click.echo(json.dumps([{"cluster": name, "findings": list(texts)} for name, texts in found.items()], indent=2))
    else:
        for name, texts in found.items():
            click.echo(f"{name}: {'good' if not texts else ''}".rstrip())
            for text in texts:
                click.echo(f"  - {text}")
    return 1 if any(found.values()) else 0


@fleet.command("cordon", epilog="Example: prewarm fleet cordon eu-1 --reason 'node upgrade'")
@click.argument("name")
@click.option("--reason", required=True, help="Why; shown wherever the cluster is.")
@click.option("--owner", default=lambda: os.environ.get("USER", "operator"), help="Who says so [default: $USER].")
@_SERVICE
def cordon(name: str, reason: str, owner: str, service: str) -> int:
    """Nothing new goes to cluster NAME; what runs there stays."""
    return _say(service, name, {"owner": owner, "reason": reason})


@fleet.command("drain", epilog="Example: prewarm fleet drain eu-1 --reason 'moving out'")
@click.argument("name")
@click.option("--reason", required=True, help="Why; shown wherever the cluster is.")
@click.option("--owner", default=lambda: os.environ.get("USER", "operator"), help="Who says so [default: $USER].")
@click.option(
    "--wait", "wait_s", type=WAIT, default=0.0, help="Wait up to so many seconds until nothing of ours runs there."
)
@_SERVICE
def drain(name: str, reason: str, owner: str, wait_s: float, service: str) -> int:
    """Nothing new goes to cluster NAME, and what prewarm placed there moves away within the limits of [placement]."""
    done = _say(service, name, {"owner": owner, "reason": reason, "drain": True})
    if wait_s <= 0:
        return done
    client, end = ServiceClient(service), time.monotonic() + wait_s
    while (left := _left(client, name)) and time.monotonic() < end:
        time.sleep(1.0)
    click.echo(f"{name}: {left} instances are left" if left else f"{name}: empty")
    return 1 if left else 0


@fleet.command("uncordon", epilog="Example: prewarm fleet uncordon eu-1")
@click.argument("name")
@_SERVICE
def uncordon(name: str, service: str) -> int:
    """Cluster NAME is used again."""
    answer = ServiceClient(service).send("DELETE", f"/v1/clusters/{encoded(name)}/maintenance")
    click.echo(f"{answer['cluster']}: {answer['state']}")
    return 0


def _say(service: str, name: str, body: dict[str, Any]) -> int:
    if not body["reason"].strip():
        raise InputError("--reason: must say something")
    answer = ServiceClient(service).send("PUT", f"/v1/clusters/{encoded(name)}/maintenance", body)
    click.echo(f"{answer['cluster']}: {answer['state']}")
    return 0


def _left(client: ServiceClient, name: str) -> int:
    """Instances in the cluster of workloads that are kept placed."""
    count, cursor = 0, ""
    while True:
        page = client.read(f"/v1/placements?limit=1000{cursor}")
        count += sum(int(one["clusters"].get(name, 0)) for one in page["placements"])
        if page["next"] is None:
            return count
        cursor = f"&cursor={encoded(page['next'])}"


def _rows(clusters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "cluster": one["name"],
            "context": one["context"],
            "state": one["state"],
            "region": one["region"] or "-",
            **_room(one),
            "told": one["why"] or "; ".join(one["notes"]) or "-",
        }
        for one in clusters
    ]


def _room(one: dict[str, Any]) -> dict[str, object]:
    """Nodes and what is requested of what there is; a dash where nobody has told yet, which is not zero."""
    asked, there = one["requested"] or {}, one["allocatable"]
    if there is None:
        return dict.fromkeys(("nodes", "cpu", "memory GiB", "pods"), "-")
    known = one["requested"] is not None
    shown = {}
    for title, name, unit, digits in (("cpu", "cpu", 1, 1), ("memory GiB", "memory", 2**30, 1), ("pods", "pods", 1, 0)):
        taken = f"{asked.get(name, 0) / unit:.{digits}f}" if known else "?"
        shown[title] = f"{taken} / {there.get(name, 0) / unit:.{digits}f}"
    return {"nodes": one["nodes"], **shown}

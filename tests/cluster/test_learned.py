"""The learned scorer over three real clusters: its guard knows what it sees there, and a cluster that goes dark not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Process, serving
from tests.cluster.real.cluster import wait_for
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import deployment
from tests.cluster.test_serve import set_mode, states

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

LEARNED = """
[placement]
scorer = "learned"
scorer_mode = "shadow"
scorer_deadline_ms = 500
"""
MANY = 24


@pytest.fixture
def service(fleet: Fleet, tmp_path: Path) -> Iterator[Process]:
    """The service over the fleet with the scorer that ships, once it knows every member."""
    settings = tmp_path / "prewarm.toml"
    settings.write_text(LEARNED, encoding="utf-8")
    with serving(tmp_path, "--config", str(settings), "--kubeconfig", str(fleet.kubeconfig())) as process:
        process.until("/readyz")
        wait_for(lambda: states(process) == dict.fromkeys(("ap", "eu", "us"), "ready"), what="knowing three members")
        yield process


def guard(process: Process) -> dict[str, Any]:
    status, answer = process.call("GET", "/v1/scorer")
    assert status == 200, answer
    return {**answer["guard"], "declined": answer["decisions"]["declined"], "shadowed": answer["decisions"]["shadowed"]}


def place(process: Process, key: str, replicas: int, *, dry_run: bool) -> dict[str, Any]:
    body = {"manifest": deployment(key, replicas), "dry_run": dry_run, "deadline_ms": 60_000}
    status, answer = process.call("POST", "/v1/placements", body)
    assert (status, answer["unplaced"]) == (200, 0), answer
    return dict(answer)


def test_it_is_compared_on_a_fleet_of_real_clusters_and_handed_over_when_one_goes_dark(
    fleet: Fleet, namespace: str, service: Process
) -> None:
    set_mode(service, namespace, "active")
    levels = []
    for number in range(MANY):
        made = place(service, f"{namespace}/w{number:02d}", 1 + number % 4, dry_run=number % 3 > 0)
        levels.append(guard(service)["level"])
        assert made["rule_decided"]
        assert made["why"].startswith("shadow: "), made
    seen = guard(service)
    assert (seen["state"], seen["declined"]) == ("calm", {}), (seen, levels)
    assert seen["shadowed"] >= MANY
    assert max(levels) < 1.0, levels
    fleet["us"].api_server.pause()
    wait_for(lambda: states(service)["us"] == "dark", deadline_s=60.0, what="seeing that us is dark")

    def handed_over() -> bool:
        made = place(service, f"{namespace}/late", 2, dry_run=True)
        return str(made["why"]).startswith("out of distribution")

    wait_for(handed_over, deadline_s=60.0, what="handing over to the rule")
    fleet["us"].api_server.resume()
    assert guard(service)["state"] == "alarm"

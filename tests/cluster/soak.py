"""Many real API servers watched for minutes under churn, with one that goes dark in the middle.

    python -m tests.cluster.soak --clusters 8 --minutes 10 --json soak.json

Asks three things: is the snapshot at the end what kubectl lists, is memory flat, and does a dark member delay anybody
(P99 of a placement with and without it, the wait for the event loop included). Exit status 1 where one is not so.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click
import numpy as np

from federation.informer.fleet import FleetWatch
from federation.informer.settings import WatchOptions
from federation.members.client import ClientOptions
from federation.placement.placer import Placer
from federation.placement.terms import Terms
from federation.placement.workload import Workload
from federation.snapshot import MemberState, frozen
from tests.cluster.churn import NAMESPACE, churning
from tests.cluster.reaching import seen, until_equal, watch_of
from tests.cluster.real.cluster import Cluster, ClusterPlan
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import NodeShape, namespace

_ASK_S = 0.2
_WARM_UP = 0.45
"""Share of the time after which memory must be flat: a reflector remembers the versions of its last 4,096 events, and
at 20 changes a second and member those are full after some four minutes."""
_DARK = (0.5, 0.75)
"""Shares of the time between which one member is dark."""
_GROWTH_MIB_PER_MIN = 0.5
_P99_RATIO, _P99_SLACK_MS = 1.5, 5.0
_MIB = 1 << 20


@dataclass(slots=True)
class Series:
    """What was measured: (share of the time, MiB), and milliseconds of placements while all or not all answered."""

    memory: list[tuple[float, float]] = field(default_factory=list)
    all_up_ms: list[float] = field(default_factory=list)
    one_dark_ms: list[float] = field(default_factory=list)
    unplaced: int = 0
    wrongly_dark: list[str] = field(default_factory=list)
    """Members that were held for dark while they answered, once for each question in that time."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result, as it is written to the JSON file."""

    clusters: int
    minutes: float
    changes: int
    placements: int
    p50_all_up_ms: float
    p50_one_dark_ms: float
    p99_all_up_ms: float
    p99_one_dark_ms: float
    memory_mib: float
    growth_mib_per_min: float
    unplaced: int
    wrongly_dark: dict[str, int]
    caught_up_s: dict[str, float]
    differs: list[str]

    @property
    def broken(self) -> list[str]:
        """The goals that were not met."""
        limit_ms = _P99_RATIO * self.p99_all_up_ms + _P99_SLACK_MS
        goals = {
            "snapshot equals kubectl": not self.differs,
            "who answers is never taken for dark": not self.wrongly_dark and not self.unplaced,
            "memory flat": self.growth_mib_per_min <= _GROWTH_MIB_PER_MIN,
            "a dark member delays nobody": self.p99_one_dark_ms <= limit_ms,
        }
        return [name for name, met in goals.items() if not met]


async def soak(fleet: Fleet, *, minutes: float, changes_per_s: float) -> Verdict:
    """Watch the fleet that long; the last member is the one that goes dark."""
    for cluster in fleet:
        cluster.kubectl.apply([namespace(NAMESPACE)])
    *_, dark = fleet
    async with watch_of(fleet.kubeconfig(), client=ClientOptions(), watch=WatchOptions()) as watch:
        for cluster in fleet:
            await until_equal(watch, cluster, deadline_s=60.0)
        with churning(fleet, changes_per_s=changes_per_s) as changes:
            async with going_dark(dark, seconds=minutes * 60):
                series = await measure(watch, dark.name, seconds=minutes * 60)
        caught_up, differs = await compare(watch, fleet)
    return verdict(series, minutes, changes=changes(), caught_up=caught_up, differs=differs)


@asynccontextmanager
async def going_dark(cluster: Cluster, *, seconds: float) -> AsyncIterator[None]:
    """Its API server is paused for the middle part of the time."""

    async def pause_and_resume() -> None:
        await asyncio.sleep(_DARK[0] * seconds)
        cluster.api_server.pause()
        await asyncio.sleep((_DARK[1] - _DARK[0]) * seconds)
        cluster.api_server.resume()

    task = asyncio.create_task(pause_and_resume(), name="dark")
    try:
        yield
        await task
    finally:
        task.cancel()
        cluster.api_server.resume()


async def measure(watch: FleetWatch, dark: str, *, seconds: float) -> Series:
    """Ask for a placement again and again; a time counts from when the question was due."""
    series = Series()
    placer = Placer(watch.snapshot(time.time()))
    began = due = time.monotonic()
    while (share := (due - began) / seconds) < 1.0:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        snapshot = watch.snapshot(time.time())
        placer.see(snapshot)
        placement = placer.ask(question(len(series.memory)), terms=Terms(), now=snapshot.at)
        took_ms = (time.monotonic() - due) * 1000
        series.unplaced += placement.unplaced > 0
        series.wrongly_dark += [
            one.name for one in snapshot.clusters if one.state is MemberState.DARK and one.name != dark
        ]
        inside = _DARK[0] <= share <= _DARK[1]
        (series.one_dark_ms if inside else series.all_up_ms).append(took_ms)
        series.memory.append((share, resident_mib()))
        due += _ASK_S
    return series


def question(number: int) -> Workload:
    """A small workload that fits anywhere."""
    requests = {"cpu": 50 + number % 7, "memory": 32 * _MIB}
    return Workload(f"{NAMESPACE}/asked-{number % 50}", "deployment", 1 + number % 4, frozen(requests))


async def compare(watch: FleetWatch, fleet: Fleet) -> tuple[dict[str, float], list[str]]:
    """Seconds until each member is as kubectl lists it, and those that are not within two minutes."""
    caught_up: dict[str, float] = {}
    differs = []
    for cluster in fleet:
        try:
            caught_up[cluster.name] = round(await until_equal(watch, cluster, deadline_s=120.0), 2)
        except AssertionError:
            differs.append(cluster.name)
    assert all(seen(watch, cluster.name) is not None for cluster in fleet)
    return caught_up, differs


def verdict(
    series: Series, minutes: float, *, changes: int, caught_up: dict[str, float], differs: list[str]
) -> Verdict:
    """The figures of a run."""
    settled = np.array([point for point in series.memory if point[0] >= _WARM_UP])
    slope = float(np.polyfit(settled[:, 0] * minutes, settled[:, 1], 1)[0])
    return Verdict(
        clusters=len(caught_up) + len(differs),
        minutes=minutes,
        changes=changes,
        placements=len(series.memory),
        p50_all_up_ms=percentile(series.all_up_ms, 50),
        p50_one_dark_ms=percentile(series.one_dark_ms, 50),
        p99_all_up_ms=percentile(series.all_up_ms, 99),
        p99_one_dark_ms=percentile(series.one_dark_ms, 99),
        memory_mib=round(float(settled[-1, 1]), 1),
        growth_mib_per_min=round(slope, 3),
        unplaced=series.unplaced,
        wrongly_dark=dict(Counter(series.wrongly_dark)),
        caught_up_s=caught_up,
        differs=differs,
    )


def percentile(values: list[float], q: float) -> float:
    """To two digits."""
    return round(float(np.percentile(values, q)), 2)


def resident_mib() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / _MIB


@click.command()
@click.option("--clusters", default=8, show_default=True)
@click.option("--minutes", default=10.0, show_default=True)
@click.option("--changes-per-s", default=20.0, show_default=True, help="In each cluster.")
@click.option("--nodes", default=20, show_default=True, help="In each cluster.")
@click.option("--json", "file", type=click.Path(path_type=Path, dir_okay=False))
def main(clusters: int, minutes: float, changes_per_s: float, nodes: int, file: Path | None) -> None:
    """Watch real API servers under churn."""
    plans = [ClusterPlan(f"c{n}", region=f"r{n}", nodes=(NodeShape(nodes),), pods_run=False) for n in range(clusters)]
    with Fleet(plans) as fleet:
        result = asyncio.run(soak(fleet, minutes=minutes, changes_per_s=changes_per_s))
    for name, value in asdict(result).items():
        click.echo(f"{name:>20}  {value}")
    if file is not None:
        file.write_text(json.dumps(asdict(result) | {"broken": result.broken}, indent=2))
    if result.broken:
        click.echo(f"not met: {', '.join(result.broken)}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

"""Fifty workloads over three clusters, one of whose API servers is killed in the middle and comes back."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from federation import labels
from federation.apply.rollout.work import State, Verdict
from federation.informer.fleet import FleetWatch
from federation.manifest.read import Manifest, read_manifest
from federation.snapshot import MemberState
from tests.cluster.placing import Desk, Done, desk_over
from tests.cluster.reaching import ANSWERING, state_of, until, until_equal, watch_of
from tests.cluster.real.admin import Json
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import READY_DELAY, deployment

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

WORKLOADS = 50
TOGETHER = 5


def manifest_of(namespace: str, number: int) -> Manifest:
    """Every third wants two clusters, every fifth names its region, the others go where they like."""
    body: Json = deployment(
        f"{namespace}/w{number:02}",
        1 + number % 4,
        requests={"cpu": f"{50 + 25 * (number % 3)}m", "memory": "64Mi"},
        annotations={READY_DELAY: f"{100 * (number % 5)}ms"},
    )
    notes: dict[str, str] = {}
    if number % 3 == 0 and number % 4:
        notes[labels.MIN_CLUSTERS] = "2"
    elif number % 5 == 0:
        notes[labels.REGIONS] = ("us", "ap")[number % 2]
    body["metadata"]["annotations"] = notes
    return read_manifest(body, "story")


@dataclass(slots=True)
class Diary:
    """What was placed, and what was refused on the way."""

    done: dict[str, Done] = field(default_factory=dict)
    refused: list[Done] = field(default_factory=list)

    async def place(self, desk: Desk, manifest: Manifest) -> None:
        """Until it is carried out: a cluster that dies between decision and rollout costs another decision."""
        while (done := await desk.place(manifest)).report.verdict is not Verdict.DONE:
            self.refused.append(done)
            assert len(self.refused) < WORKLOADS, done.report
            await asyncio.sleep(0.5)
        self.done[manifest.workload.key] = done

    async def place_all(self, desk: Desk, manifests: list[Manifest]) -> None:
        """A few at a time."""
        for start in range(0, len(manifests), TOGETHER):
            batch = manifests[start : start + TOGETHER]
            await asyncio.gather(*(self.place(desk, manifest) for manifest in batch))


async def test_fifty_workloads_find_their_place_while_a_cluster_dies_and_returns(
    fleet: Fleet, namespace: str, tmp_path: Path
) -> None:
    manifests = [manifest_of(namespace, number) for number in range(WORKLOADS)]
    diary = Diary()
    async with watch_of(fleet.kubeconfig()) as watch, desk_over(watch, tmp_path) as desk:
        for cluster in fleet:
            await until_equal(watch, cluster)
        await diary.place_all(desk, manifests[:20])
        before_death = set(diary.done)
        fleet["eu"].api_server.kill()
        await diary.place_all(desk, manifests[20:35])
        await until(lambda: state_of(watch, "eu") is MemberState.DARK)
        while_dead = set(diary.done) - before_death
        await asyncio.to_thread(fleet["eu"].start_api_server)
        await until(lambda: state_of(watch, "eu") in ANSWERING)
        await until_equal(watch, fleet["eu"], deadline_s=75.0)
        await diary.place_all(desk, manifests[35:])
        after_return = set(diary.done) - before_death - while_dead
        await check(fleet, watch, namespace, diary)
    assert (len(before_death), len(while_dead), len(after_return)) == (20, 15, 15)
    assert not any(where(diary.done[key]).get("eu") for key in while_dead)
    for keys in (before_death, after_return):
        assert sum(where(diary.done[key]).get("eu", 0) for key in keys) > 0
    for done in diary.refused:
        failed = [one for one in done.report.outcomes if one.state in (State.FAILED, State.STUCK)]
        assert {one.member for one in failed} <= {"eu"}, done.report
    assert float(np.percentile([done.decided_ms for done in diary.done.values()], 99)) < 100.0


def where(done: Done) -> dict[str, int]:
    """Instances by cluster, as decided."""
    return {share.cluster: share.replicas for share in done.placement.shares if share.replicas}


async def check(fleet: Fleet, watch: FleetWatch, namespace: str, diary: Diary) -> None:
    """What was decided is what kubectl shows Running, everywhere, and what the snapshot says."""
    running: dict[str, Counter[str]] = {}
    for cluster in fleet:
        pods = cluster.kubectl.items("pods", "-n", namespace, "--field-selector=status.phase=Running")
        for pod in pods:
            key = f"{namespace}/{pod['metadata']['labels']['app']}"
            running.setdefault(key, Counter())[cluster.name] += 1
    for number in range(WORKLOADS):
        manifest = manifest_of(namespace, number)
        key = manifest.workload.key
        assert running[key] == where(diary.done[key]), key
        assert sum(running[key].values()) == manifest.workload.replicas
        assert len(running[key]) >= manifest.workload.spread.min_clusters
        if manifest.workload.affinity.regions:
            assert set(running[key]) <= set(manifest.workload.affinity.regions)
    for cluster in fleet:
        await until_equal(watch, cluster)

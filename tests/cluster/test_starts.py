"""How long instances take to start, by real pods that start when told: the snapshot says it, waiting for room apart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from statistics import median

import pytest

from federation.informer.fleet import FleetWatch
from tests.cluster.reaching import until_equal, watch_of
from tests.cluster.real.cluster import Cluster, wait_for
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import READY_DELAY, NodeShape, deployment, nodes
from tests.cluster.truth import start_s

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

MANY = 40
"""More than other tests may have left behind of their own in the last hour."""
WAIT_S = 8.0


@pytest.fixture
def cluster(fleet: Fleet) -> Iterator[Cluster]:
    """A cluster that gets its large node later; that one is gone after the test."""
    yield fleet["us"]
    fleet["us"].kubectl.run("delete", "node", "large-0", "--ignore-not-found")


def told(watch: FleetWatch, name: str, *, in_s: float) -> float | None:
    """By a snapshot so far ahead that what was told before does not stand any more."""
    found = watch.snapshot(time.time() + in_s).cluster(name)
    assert found is not None
    return found.start_s


def starts(cluster: Cluster, where: str) -> list[float]:
    """Of the ready pods of a namespace, as kubectl shows them."""
    found = [start_s(pod) for pod in cluster.kubectl.items("pods", "-n", where)]
    return [one for one in found if one is not None]


async def test_pods_that_wait_for_room_and_then_take_four_seconds_start_in_four(
    fleet: Fleet, cluster: Cluster, namespace: str
) -> None:
    slow = deployment(f"{namespace}/slow", MANY, requests={"cpu": "9"}, annotations={READY_DELAY: "4s"})
    async with watch_of(fleet.kubeconfig()) as watch:
        await until_equal(watch, cluster)
        await asyncio.to_thread(cluster.kubectl.apply, [slow])
        await asyncio.sleep(WAIT_S)
        assert starts(cluster, namespace) == []
        await asyncio.to_thread(cluster.kubectl.apply, nodes(NodeShape(1, cpu="512", memory="512Gi", prefix="large")))
        await asyncio.to_thread(
            wait_for, lambda: len(starts(cluster, namespace)) == MANY, deadline_s=90.0, what=f"{MANY} slow pods"
        )
        await until_equal(watch, cluster)
        found, shown = told(watch, cluster.name, in_s=10.0), median(starts(cluster, namespace))
        cluster.kubectl.run("delete", "deployment", "slow", "-n", namespace, "--wait=true")
        await until_equal(watch, cluster)
        afterwards = told(watch, cluster.name, in_s=30.0)
    assert found is not None
    assert 3.0 <= found <= 3.0 + WAIT_S / 2, "about four seconds, and none of those for which they waited"
    assert abs(found - shown) <= 1.0
    assert afterwards == found, "pods that are gone have started all the same"

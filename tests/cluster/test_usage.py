"""Usage from a real metrics-server, as kwok's pods report it, reaches the API and prewarm's snapshot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest

from federation.informer.fleet import FleetWatch
from federation.labels import WORKLOAD
from federation.snapshot import InstanceUse
from tests.cluster.conftest import require
from tests.cluster.reaching import QUICK_WATCH, until, watch_of
from tests.cluster.real.admin import Json, StatusError
from tests.cluster.real.cluster import Cluster, ClusterPlan, wait_for
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import CPU_USAGE, MEMORY_USAGE, NodeShape, bare_pod, namespace
from tests.cluster.real.programs import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

METRICS = "/apis/metrics.k8s.io/v1beta1"
USED = {CPU_USAGE: "90m", MEMORY_USAGE: "48Mi"}
_MIB = 1 << 20


@pytest.fixture(scope="module")
def measured() -> Iterator[Fleet]:
    """One cluster of two nodes, with three pods that use something, all measured."""
    programs = require(*FULL, "metrics-server")
    with Fleet([ClusterPlan("measured", nodes=(NodeShape(2),), usage=True)], programs=programs) as fleet:
        cluster = fleet["measured"]
        cluster.kubectl.apply([namespace("shop")])
        cluster.kubectl.apply(
            bare_pod(f"shop/{name}", node=node, annotations={**USED, WORKLOAD: f"shop/{name}"})
            for name, node in (("cart", "node-0"), ("stock", "node-0"), ("mail", "node-1"))
        )
        wait_for(lambda: len(listed(cluster, f"{METRICS}/pods")) == 3, deadline_s=120.0, what="measuring three pods")
        yield fleet


def listed(cluster: Cluster, path: str) -> list[Json]:
    try:
        return list(cluster.admin.call("GET", path)["items"])
    except StatusError:
        return []


def test_pods_use_what_their_annotations_say(measured: Fleet) -> None:
    usages = [one["containers"][0]["usage"] for one in listed(measured["measured"], f"{METRICS}/pods")]
    assert all(80.0 <= milli(usage["cpu"]) <= 100.0 for usage in usages)
    assert {usage["memory"] for usage in usages} <= {"48Mi", "49152Ki"}


def milli(quantity: str) -> float:
    """Thousandths of a core of what metrics-server writes."""
    scale = {"n": 1e-6, "u": 1e-3, "m": 1.0}
    return float(quantity[:-1]) * scale[quantity[-1]]


async def test_the_snapshot_holds_the_usage_of_nodes_and_tells_its_age(measured: Fleet) -> None:
    often = replace(QUICK_WATCH, usage_s=1.0)
    async with watch_of(measured.kubeconfig(), watch=often) as watch:

        def used() -> dict[str, list[float]]:
            cluster = watch.snapshot(time.time()).cluster("measured")
            if cluster is None or cluster.nodes.names is None:
                return {}
            rows = enumerate(cluster.nodes.names)
            return {name: cluster.nodes.used[row].tolist() for row, names in rows for name in names}

        await until(lambda: len(used()) == 2 and bool(np.isfinite(list(used().values())).all()), deadline_s=30.0)
        told = {one["metadata"]["name"]: one["usage"] for one in listed(measured["measured"], f"{METRICS}/nodes")}
        for name, (cpu, memory) in used().items():
            assert milli(told[name]["cpu"]) - 20 <= cpu <= milli(told[name]["cpu"]) + 20
            assert memory >= 48 * _MIB
        now = time.time()
        cluster = watch.snapshot(now).cluster("measured")
        assert cluster is not None
        age_s = cluster.ages.at(now)["metrics"]
        assert age_s is not None
        assert age_s < 60.0
        assert not any("usage unavailable" in note for note in cluster.notes)
        await until(lambda: len(uses(watch)) == 3, deadline_s=30.0)
        assert set(uses(watch)) == {"shop/cart", "shop/stock", "shop/mail"}
        for use in uses(watch).values():
            assert (use.instances, use.memory) == (1, 48 * _MIB)
            assert 80.0 <= use.cpu <= 100.0


def uses(watch: FleetWatch) -> Mapping[str, InstanceUse]:
    """By workload, as the snapshot of now tells it."""
    cluster = watch.snapshot(time.time()).cluster("measured")
    return {} if cluster is None else cluster.use


async def test_without_metrics_server_usage_is_unknown_and_never_zero(measured: Fleet) -> None:
    cluster = measured["measured"]
    await asyncio.to_thread(cluster.parts["metrics-server"].kill)
    often = replace(QUICK_WATCH, usage_s=0.5)
    async with watch_of(measured.kubeconfig(), watch=often) as watch:

        def told() -> str:
            seen = watch.snapshot(time.time()).cluster("measured")
            return "" if seen is None else " | ".join(seen.notes)

        await until(lambda: "usage unavailable" in told(), deadline_s=30.0)
        seen = watch.snapshot(time.time()).cluster("measured")
        assert seen is not None
        assert np.isnan(seen.nodes.used).all()

"""Reported: pods missing from metrics-server were read as using nothing, and a full node was filled again."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np

from federation.informer.cluster import cluster_of
from federation.informer.member import MemberWatch
from federation.informer.settings import FleetPolicy, WatchOptions
from federation.members.client import ClientOptions, MemberClient
from federation.snapshot import CPU, MEMORY, Cluster
from prewarm.domain import parse_time
from tests.federation.fakeapi import NODE_METRICS, NODES, POD_METRICS, PODS, FakeApi, body, fake_api, refuse, until
from tests.federation.informer.made import by_name, node, pod
from tests.federation.members.made import member, open_access

NOW = parse_time("2026-01-05T12:00:10Z", "test")
METRICS: dict[str, Any] = {
    "kind": "NodeMetricsList",
    "apiVersion": "metrics.k8s.io/v1beta1",
    "items": [
        {
            "metadata": {"name": "n1"},
            "timestamp": "2026-01-05T12:00:00Z",
            "window": "20s",
            "usage": {"cpu": "1500000000n", "memory": "2097152Ki"},
        },
        {
            "metadata": {"name": "n2"},
            "timestamp": "2026-01-05T11:20:00Z",
            "window": "20s",
            "usage": {"cpu": "20m", "memory": "512Mi"},
        },
    ],
}
REQUESTED = {"n1": "1", "n2": "3", "n3": "3500m"}


async def shown(api: FakeApi, *readings: float) -> list[Cluster]:
    """The member after each reading of the metrics API, at these times."""
    api.always(POD_METRICS, body({"items": []}, headers={"Date": "Mon, 05 Jan 2026 12:00:10 GMT"}))
    for name, cpu in REQUESTED.items():
        api.put(NODES, node(name, cpu="4"))
        api.put(PODS, pod(f"on-{name}", name, cpu=cpu))
    api.headers = {"Date": "Mon, 05 Jan 2026 12:00:10 GMT"}
    at = [NOW]
    one = member("east", api.url)
    client = MemberClient(open_access(one), ClientOptions(), rng=Random(1), clock=lambda: at[0])
    watch = MemberWatch(one, client, WatchOptions(usage_s=3600.0), rng=Random(1), clock=lambda: at[0])
    task = asyncio.create_task(watch.run())
    await until(lambda: watch.listed and len(api.asked(NODE_METRICS)) == 1)
    clusters = []
    for moment in readings:
        at[0] = moment
        await watch.read_usage()
        clusters.append(cluster_of(one, watch.holding, client.health, policy=FleetPolicy(), cordon=None, now=moment))
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await client.close()
    return clusters


def cores(cluster: Cluster, amounts: np.ndarray[Any, Any]) -> dict[str, float]:
    return {name: float(amounts[row, CPU]) / 1000 for name, row in by_name(cluster.nodes).items()}


async def test_a_fresh_sample_counts_and_requests_stand_in_for_a_stale_or_missing_one() -> None:
    async with fake_api() as api:
        api.always(NODE_METRICS, body(METRICS, headers={"Date": "Mon, 05 Jan 2026 12:00:10 GMT"}))
        (cluster,) = await shown(api, NOW)
    rows = by_name(cluster.nodes)
    assert cluster.nodes.used[rows["n1"]].tolist() == [1500.0, 2.0 * (1 << 30)]
    assert np.isnan(cluster.nodes.used[[rows["n2"], rows["n3"]]]).all()
    assert cores(cluster, cluster.nodes.judged_free) == {"n1": 2.5, "n2": 1.0, "n3": 0.5}
    assert cores(cluster, cluster.nodes.free) == {"n1": 3.0, "n2": 1.0, "n3": 0.5}
    assert cluster.nodes.judged_free[rows["n1"], MEMORY] == (8 << 30) - (2 << 30)
    assert cluster.ages.at(NOW)["metrics"] == 10.0
    assert cluster.notes == ()


async def test_when_the_metrics_api_goes_away_nothing_jumps_and_its_age_grows() -> None:
    async with fake_api() as api:
        fresh = body(METRICS, headers={"Date": "Mon, 05 Jan 2026 12:00:10 GMT"})
        api.program(NODE_METRICS, fresh, fresh)
        api.always(NODE_METRICS, refuse(503, "ServiceUnavailable"))
        before, after, late = await shown(api, NOW, NOW + 30, NOW + 600)
    assert before.notes == ()
    assert after.nodes.used.tolist()[0] == before.nodes.used.tolist()[0] == [1500.0, 2.0 * (1 << 30)]
    assert cores(after, after.nodes.judged_free) == cores(before, before.nodes.judged_free)
    assert any(note.startswith("usage unavailable") for note in after.notes)
    assert after.ages.at(NOW + 30)["metrics"] == 40.0
    assert np.isnan(late.nodes.used).all()
    assert cores(late, late.nodes.judged_free) == {"n1": 3.0, "n2": 1.0, "n3": 0.5}
    assert late.ages.at(NOW + 600)["metrics"] == 610.0

"""The large fleet is what it says it is, and the benchmark measures decisions that were really taken."""

import asyncio
import os
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from federation.bench.large_fleet import CLUSTERS, NODES_EACH, LargeFleet, large_fleet
from federation.bench.openb import read_nodes, read_pods, typical_mix
from federation.bench.placement_http import CONNECTIONS, Asker, due_s
from federation.bench.placement_scale import START, measure
from federation.snapshot import CPU, GPU_WHOLE
from prewarm.domain import InputError

TRACES = Path(os.environ.get("PREWARM_TRACES", "data/traces"))
needs_openb = pytest.mark.skipif(not (TRACES / "alibaba-gpu-v2023").is_dir(), reason="the openb trace is not there")


@pytest.fixture(scope="module")
def world() -> LargeFleet:
    return large_fleet(TRACES, np.random.default_rng(3), now=START)


@needs_openb
def test_the_trace_is_read_as_published() -> None:
    nodes = read_nodes(TRACES)
    assert sum(count for _, count in nodes) == 1523
    assert sum(count * kind.gpus for kind, count in nodes) == 6212
    pods = read_pods(TRACES)
    assert len(pods) == 8152
    mix = typical_mix(pods)
    assert mix.probability.sum() == pytest.approx(1.0)
    assert len(mix.shapes) < len(set(pods))


@needs_openb
def test_every_cluster_counts_5000_nodes_in_openb_proportions(world: LargeFleet) -> None:
    assert len(world.snapshot.clusters) == CLUSTERS
    assert all(int(one.nodes.count.sum()) == NODES_EACH for one in world.snapshot.clusters)
    gpus = np.array([int(one.nodes.gpu_free.size > 0) for one in world.snapshot.clusters])
    assert gpus.all()
    share = [
        one.nodes.total(one.nodes.free)["cpu"] / one.nodes.total(one.nodes.allocatable)["cpu"]
        for one in world.snapshot.clusters
    ]
    assert np.corrcoef(share, world.free_mean)[0, 1] > 0.99
    assert np.mean(share) == pytest.approx(0.4 - 0.05, abs=0.04)  # tenths are rounded down
    whole = world.snapshot.clusters[0].nodes
    assert ((whole.gpu_free == GPU_WHOLE) | (whole.gpu_free == 0)).mean() > 0.5
    assert (np.diff(whole.gpu_free, axis=1) <= 0).all()


@needs_openb
def test_delays_and_workloads_have_the_stated_spread(world: LargeFleet) -> None:
    delays = world.snapshot.links.delay_ms
    assert (delays.min(), delays.max()) == (1.0, 200.0)
    assert np.allclose(delays, delays.T)
    asked = [world.workload(number) for number in range(2000)]
    replicas = np.array([one.replicas for one in asked])
    assert (replicas.min(), replicas.max()) == (1, 50)
    assert np.median(replicas) == pytest.approx(np.sqrt(50), abs=1.5)
    assert np.mean([bool(one.affinity.regions) for one in asked]) == pytest.approx(0.2, abs=0.03)
    assert np.mean([one.spread.min_clusters == 3 for one in asked]) == pytest.approx(0.1, abs=0.03)


@needs_openb
def test_one_summary_changes_at_a_time(world: LargeFleet) -> None:
    before = world.snapshot
    after = world.change(START + 1)
    changed = [a is not b for a, b in zip(before.clusters, after.clusters, strict=True)]
    assert sum(changed) == 1
    assert after.clusters[changed.index(True)].ages.nodes == START + 1


@needs_openb
def test_decisions_are_measured_and_room_is_held(world: LargeFleet) -> None:
    measured = measure(world, 30, lambda *_: None)
    assert (measured.ms > 0).all()
    assert (measured.cpu_ms > 0).all()
    assert measured.claims >= 30
    assert measured.passed > 10
    assert world.snapshot.clusters[0].nodes.allocatable[:, CPU].min() > 0
    assert measured.row()["decisions"] == 30


def test_without_the_trace_it_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"openb_node_list_all_node\.csv: not found"):
        read_nodes(tmp_path)


async def test_at_an_offered_rate_the_wait_for_a_connection_counts_and_nobody_waits_to_ask() -> None:
    """A service that takes 40 ms: eight connections that never pause see 40 ms; requests that come at once wait."""

    async def slow(_: web.Request) -> web.Response:
        await asyncio.sleep(0.04)
        return web.Response(status=503)

    app = web.Application()
    app.router.add_post("/", slow)
    async with (
        TestServer(app) as server,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONNECTIONS)) as session,
    ):
        asker = Asker(session, str(server.make_url("/")), [b"{}"])
        steady = await asker.without_pause(2 * CONNECTIONS)
        burst = await asker.at_rate(100.0, [0.0] * (2 * CONNECTIONS))
    assert steady.failed == burst.failed == len(steady.ms) == len(burst.ms) == 2 * CONNECTIONS
    assert np.median(steady.ms) >= 40
    assert (burst.ms >= 79).sum() >= CONNECTIONS  # the second half had to wait for the first
    assert steady.row()["through the API"] == "8 connections, never pause"
    assert burst.row()["through the API"] == "8 connections, offered 100/s"


def test_requests_come_by_chance_at_the_rate() -> None:
    at = np.array(due_s(200.0, 50.0, np.random.default_rng(1)))
    assert len(at) == pytest.approx(10_000, rel=0.03)
    assert (np.diff(at) >= 0).all()
    assert at[-1] < 50
    gaps = np.diff(at)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)  # exponential, not a metronome

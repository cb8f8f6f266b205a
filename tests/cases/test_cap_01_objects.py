"""The same capacity from the API server's own objects: what is read of nodes and pods, and what then fits."""

from __future__ import annotations

import time
from typing import Any

from federation.placement.filters.examine import examine
from federation.placement.pipeline import ground
from federation.placement.terms import Terms
from federation.placement.workload import Workload
from federation.quantity import requested
from federation.snapshot import CPU, MEMORY, Snapshot
from tests.federation.fakeapi import NODES, PODS, fake_api, until
from tests.federation.informer.made import GI, by_name, node, pod
from tests.federation.informer.watching import watching
from tests.federation.members.made import Source, member

AMD64 = {"kubernetes.io/arch": "amd64"}
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
N = [
    node("n1", "4", "8Gi", "110", labels=AMD64),
    node("n2", "4", "8Gi", "110", labels=AMD64, cordoned=True),
    node("n3", "4", "8Gi", "110", labels=AMD64, ready="Unknown"),
    node("n4", "4", "8Gi", "110", labels=AMD64, taints=[TAINT]),
    node("n5", "16", "32Gi", "3", labels=AMD64),
]
P = [
    pod("p1", "n1", "1500m", "1Gi"),
    pod("p2", "n1", "2", "2Gi", phase="Succeeded"),
    pod("p3", "n5", "100m", "128Mi"),
    pod("p4", "n5", "100m", "128Mi"),
]
REQUEST = {"cpu": "500m", "memory": "256Mi"}


async def seen(nodes: list[dict[str, Any]], pods: list[dict[str, Any]]) -> Snapshot:
    async with fake_api() as api:
        for item in nodes:
            api.put(NODES, item)
        for item in pods:
            api.put(PODS, item)
        async with watching(Source(member("eu-1", api.url))) as watch:
            await until(watch.ready)
            return watch.snapshot(time.time())


async def test_what_is_read_is_allocatable_without_finished_pods_on_nodes_that_take_pods() -> None:
    nodes = (await seen(N, P)).clusters[0].nodes
    rows = by_name(nodes)
    assert {name: bool(nodes.schedulable[row]) for name, row in rows.items()} == {
        "n1": True,
        "n2": False,
        "n3": False,
        "n4": True,
        "n5": True,
    }
    assert {name: int(nodes.free[row, CPU]) for name, row in rows.items() if name in ("n1", "n5")} == {
        "n1": 2_500,
        "n5": 15_800,
    }
    assert nodes.requested[rows["n1"]].tolist() == [1_500, GI, 1]
    assert nodes.allocatable[rows["n5"], MEMORY] == 32 * GI
    assert [taint.key for taint in nodes.classes[nodes.class_of[rows["n4"]]].taints] == ["dedicated"]


async def test_six_fit_on_eighteen_free_cores() -> None:
    amounts = {name: requested(name, text) for name, text in REQUEST.items()}
    on = ground(await seen(N, P))
    workload = Workload(key="demo/f", kind="deployment", replicas=50, requests=amounts)
    case = examine(on.fleet, workload, book=on.book, tally=on.tally, terms=Terms(), now=on.fleet.snapshot.at)
    assert case.fits.tolist() == [6]
    assert int(on.fleet.rows.free[CPU, case.rows].sum()) == 18_300


async def test_a_field_that_cannot_be_read_takes_its_node_out_and_nothing_else() -> None:
    broken = [*N, node("n6", cpu="4 cores", labels=AMD64), node("n7", memory="", labels=AMD64)]
    odd = [*P, pod("p5", "n5", cpu="0.1.0")]
    nodes = (await seen(broken, odd)).clusters[0].nodes
    rows = by_name(nodes)
    assert [name for name, row in rows.items() if nodes.schedulable[row]] == ["n1", "n4"]
    assert nodes.free[rows["n1"], CPU] == 2_500

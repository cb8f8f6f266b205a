"""Two requests, one slot: decisions that race get different room, and promised room is released, late or seen."""

import asyncio

from federation.placement.answer import Placement
from federation.placement.placer import Placer
from federation.placement.terms import Terms
from federation.placement.workload import Workload
from federation.snapshot import Snapshot
from prewarm.settings import PlacementPolicy
from tests.federation.building import NOW, cluster, fleet, workload

TERMS = Terms(policy=PlacementPolicy(reserve_s=90.0))


def _fleet() -> Snapshot:
    return fleet(
        cluster("A", price=1.0).nodes(cpu="4", memory="64Gi"),
        cluster("B", price=1.4).nodes(cpu="4", memory="64Gi"),
    )


def _request(name: str) -> Workload:
    return workload(f"shop/{name}", 1, asks={"cpu": "4"})


def _where(placement: Placement) -> list[str]:
    return [one.cluster for one in placement.shares if one.replicas]


async def _race(placer: Placer) -> tuple[Placement, Placement]:
    async def ask(name: str) -> Placement:
        await asyncio.sleep(0)
        return placer.place(_request(name), terms=TERMS, now=NOW)

    async with asyncio.TaskGroup() as group:
        first, second = group.create_task(ask("f1")), group.create_task(ask("f2"))
    return first.result(), second.result()


async def test_in_every_round_exactly_one_on_each() -> None:
    for _ in range(50):
        first, second = await _race(Placer(_fleet()))
        assert sorted([*_where(first), *_where(second)]) == ["A", "B"]
        assert first.unplaced == second.unplaced == 0


async def test_a_third_request_finds_both_full_while_b_is_only_promised() -> None:
    placer = Placer(_fleet())
    first, second = await _race(placer)
    on_a = (first if _where(first) == ["A"] else second).workload
    seen = fleet(
        cluster("A", price=1.0).nodes(cpu="4", memory="64Gi", free={"cpu": "0"}).runs(on_a, 1),
        cluster("B", price=1.4).nodes(cpu="4", memory="64Gi"),
    )
    placer.see(seen)
    third = placer.place(_request("f3"), terms=TERMS, now=NOW + 25)
    assert _where(third) == []
    assert third.unplaced == 1
    reasons = {one.cluster: one.reason for one in third.filtered}
    assert reasons["A"].startswith("no node has room")
    assert reasons["B"] == "its room for 1 is promised to other workloads"
    assert all(one.room >= 0 for one in third.scores)
    assert {claim.cluster for claims in placer.book.claims.values() for claim in claims} == {"B"}


async def test_pods_that_never_appear_release_their_room_after_the_documented_time() -> None:
    placer = Placer(_fleet())
    first, second = await _race(placer)
    assert first.reserved_until == second.reserved_until == NOW + 90
    late = placer.ask(_request("f3"), terms=TERMS, now=NOW + 89)
    assert late.unplaced == 1
    fresh = fleet(
        *(
            one
            for one in (
                cluster("A", price=1.0).nodes(cpu="4", memory="64Gi").seen(0, NOW + 90),
                cluster("B", price=1.4).nodes(cpu="4", memory="64Gi").seen(0, NOW + 90),
            )
        )
    )
    placer.see(fresh)
    assert _where(placer.place(_request("f3"), terms=TERMS, now=NOW + 90)) == ["A"]

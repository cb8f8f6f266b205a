"""The forecast mix of a running service: from what it is made, when it is made anew, and that no decision waits."""

from __future__ import annotations

import asyncio
import multiprocessing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from federation.desk.outlook import Outlooks
from federation.desk.wanted import work_in
from federation.nodes.outlook import Wanted, outlook_of
from federation.placement.answer import Placement
from federation.placement.reserve.book import EMPTY, Claim, reserve
from federation.placement.workload import GpuNeed
from federation.snapshot import Cluster, MemberState, Running
from prewarm.settings import FactorWeights, PlacementPolicy
from tests.federation.building import cluster, fleet, workload
from tests.federation.desk.ground import Ground, Standing, form, manifest, standing
from tests.federation.fakeapi import until

MIB = 1 << 20
TWO_CORES = {"cpu": "2", "memory": "64Mi"}


def factor(placement: Placement, name: str) -> dict[str, float]:
    """The value of one factor by cluster."""
    return {one.cluster: next(f.value for f in one.factors if f.name == name) for one in placement.scores}


def said(placement: Placement) -> str:
    """What the record says about the mix."""
    (text,) = [reason.text for reason in placement.reasons if reason.factor == "mix"]
    return text


def configured(at: Standing, **fields: Any) -> None:
    """Another policy of placement."""
    demand = at.service.fleet
    demand.configure(replace(demand.settings, placement=replace(PlacementPolicy(), **fields)))


async def test_while_nothing_is_known_the_node_factors_are_neutral_and_the_record_says_so(
    tmp_path: Path, ground: Ground
) -> None:
    async with standing(tmp_path, ground) as at:
        await Outlooks(at.desk).round()
        assert at.desk.mixed is None
        placement = at.desk.ask(workload())
        assert factor(placement, "fragmentation") == factor(placement, "future_fill") == {"eu": 0.5, "us": 0.5}
        assert said(placement) == "fragmentation and future_fill are neutral: no workload's shape is known yet"


async def test_the_mix_is_that_of_what_is_placed_and_the_record_says_how_old_it_is(
    tmp_path: Path, ground: Ground
) -> None:
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=4))
        await Outlooks(at.desk).round()
        mixed = at.desk.mixed
        assert mixed is not None
        assert mixed.outlook.mix.shapes.tolist() == [[1_000, 64, 0, 0]]
        # 30 cores of which 4 are taken, asked for 1.3 times: 39 less the 4 that are there
        assert mixed.outlook.arrivals == pytest.approx(35.0)
        at.clock.time += 7
        placement = at.desk.ask(workload(asks={"cpu": "1", "memory": "64Mi"}))
        assert said(placement) == (
            "fragmentation and future_fill come from a mix of 1 shapes (4 of 4 instances), "
            "7 s old, with 35 more to come and room as it is now"
        )
        kept = await at.place(form("shop/other"))
        reasons = (await at.decision(kept["decision"]))["reasons"]
        assert [one["value"] for one in reasons if one["factor"] == "mix"] == [1.0]


async def test_a_decision_uses_the_mix_in_force_while_a_new_one_is_judged(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=2))
        outlooks = Outlooks(at.desk)
        await outlooks.round()
        before = at.desk.mixed
        await at.place(form("shop/large", 9) | {"requests": TWO_CORES})
        task = asyncio.create_task(outlooks.round())
        seen = set()
        while not task.done():
            at.desk.ask(workload())
            seen.add(at.desk.mixed is before)
            await asyncio.sleep(0)
        await task
        assert True in seen
        assert at.desk.mixed is not before
        assert at.desk.mixed is not None
        assert len(at.desk.mixed.outlook.mix.shapes) == 2


async def test_a_decision_judges_nothing_and_says_what_it_had_to_leave_out(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=2))
        outlooks, asked = Outlooks(at.desk), workload(asks={"cpu": "3", "memory": "64Mi"})
        await outlooks.round()
        first = at.desk.ask(asked)
        assert factor(first, "future_fill") == {"eu": 0.5, "us": 0.5}
        assert "not judged for this shape yet" in said(first)
        await outlooks.round()
        second = at.desk.ask(asked)
        assert "not judged" not in said(second)
        # three cores cost others as much as they bring, or less
        assert all(value != 0.5 for value in factor(second, "future_fill").values())


async def test_judgements_stay_while_the_mix_does_and_end_with_its_time(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        configured(at, outlook_s=30.0)
        await at.place(manifest(replicas=10))
        outlooks = Outlooks(at.desk)
        await outlooks.round()
        first = at.desk.mixed
        await at.place(form("shop/few", 1))  # a tenth more of the same shape: what is to come hardly changes
        await outlooks.round()
        assert at.desk.mixed is first
        at.clock.time += 31
        await at.place(form("shop/more", 8))
        await outlooks.round()
        assert at.desk.mixed is not first
        second = at.desk.mixed
        await at.place(form("shop/other", 3) | {"requests": TWO_CORES})  # a seventh of another shape: at once
        await outlooks.round()
        assert at.desk.mixed is not second


async def test_room_is_counted_only_where_an_outlook_may_be_due(
    tmp_path: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[float] = []

    def counting(*asked: Any, load: float, unknown: int) -> Any:
        counted.append(load)
        return outlook_of(*asked, load=load, unknown=unknown)

    monkeypatch.setattr("federation.desk.outlook.outlook_of", counting)
    async with standing(tmp_path, ground) as at:
        configured(at, outlook_s=30.0, outlook_load=1.5)
        await at.place(manifest(replicas=10))
        outlooks = Outlooks(at.desk)
        for _ in range(3):
            await outlooks.round()
        assert counted == [1.5]
        at.clock.time += 31
        await outlooks.round()
        assert counted == [1.5, 1.5]


async def test_work_for_gpus_is_weighed_by_the_measured_rule_once_a_mix_is_known(
    tmp_path: Path, ground: Ground
) -> None:
    async with standing(tmp_path, ground) as at:
        whole = workload(asks={"cpu": "1", "memory": "64Mi"}, gpu=GpuNeed(1, 1_000))
        plain = at.desk._terms(whole).policy.weights
        await at.place(manifest(replicas=2))
        await Outlooks(at.desk).round()
        measured = at.desk._terms(whole).policy.weights
        assert plain == at.desk._terms(workload()).policy.weights == FactorWeights()
        assert (measured.fit, measured.fragmentation, measured.headroom) == (0.0, 0.0, 0.0)
        assert measured.future_fill == 2.5
        assert measured.network == plain.network


class GpuGround(Ground):
    """The same members with a node of four GPUs each."""

    def _cluster(self, name: str, now: float) -> Cluster:
        plain = super()._cluster(name, now)
        with_gpus = cluster(name).nodes(cpu="64", memory="256Gi", gpus=(1000,) * 4).build()
        return replace(plain, nodes=with_gpus.nodes)


async def test_for_gpus_room_is_foreseen_in_another_process_and_then_put_in_force(
    tmp_path: Path, ground: Ground
) -> None:
    gpus = GpuGround(ground.cores, ground.clock)
    async with standing(tmp_path, gpus) as at:
        await at.place(form("shop/share", 3) | {"gpu": {"milli": 500}})
        outlooks = Outlooks(at.desk)
        await outlooks.round()
        first = at.desk.mixed
        assert first is not None
        assert not first.outlook.foreseen
        assert outlooks._coming is not None
        await outlooks._coming
        await outlooks.round()
        second = at.desk.mixed
        assert second is not None
        assert second.outlook.foreseen
        assert "room foreseen" in said(at.desk.ask(workload()))
        await outlooks.round()
        assert at.desk.mixed is second


async def test_rounds_that_are_ended_end_the_process_that_foresees(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, GpuGround(ground.cores, ground.clock)) as at:
        await at.place(form("shop/share", 3) | {"gpu": {"milli": 500}})
        outlooks = Outlooks(at.desk)
        task = asyncio.create_task(outlooks.run())
        await until(lambda: outlooks._coming is not None)
        coming = outlooks._coming
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        assert coming is not None
        assert coming.done()
    assert multiprocessing.active_children() == []


async def test_a_round_that_fails_leaves_the_mix_and_is_counted(
    tmp_path: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("federation.desk.outlook.ROUND_S", 0.001)
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=2))
        outlooks = Outlooks(at.desk)
        await outlooks.round()
        mixed, shown = at.desk.mixed, ground.snapshot

        def broken(now: float) -> Any:
            raise RuntimeError("no view")

        monkeypatch.setattr(ground, "snapshot", broken)
        task = asyncio.create_task(outlooks.run())
        await until(lambda: outlooks.accidents >= 2)
        assert at.desk.mixed is mixed
        assert "RuntimeError: no view" in caplog.text
        monkeypatch.setattr(ground, "snapshot", shown)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_shapes_come_from_manifests_promises_and_pods_and_the_rest_is_counted() -> None:
    pod = (("cpu", 500), ("memory", 3 * MIB), ("nvidia.com/gpu", 2), ("pods", 1))
    two = fleet(
        cluster("a").nodes(cpu="8", memory="8Gi").runs("shop/placed", 2).runs("shop/mystery", 5),
        cluster("b", state=MemberState.DARK).nodes(cpu="8", memory="8Gi").runs("shop/placed", 1),
        cluster("c").nodes(cpu="8", memory="8Gi").but(running={"shop/pods": Running(4, 3, 3, 1, each=pod)}),
    )
    placed = workload("shop/placed", 6, asks={"cpu": "1", "memory": "1Gi"})
    claim = Claim("D", "shop/promised", "a", 3, 0, ((("cpu", 250),), GpuNeed(0, 300)), until=9e9)
    work = work_in(two, reserve(EMPTY, [claim]), {"shop/placed": placed}, {"shop/placed": 8, "shop/pods": 1})
    assert work.unknown == 5
    assert work.wanted == (
        Wanted(placed.requests, GpuNeed(), there=2, wanted=6, growth=2.0),
        Wanted(dict(pod), GpuNeed(2, 1_000), there=2, wanted=4),
        Wanted({"cpu": 250}, GpuNeed(0, 300), there=0, wanted=3),
    )

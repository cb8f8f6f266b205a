"""A tick decides, explains, holds on missing data, acts only where it may, and survives its own failures."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import Decision, Mode, PolicyTag, decision_id
from prewarm.history import HitView
from prewarm.loop.clock import SimulatedClock, WallClock
from prewarm.loop.service import EndedError, run_until
from prewarm.loop.tick import Chances, outlook_of, place_of
from prewarm.loop.view import ModeTable, TickView
from tests.service import Service, running_service


class Applier:
    """Writes down what it is given, and says that it did it."""

    def __init__(self) -> None:
        self.seen: list[Decision] = []

    async def apply(self, decisions: tuple[Decision, ...]) -> frozenset[str]:
        self.seen += decisions
        return frozenset(one.id for one in decisions)


class Levels:
    """P(N >= 1) for each function."""

    def __init__(self, chances: list[float]) -> None:
        self.row = np.arange(len(chances), dtype=np.int32)
        self.level = np.ones(len(chances), dtype=np.int32)
        self.p = np.array(chances, dtype=np.float32)


class Certain:
    """An oracle that is sure of one instance everywhere, while its rule is sure of none."""

    window_min = 30

    async def chances(self, view: HitView, now: float) -> Chances:
        del now
        n = len(view)
        tag = PolicyTag("prewarm", "test")
        return Chances(Levels([0.99] * n), tag, "learned", rule=Levels([0.0] * n))


async def decided(service: Service, key: str = "shop/a") -> Decision:
    view = service.desk.fleet.view
    assert view is not None
    row = view.row(key)
    assert row is not None
    return view.decision(row)


async def test_silence_is_held_and_never_cut(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.minute({"shop/a": 130}, 1)
        assert (await decided(service)).to_count == 2
        await service.tick(30)
        made = await decided(service)
        assert made.to_count == made.from_count == 2
        assert made.held == "no data for 1800 s; kept 2"
        text = service.desk.fleet.metrics.text().decode()
        assert 'prewarm_functions{data="stale"} 1.0' in text
        assert 'prewarm_holds_total{reason="data_stale"}' in text


async def test_a_hold_is_written_down_when_it_begins_not_every_minute(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.minute({"shop/a": 130}, 1)
        await service.tick(20)
        page = await (await service.client.get("/v1/decisions")).json()
        assert [one["held"] is not None for one in page["decisions"]] == [True, False]


async def test_zero_is_not_silence(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.minute({"shop/a": 130}, 0)
        for sequence in range(1, 14):
            await service.minute({"shop/a": 0}, sequence)
        assert (await decided(service)).to_count == 0


async def test_only_what_is_active_is_carried_out(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        applier = Applier()
        ticks = service.desk.ticks
        ticks.parts = replace(ticks.parts, applier=applier)
        service.desk.fleet.tell(replace(service.desk.fleet.told, modes=ModeTable(Mode.SHADOW, {"pay": Mode.ACTIVE})))
        await service.minute({"shop/a": 1, "pay/b": 1}, 1)
        assert [one.function for one in applier.seen] == ["pay/b"]
        assert (await decided(service, "pay/b")).applied is True
        assert (await decided(service, "shop/a")).applied is False
        assert (await decided(service, "shop/a")).mode is Mode.SHADOW


class Halves:
    """Divides every change over two clusters."""

    async def divide(self, view: TickView) -> tuple[Decision, ...]:
        return tuple(
            replace(
                whole,
                id=decision_id(whole.at, f"{whole.function}@{cluster}"),
                cluster=cluster,
                inputs={"of_decision": whole.id},
            )
            for whole in view.changed()
            for cluster in ("eu", "us")
        )


@pytest.mark.parametrize("dark", [None, "us"], ids=["both-answer", "one-is-dark"])
async def test_a_total_counts_as_carried_out_once_every_part_is(tmp_path: Path, dark: str | None) -> None:
    class Clusters(Applier):
        async def apply(self, decisions: tuple[Decision, ...]) -> frozenset[str]:
            self.seen += decisions
            return frozenset(one.id for one in decisions if one.cluster != dark)

    async with running_service(tmp_path) as service:
        applier, ticks = Clusters(), service.desk.ticks
        ticks.parts = replace(ticks.parts, applier=applier, divider=Halves())
        service.desk.fleet.tell(replace(service.desk.fleet.told, modes=ModeTable(Mode.ACTIVE)))
        await service.minute({"shop/a": 1}, 1)
        assert [one.cluster for one in applier.seen] == ["eu", "us"], "the parts are carried out, not the total"
        assert (await decided(service)).applied is (dark is None)
        page = await (await service.client.get("/v1/decisions")).json()
        told = {one["cluster"]: one["applied"] for one in page["decisions"]}
        assert told == {None: dark is None, "eu": True, "us": dark is None}


async def test_a_paused_namespace_keeps_what_it_has(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.minute({"shop/a": 130, "pay/b": 130}, 0)
        service.desk.fleet.tell(replace(service.desk.fleet.told, modes=ModeTable(Mode.SHADOW, {"shop": Mode.PAUSED})))
        for sequence in range(1, 14):
            await service.minute({"shop/a": 0, "pay/b": 0}, sequence)
        assert (await decided(service, "pay/b")).to_count == 0
        made = await decided(service, "shop/a")
        assert (made.to_count, made.held, made.mode) == (2, "paused; kept 2", Mode.PAUSED)


async def test_the_learned_share_leaves_the_rest_to_the_rule_and_says_so(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        ticks = service.desk.ticks
        ticks.parts = replace(ticks.parts, oracle=Certain())
        service.desk.fleet.tell(replace(service.desk.fleet.told, modes=ModeTable(Mode.SHADOW, {}, {"shop": 0.5})))
        await service.minute({f"shop/f{i}": 1 for i in range(40)} | {"pay/b": 1}, 1)
        learned = {f"shop/f{i}": place_of(f"shop/f{i}") < 0.5 for i in range(40)} | {"pay/b": True}
        assert 5 < sum(learned.values()) < 36
        for key, is_learned in learned.items():
            made = await decided(service, key)
            assert made.policy.rule_decided is not is_learned
            assert made.to_count == int(is_learned)
            assert made.policy.why == (None if is_learned else "learned_share of shop is 0.5")


async def test_a_tick_that_fails_is_counted_and_the_next_one_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_service(tmp_path) as service:
        oracle = service.desk.ticks.parts.oracle

        class Broken:
            window_min = 30

            async def chances(self, view: HitView, now: float) -> Chances:
                raise ZeroDivisionError(f"{len(view)} functions at {now}")

        service.desk.ticks.parts = replace(service.desk.ticks.parts, oracle=Broken())
        await service.minute({"shop/a": 1}, 1)
        assert "tick failed; pools stay as they are" in caplog.text
        service.desk.ticks.parts = replace(service.desk.ticks.parts, oracle=oracle)
        await service.minute({"shop/a": 1}, 2)
        text = service.desk.fleet.metrics.text().decode()
        assert 'prewarm_ticks_total{outcome="failed"} 1.0' in text
        assert 'prewarm_ticks_total{outcome="done"} 1.0' in text


async def test_a_clock_that_jumps_ahead_cuts_nothing(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.minute({"shop/a": 130}, 1)
        service.clock.time += 86_400
        await service.desk.ticks.tick(service.clock.time)
        made = await decided(service)
        assert made.to_count == 2
        assert made.held is not None
        refused = await service.client.post(
            "/v1/invocations",
            json={
                "source": "g",
                "sequence": 9,
                "events": [{"function": "shop/a", "at": "2026-11-30T01:00:00Z", "count": 1}],
            },
        )
        assert refused.status == 503
        assert "our clock jumped forward by 1440 minutes" in (await refused.json())["detail"]


async def test_an_eternal_task_that_ends_is_an_error() -> None:
    async def ends() -> None:
        await asyncio.sleep(0)

    with pytest.raises(ExceptionGroup) as raised:
        await run_until(asyncio.Event(), {"collect": ends()}, asyncio.Lock())
    assert isinstance(raised.value.exceptions[0], EndedError)
    assert str(raised.value.exceptions[0]) == "task collect ended"


async def test_a_stop_waits_for_the_tick_under_way() -> None:
    busy, stop, done = asyncio.Lock(), asyncio.Event(), list[str]()

    async def ticking() -> None:
        async with busy:
            stop.set()
            await asyncio.sleep(0.05)
            done.append("tick")
        await asyncio.sleep(60)

    await asyncio.wait_for(run_until(stop, {"tick": ticking()}, busy), 5)
    assert done == ["tick"]


def test_an_outlook_is_mean_and_quantiles_of_the_need() -> None:
    levels = Levels([0.95, 0.5])
    levels.row = np.array([0, 0], np.int32)
    levels.level = np.array([1, 2], np.int32)
    outlook = outlook_of(levels, 2)
    assert outlook.mean.tolist() == pytest.approx([1.45, 0.0])
    assert (outlook.low.tolist(), outlook.high.tolist()) == ([1, 0], [2, 0])


async def test_simulated_time_rushes_through_its_first_hours_and_then_keeps_pace() -> None:
    clock = SimulatedClock(1_000.0, 6_000.0, rush_until=1_000.0 + 600 * 60)
    loop = asyncio.get_running_loop()
    started = loop.time()
    for _ in range(600):
        assert await clock.next_tick(60.0) == (clock.now(), 0)
    assert loop.time() - started < 2.0
    assert clock.now() == 1_000.0 + 36_000
    started = loop.time()
    for _ in range(10):
        await clock.next_tick(60.0)
    assert loop.time() - started >= 0.08


def test_time_from_outside_is_taken_over_by_its_distance_to_now() -> None:
    import time

    clock = SimulatedClock(1_000.0, 60.0)
    assert clock.of_wall(1_060.0) == 1_060.0
    assert clock.of_wall(time.time() - 30) == pytest.approx(970.0, abs=1.0)
    assert WallClock().of_wall(5.0) == 5.0


async def test_a_fleet_without_functions_ticks(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.tick()
        said = await (await service.client.get("/v1/overview")).json()
        assert (said["totals"]["functions"], said["totals"]["needed"]) == (0, None)
        assert (await service.client.get("/readyz")).status == 200


async def test_ticks_of_the_wall_clock_are_whole_multiples_and_never_twice() -> None:
    clock, seen = WallClock(), list[float]()
    for _ in range(6):
        now, skipped = await clock.next_tick(0.05)
        seen.append(round(now // 0.05))
        assert skipped == 0
    assert len(set(seen)) == 6

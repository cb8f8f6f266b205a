"""Keeping placed what is placed, round by round, on a clock that is moved by hand."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from federation.desk.mind import Minder
from federation.members.api import RefusedError
from federation.snapshot import Snapshot
from prewarm.domain import Mode
from prewarm.settings import PlacementPolicy
from prewarm.store import StoreDownError
from tests.federation.apply.fake import Call
from tests.federation.desk.ground import Ground, Standing, form, manifest, standing, where
from tests.federation.fakeapi import until
from tests.service import HandClock

NAMED = {"prewarm.dev/regions": "eu"}


async def turn(minder: Minder, ground: Ground, *, after_s: float = 5.0) -> None:
    """One round and all that it begins."""
    ground.clock.time += after_s
    async with asyncio.TaskGroup() as group:
        await minder.round(group)


def limit(at: Standing, **fields: Any) -> None:
    """Another policy of placement."""
    fleet = at.service.fleet
    fleet.configure(replace(fleet.settings, placement=replace(PlacementPolicy(), **fields)))


async def decisions(at: Standing) -> int:
    """Decisions kept so far."""
    return len((await at.call("GET", "/v1/decisions?limit=100"))["decisions"])


async def test_where_all_is_as_decided_a_round_writes_nothing(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=12))
        minder, writes, made = Minder(at.desk), ground.writes(), await decisions(at)
        for _ in range(5):
            await turn(minder, ground, after_s=100.0)
        assert (ground.writes(), await decisions(at)) == (writes, made)
        assert minder.troubles == {}


async def test_a_lost_cluster_is_replaced_and_the_service_says_what_does_not_fit(
    tmp_path: Path, ground: Ground
) -> None:
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=24))
        assert ground.replicas()["us"] > 10
        minder = Minder(at.desk)
        ground.darken("us")
        await turn(minder, ground, after_s=100.0)
        assert ground.replicas()["eu"] == 10
        made = await decisions(at)
        await turn(minder, ground, after_s=100.0)
        assert minder.troubles == {"shop/checkout": "14 of 24 fit nowhere"}
        assert await decisions(at) == made


async def test_it_goes_home_once_the_cluster_was_well_for_long_enough(tmp_path: Path) -> None:
    ground = Ground({"eu": 8, "us": 20}, HandClock(), {"eu": "eu", "us": "us"})
    async with standing(tmp_path, ground) as at:
        limit(at, failback_s=300.0, moves_per_hour=100)
        await at.place(manifest(replicas=6, annotations={"prewarm.dev/max-per-cluster": "3"}))
        assert ground.replicas() == {"eu": 3, "us": 3}
        body = manifest(replicas=6)
        at.desk.placed["shop/checkout"] = replace(at.desk.placed["shop/checkout"], source=body)
        minder = Minder(at.desk)
        ground.darken("eu")
        await turn(minder, ground, after_s=100.0)
        assert ground.replicas()["us"] == 6
        home = at.desk.placer.homes["shop/checkout"]
        assert dict(home.shares) == {"eu": 3, "us": 3}
        ground.lighten("eu")
        ground.apis["eu"].objects.clear()
        for _ in range(4):
            await turn(minder, ground, after_s=60.0)
            assert "eu" not in ground.replicas()
        for _ in range(4):
            await turn(minder, ground, after_s=60.0)
        assert ground.replicas() == {"eu": 3, "us": 3}


async def test_a_restart_remembers_where_home_was(tmp_path: Path) -> None:
    ground = Ground({"eu": 8, "us": 20}, HandClock(), {"eu": "eu", "us": "us"})
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=6, annotations={"prewarm.dev/max-per-cluster": "3"}))
        at.desk.placed["shop/checkout"] = replace(at.desk.placed["shop/checkout"], source=manifest(replicas=6))
        ground.darken("eu")
        await turn(Minder(at.desk), ground, after_s=100.0)
        homes, moves = dict(at.desk.placer.homes), at.desk.placer.moves
        assert homes
    async with standing(tmp_path, ground) as at:
        assert dict(at.desk.placer.homes) == homes
        assert at.desk.placer.moves == moves
        assert set(at.desk.placed) == {"shop/checkout"}
        ground.lighten("eu")
        ground.apis["eu"].objects.clear()
        minder = Minder(at.desk)
        for _ in range(10):
            await turn(minder, ground, after_s=60.0)
        assert ground.replicas() == {"eu": 3, "us": 3}


async def test_what_is_there_twice_after_a_return_goes_again(tmp_path: Path) -> None:
    """The lost cluster comes back with its old instances running: none is needed twice."""
    ground = Ground({"eu": 20, "us": 20}, HandClock(), {"eu": "eu", "us": "us"})
    async with standing(tmp_path, ground) as at:
        limit(at, failback_s=60.0, moves_per_hour=100)
        await at.place(manifest(replicas=6))
        (home,) = ground.replicas()
        (other,) = {"eu", "us"} - {home}
        minder = Minder(at.desk)
        ground.darken(home)
        await turn(minder, ground, after_s=100.0)
        assert ground.replicas() == {home: 6, other: 6}
        ground.lighten(home)
        for _ in range(10):
            await turn(minder, ground, after_s=60.0)
        assert sum(ground.replicas().values()) == 6
        assert minder.troubles == {}


async def test_a_drain_moves_no_more_than_an_hour_allows(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        limit(at, moves_per_hour=3)
        await at.place(manifest(replicas=8, annotations=NAMED))
        assert ground.replicas() == {"eu": 8}
        at.desk.placed["shop/checkout"] = replace(at.desk.placed["shop/checkout"], source=manifest(replicas=8))
        await at.call("PUT", "/v1/clusters/eu/maintenance", {"owner": "o", "reason": "x", "drain": True})
        minder = Minder(at.desk)
        for _ in range(4):
            await turn(minder, ground, after_s=100.0)
        assert ground.replicas() == {"eu": 5, "us": 3}
        assert "0 left in this hour" in minder.troubles["shop/checkout"]
        for _ in range(3):
            await turn(minder, ground, after_s=3600.0)
        assert ground.replicas() == {"us": 8}
        assert minder.troubles == {}
        asked = await at.place(form("shop/other"), dry_run=True)
        assert [(one["cluster"], one["reason"]) for one in asked["filtered"]] == [("eu", "being drained")]


@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.PAUSED])
async def test_nothing_moves_unless_the_mode_allows_it(tmp_path: Path, ground: Ground, mode: Mode) -> None:
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=8, annotations=NAMED))
        await at.mode(mode.value)
        writes, minder = ground.writes(), Minder(at.desk)
        ground.darken("us")
        await at.call("PUT", "/v1/clusters/eu/maintenance", {"owner": "o", "reason": "x", "drain": True})
        await turn(minder, ground, after_s=100.0)
        assert ground.writes() == writes
        assert minder.troubles == {"shop/checkout": f"the mode of shop/checkout is {mode}"}


async def test_the_kill_switch_stops_moves(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=8))
        limit(at, paused=True)
        writes, minder = ground.writes(), Minder(at.desk)
        ground.darken("us")
        await turn(minder, ground, after_s=100.0)
        assert ground.writes() == writes


async def test_a_failure_is_tried_again_ever_more_rarely(tmp_path: Path, ground: Ground) -> None:
    tries: list[float] = []

    def refuse(call: Call) -> None:
        if call.method == "PATCH":
            tries.append(ground.clock.now())
            raise RefusedError("eu", 403, reason="Forbidden", message="no rights")

    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=4, annotations={"prewarm.dev/regions": "us"}))
        at.desk.placed["shop/checkout"] = replace(at.desk.placed["shop/checkout"], source=manifest(replicas=4))
        ground.apis["eu"].fault = refuse
        ground.darken("us")
        ground.apis["eu"].fault = refuse
        minder = Minder(at.desk)
        for _ in range(400):
            await turn(minder, ground)
        gaps = [after - before for before, after in itertools.pairwise(tries)]
        assert gaps[:5] == [15.0, 30.0, 60.0, 120.0, 240.0]
        assert max(gaps) <= 605.0
        assert "no rights" in minder.troubles["shop/checkout"]
        assert at.desk.placer.book.own("shop/checkout") == ()
        ground.apis["eu"].fault = lambda _: None
        await turn(minder, ground, after_s=700.0)
        assert ground.replicas()["eu"] == 4
        await turn(minder, ground)
        assert minder.troubles == {}


async def test_one_broken_record_holds_up_nobody_else(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        for name in ("a", "z"):
            await at.place(manifest(name, 2))
        broken = replace(at.desk.placed["shop/a"], source={"apiVersion": "apps/v1", "kind": "Deployment"})
        at.desk.placed["shop/a"] = broken
        ground.darken(next(iter(ground.replicas("z"))))
        minder = Minder(at.desk)
        await turn(minder, ground, after_s=100.0)
        assert "kept manifest of shop/a" in minder.troubles["shop/a"]
        assert len(ground.replicas("z")) == 2
        answer = await at.call("GET", "/v1/placements")
        assert [(row["key"], row["replicas"]) for row in answer["placements"]] == [("shop/a", None), ("shop/z", 2)]


async def test_what_is_under_way_is_left_alone(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=4))
        ground.darken(next(iter(ground.replicas())))
        at.desk.under_way.add("shop/checkout")
        writes = ground.writes()
        await turn(Minder(at.desk), ground, after_s=100.0)
        assert ground.writes() == writes


async def test_our_own_form_is_promised_and_not_kept(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        answer = await at.place(form(replicas=2))
        assert (answer["became"], answer["why"]) == ("reserved", "no manifest was sent, so nothing is created")
        assert sum(where(answer).values()) == 2
        assert at.desk.placed == {}


async def test_rounds_go_on_after_one_that_failed_and_begin_with_what_a_crash_left(
    tmp_path: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("federation.desk.mind.ROUND_S", 0.001)
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=4))
        (home,) = ground.replicas()
        ground.darken(home)
        shown, broken = ground.snapshot, [RuntimeError("no view"), StoreDownError("no disk")]
        settled: list[int] = []

        def snapshot(now: float) -> Snapshot:
            if broken and settled:
                raise broken.pop()
            return shown(now)

        assert at.desk.carrier is not None
        resume = at.desk.carrier.resume

        async def counted() -> object:
            settled.append(len(ground.replicas()))
            return await resume()

        monkeypatch.setattr(ground, "snapshot", snapshot)
        monkeypatch.setattr(at.desk.carrier, "resume", counted)
        task = asyncio.create_task(Minder(at.desk).run())
        try:
            await until(lambda: len(ground.replicas()) == 2 and len(settled) >= 2)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert settled[0] == 1
        assert "placements as before: no disk" in caplog.text
        assert "RuntimeError: no view" in caplog.text


async def test_what_kept_workloads_need_is_watched_again_after_a_restart(tmp_path: Path, ground: Ground) -> None:
    body = manifest()
    body["spec"]["template"]["spec"] |= {"serviceAccountName": "shop", "priorityClassName": "high"}
    async with standing(tmp_path, ground) as at:
        await at.place(body)
    ground.watched.clear()
    async with standing(tmp_path, ground):
        assert ground.watched == [frozenset({"namespace", "serviceaccount", "priorityclass"})]

"""Room that was promised stays promised when the service is killed and starts anew."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from federation.members.api import RefusedError
from tests.federation.apply.fake import Call
from tests.federation.desk.ground import Ground, form, manifest, standing, where
from tests.service import HandClock

_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from federation.members.api import RefusedError
from tests.federation.apply.fake import Call
from tests.federation.desk.ground import Ground, form, standing
from tests.service import HandClock

async def main():
    async with standing(Path(sys.argv[1]), Ground({"eu": 1}, HandClock()), writes=False) as at:
        answer = await at.place(form("shop/first", 1))
        assert answer["became"] == "reserved" and answer["unplaced"] == 0, answer
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""
RESERVE_S = 90.0


def one_slot(clock: HandClock) -> Ground:
    """A fleet with room for one instance."""
    return Ground({"eu": 1}, clock)


async def test_a_killed_service_does_not_promise_the_same_room_twice(tmp_path: Path) -> None:
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", _KILLED, str(tmp_path))
    assert await killed.wait() == -signal.SIGKILL
    clock = HandClock()
    async with standing(tmp_path, one_slot(clock), writes=False) as at:
        second = await at.place(form("shop/second", 1))
        assert (where(second), second["unplaced"]) == ({}, 1)
        assert "promised to other workloads" in str(second["filtered"])
        again = await at.place(form("shop/first", 1))
        assert where(again) == {"eu": 1}
    clock.time += RESERVE_S
    async with standing(tmp_path, one_slot(clock), writes=False) as at:
        late = await at.place(form("shop/second", 1))
        assert where(late) == {"eu": 1}


async def test_promised_room_is_the_same_after_a_restart(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground, writes=False) as at:
        await at.place(form("shop/a", 25))
        await at.place(form("shop/b", 2, priority=3))
        before = at.desk.placer.book
        assert sorted(claim.cluster for claim in before.own("shop/a")) == ["eu", "us"]
    async with standing(tmp_path, ground, writes=False) as at:
        after = at.desk.placer.book
        assert set(after.own("shop/a")) == set(before.own("shop/a"))
        assert set(after.own("shop/b")) == set(before.own("shop/b")) != set()
        assert after.next_expiry == before.next_expiry


async def test_an_ended_placement_holds_nothing_after_a_restart(tmp_path: Path) -> None:
    clock = HandClock()
    async with standing(tmp_path, one_slot(clock), writes=False) as at:
        await at.place(form("shop/first", 1))
    async with standing(tmp_path, one_slot(clock), writes=False) as at:
        await at.call("DELETE", "/v1/placements/shop%2Ffirst")
    async with standing(tmp_path, one_slot(clock), writes=False) as at:
        assert where(await at.place(form("shop/second", 1))) == {"eu": 1}


async def test_a_placement_that_was_refused_holds_nothing_after_a_restart(tmp_path: Path) -> None:
    def refuse(call: Call) -> None:
        if call.method == "PATCH":
            raise RefusedError("eu", 403, reason="Forbidden", message="no rights in shop")

    ground = one_slot(HandClock())
    async with standing(tmp_path, ground) as at:
        ground.apis["eu"].fault = refuse
        assert (await at.place(manifest("first", 1)))["became"] in ("refused", "undone")
    ground.apis["eu"].fault = lambda _: None
    async with standing(tmp_path, ground) as at:
        assert where(await at.place(manifest("second", 1))) == {"eu": 1}


async def test_instances_that_are_seen_after_the_restart_release_their_room(tmp_path: Path) -> None:
    clock = HandClock()
    ground = Ground({"eu": 2}, clock)
    async with standing(tmp_path, ground) as at:
        assert (await at.place(manifest("first", 1)))["became"] == "carried_out"
    async with standing(tmp_path, ground) as at:
        assert len(at.desk.placer.book.own("shop/first")) == 1
        assert where(await at.place(form("shop/second", 1))) == {"eu": 1}
        assert at.desk.placer.book.own("shop/first") == ()

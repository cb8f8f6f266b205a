"""Totals of a tick divided over the fleet: parts, modes, room that placements were promised, a fleet never seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from federation.desk.dividing import Dividing
from federation.pools.tick.fleet_tick import FleetPlan
from federation.pools.tick.value import Callers
from prewarm.domain import Decision, Mode, rfc3339
from prewarm.loop.view import TickView
from tests.federation.desk.ground import Ground, Standing, form, standing
from tests.service import HandClock

FLEET = {"eu": 10, "us": 20}


def ground() -> Ground:
    """Two members, each with a region of its own."""
    return Ground(dict(FLEET), HandClock(), {name: name for name in FLEET})


def from_eu(view: TickView, now: float) -> Callers:
    """Everybody calls from eu."""
    del now
    return Callers(("eu",), np.full((len(view.keys), 1), 5.0))


async def ticked(at: Standing, counts: dict[str, int], minutes: int = 3) -> TickView:
    """A tick that has seen these calls in some minutes."""
    for minute in range(minutes):
        at.clock.time += 60
        events = [
            {"function": key, "at": rfc3339(at.clock.time - 60), "count": count, "duration_ms_mean": 900.0}
            for key, count in counts.items()
        ]
        body = {"source": "g", "sequence": minute + 1, "events": events}
        await at.call("POST", "/v1/invocations", body, status=202)
        await at.service.ticks.tick(at.clock.time)
    view = at.service.fleet.view
    assert view is not None
    return view


def parts(made: Sequence[Decision]) -> dict[str, Counter[str]]:
    """Instances that each cluster is to have, by function."""
    found: dict[str, Counter[str]] = {}
    for one in made:
        if one.cluster is not None:
            found.setdefault(one.function, Counter())[one.cluster] += one.to_count
    return found


async def test_parts_sum_to_the_total_and_name_their_clusters(tmp_path: Path) -> None:
    async with standing(tmp_path, ground(), writes=False) as at:
        view = await ticked(at, {"shop/checkout": 600, "shop/stock": 300})
        carried: list[FleetPlan] = []

        async def carry(plan: FleetPlan) -> None:
            carried.append(plan)

        divider = Dividing(at.desk, from_eu, carry)
        made = await divider.divide(view)
        assert carried == [divider.plan]
        plan = carried[0]
        totals = view.decisions.to_count.tolist()
        assert max(totals) > 0
        assert plan.answer.plan.sum(axis=1).tolist() == totals
        assert set(plan.names) == set(FLEET)
        told = parts(made)
        for row, key in enumerate(view.keys):
            assert sum(told[str(key)].values()) == totals[row]
        again = await divider.divide(view)
        assert [one for one in again if one.from_count != one.to_count] == []


async def test_a_fleet_that_nobody_has_seen_is_not_divided(tmp_path: Path) -> None:
    unseen = ground()
    unseen.unseen = True
    async with standing(tmp_path, unseen, writes=False) as at:
        view = await ticked(at, {"shop/checkout": 600})
        divider = Dividing(at.desk, from_eu)
        assert await divider.divide(view) == ()
        assert divider.plan is None
        unseen.unseen = False
        assert await divider.divide(view) != ()


async def test_real_members_get_parts_only_of_what_is_deployed_there(tmp_path: Path) -> None:
    async with standing(tmp_path, ground()) as at:
        view = await ticked(at, {"shop/checkout": 600})
        divider = Dividing(at.desk, from_eu)
        made = await divider.divide(view)
        assert all(one.to_count == 0 for one in made if one.cluster is not None)


async def test_promised_room_is_left_for_whom_it_was_promised(tmp_path: Path) -> None:
    async with standing(tmp_path, ground(), writes=False) as at:
        view = await ticked(at, {"shop/checkout": 600})
        large = form("shop/large", 2) | {"requests": {"cpu": "1", "memory": "30Gi"}}
        promised = await at.place(large)
        divider = Dividing(at.desk, from_eu)
        held = divider._promised(at.desk.look())
        assert held == {
            name: 30 * 1024 * sum(one["replicas"] for one in promised["placements"] if one["cluster"] == name)
            for name in FLEET
        }
        await divider.divide(view)
        assert divider.plan is not None


async def test_a_function_in_shadow_is_planned_and_said_to_be_so(tmp_path: Path) -> None:
    async with standing(tmp_path, ground(), writes=False, mode=Mode.SHADOW) as at:
        view = await ticked(at, {"shop/checkout": 600})
        made = await Dividing(at.desk, from_eu).divide(view)
        assert made
        assert {one.mode for one in made} == {Mode.SHADOW}
        assert not any(one.applied for one in made)

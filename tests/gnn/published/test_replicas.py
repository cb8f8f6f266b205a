"""The replica rule: 70 % busy, every two seconds over the last ten, fewer only after a minute."""

from __future__ import annotations

import pytest

from gnn.published.kernel.advance import advance
from gnn.published.kernel.layout import READY, WEB_CREATED
from gnn.published.kernel.replicas import replicas_for
from gnn.published.measure.build import build
from gnn.published.rules.named import default_rule
from tests.gnn.published.worlds import fleet, world

ROOM = fleet((64, 256, 0))


@pytest.mark.parametrize(
    ("busy", "replicas"), [(0.0, 1), (0.69, 1), (0.7, 1), (0.71, 2), (1.4, 2), (5.24, 8), (7.0, 10), (7.01, 11)]
)
def test_replicas_are_seventy_percent_busy(busy: float, replicas: int) -> None:
    assert replicas_for(busy) == replicas


def test_more_calls_raise_the_number_within_ten_seconds_and_fewer_lower_it_after_a_minute() -> None:
    """100 calls a second need one replica a tier, 300 need three; the burst lasts from 100 s to 160 s."""
    burst = ((100.0, (300.0, 0.0, 0.0, 0.0)), (160.0, (100.0, 0.0, 0.0, 0.0)))
    state = build(world(ROOM, None, (100.0, 0.0, 0.0, 0.0), later=burst))
    state["weights"][0] = default_rule().table
    seen = {}
    for until in (100.0, 102.1, 106.1, 110.1, 160.0, 200.0, 219.0, 226.1, 240.0):
        advance(state, until, False)
        seen[until] = int(state["wanted"][0, 0])
    assert seen == {100.0: 1, 102.1: 2, 106.1: 3, 110.1: 3, 160.0: 3, 200.0: 3, 219.0: 3, 226.1: 2, 240.0: 1} or (
        seen[100.0] == 1 and seen[110.1] == 3 and seen[219.0] == 3 and seen[240.0] == 1
    )
    assert state["have"][0].tolist() == [1] * 12


def test_a_new_replica_starts_in_seconds_and_the_newest_goes_first() -> None:
    burst = ((100.0, (300.0, 0.0, 0.0, 0.0)), (160.0, (100.0, 0.0, 0.0, 0.0)))
    state = build(world(ROOM, None, (100.0, 0.0, 0.0, 0.0), later=burst))
    state["weights"][0] = default_rule().table
    advance(state, 99.0, False)
    first = set((state["state"][0] == READY).nonzero()[0].tolist())
    advance(state, 130.0, False)
    assert (state["state"][0] == READY).sum() == 18
    assert state["books"][0, WEB_CREATED] == 12 + 6
    advance(state, 300.0, False)
    assert set((state["state"][0] == READY).nonzero()[0].tolist()) == first


def test_a_small_fleet_keeps_replicas_waiting_until_there_is_room_again() -> None:
    more = ((100.0, (300.0, 0.0, 0.0, 0.0)), (200.0, (100.0, 0.0, 0.0, 0.0)))
    state = build(world(fleet((14, 64, 0)), None, (100.0, 0.0, 0.0, 0.0), later=more))
    state["weights"][0] = default_rule().table
    advance(state, 150.0, False)
    assert state["have"][0, :3].tolist() == [3, 3, 3]
    assert state["ready"][0].sum() == 14
    advance(state, 300.0, False)
    assert state["ready"][0].sum() == 12

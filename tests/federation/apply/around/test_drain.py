"""Emptying a cluster in small steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.apply.around.drain import Cordon, Move, Stay, cordons, end_cordon, next_moves, set_cordon
from federation.placement.workload import Workload
from prewarm.domain import InputError
from prewarm.history import Retention
from prewarm.store import Stamp, Store, audit_entries


def stay(key: str, replicas: int, *, moving: int = 0, priority: int = 0, gang: bool = False) -> Stay:
    return Stay(
        Workload(f"shop/{key}", "deployment", replicas, priority=priority, splittable=not gang), replicas, moving
    )


def test_the_most_urgent_go_first_then_the_largest() -> None:
    stays = (stay("a", 2), stay("b", 3), stay("c", 1, priority=9))
    step = next_moves(stays, at_once=5, allowed=60)
    assert step.moves == (Move("shop/c", 1), Move("shop/b", 3), Move("shop/a", 1))
    assert step.waiting == {}


def test_what_is_on_the_way_counts() -> None:
    step = next_moves((stay("a", 4, moving=3), stay("b", 3)), at_once=4, allowed=60)
    assert step.moves == (Move("shop/a", 1),)
    assert step.waiting == {"shop/b": "4 of 4 are on the way"}


def test_the_hours_moves_are_a_limit_of_their_own() -> None:
    step = next_moves((stay("a", 4), stay("b", 3)), at_once=50, allowed=4)
    assert step.moves == (Move("shop/a", 4),)
    assert step.waiting == {"shop/b": "no move is left this hour"}


def test_a_gang_moves_whole_or_waits() -> None:
    step = next_moves((stay("a", 3), stay("g", 2, gang=True)), at_once=4, allowed=60)
    assert step.moves == (Move("shop/a", 3),)
    assert step.waiting == {"shop/g": "moves whole: 2 instances, 1 may move now"}


def test_a_gang_larger_than_a_step_moves_alone() -> None:
    large = stay("g", 8, gang=True, priority=1)
    assert next_moves((large, stay("a", 1)), at_once=4, allowed=60).moves == (Move("shop/g", 8),)
    busy = next_moves((large, stay("a", 1, moving=1)), at_once=4, allowed=60)
    assert busy.moves == ()
    assert busy.waiting == {"shop/g": "moves whole: 8 instances, 3 may move now"}


def test_what_a_person_froze_stays() -> None:
    step = next_moves((stay("a", 2), stay("b", 1)), at_once=5, allowed=60, held=frozenset({"shop/a"}))
    assert step.moves == (Move("shop/b", 1),)
    assert step.waiting == {"shop/a": "held where it is by an override"}


def test_an_empty_cluster_is_done() -> None:
    step = next_moves((stay("a", 2, moving=2),), at_once=5, allowed=60)
    assert (step.moves, dict(step.waiting)) == ((), {})


@pytest.mark.parametrize(("at_once", "allowed"), [(0, 1), (1, -1)])
def test_limits_that_mean_nothing_are_refused(at_once: int, allowed: int) -> None:
    with pytest.raises(InputError, match="at_once must be 1 or more"):
        next_moves((), at_once=at_once, allowed=allowed)


STAYS = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(-2, 2), st.booleans()), min_size=1, max_size=8
).map(
    lambda rows: tuple(
        stay(f"w{at}", replicas, moving=min(moving, replicas), priority=priority, gang=gang and not moving)
        for at, (replicas, moving, priority, gang) in enumerate(rows)
    )
)


@given(STAYS, st.integers(1, 20), st.integers(0, 30))
def test_no_limit_is_ever_broken_and_nobody_moves_more_than_it_has(
    stays: tuple[Stay, ...], at_once: int, allowed: int
) -> None:
    step = next_moves(stays, at_once=at_once, allowed=allowed)
    moved = {move.key: move.replicas for move in step.moves}
    left = {one.workload.key: one.replicas - one.moving for one in stays}
    assert sum(moved.values()) <= allowed
    alone = len(moved) == 1 and not any(one.moving for one in stays)
    assert sum(moved.values()) + sum(one.moving for one in stays) <= at_once or alone or not moved
    for one in stays:
        key = one.workload.key
        assert moved.get(key, 0) <= left[key]
        if not one.workload.splittable:
            assert moved.get(key, 0) in (0, left[key])
        assert (key in moved) != (key in step.waiting) or left[key] == 0


@given(STAYS, st.integers(1, 20))
def test_a_drain_with_moves_enough_comes_to_an_end(stays: tuple[Stay, ...], at_once: int) -> None:
    rest = {one.workload.key: one for one in stays}
    for _ in range(sum(one.replicas for one in stays) + 1):
        now = tuple(Stay(one.workload, one.replicas - one.moving) for one in rest.values())
        moves = next_moves(now, at_once=at_once, allowed=1_000).moves
        if not moves:
            break
        rest = {
            one.workload.key: Stay(
                one.workload, one.replicas - sum(move.replicas for move in moves if move.key == one.workload.key)
            )
            for one in now
        }
    assert all(one.replicas - one.moving == 0 for one in rest.values())


async def test_a_cordon_is_kept_with_who_said_it(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/state.db", Retention())
    async with store:
        stamp = Stamp("ann", 5.0)
        await store.submit(lambda link: set_cordon(link, "eu-1", Cordon.CORDONED, reason="upgrade", stamp=stamp))
        await store.submit(lambda link: set_cordon(link, "eu-1", Cordon.DRAINING, reason="upgrade", stamp=stamp))
        assert await store.read(cordons) == {"eu-1": Cordon.DRAINING}
        assert await store.submit(lambda link: end_cordon(link, "eu-1", stamp))
        assert not await store.submit(lambda link: end_cordon(link, "eu-1", stamp))
        assert await store.read(cordons) == {}
        entries = await store.read(lambda link: audit_entries(link, limit=10))
        assert [(entry.actor, entry.what, entry.name) for entry in entries] == [("ann", "cordon", "eu-1")] * 3

"""Shifts of the serverless mix: what they change and from when, what is told of them, and when the guard hands over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gnn.bench import ood_mix
from gnn.bench.mix_guard import NAMES, OWN, GuardedMix, Telling, newly, own_row
from gnn.bench.mix_shifts import Shift, permuted, shifted
from gnn.bench.ood_mix import LARGE_AFTER_MIN, SETTLE_MIN, Run, Worlds, one_run
from gnn.guard.fit import Fit, Stream, fit
from gnn.mix.policy.answer import tuned_base
from gnn.mix.policy.played import Played, asked_now
from gnn.mix.replay import Day
from gnn.mix.rules.factors import FACTORS
from gnn.mix.world.draw import World, draw_world
from gnn.mix.world.source import Side
from tests.gnn.mix.builders import Tiny, small_source

AT = 60


def drawn(seed: int = 1) -> tuple[World, NDArray[np.float32]]:
    world = draw_world(small_source(), Side.TRAINING, seed, functions=60)
    return world, np.full(world.calls.shape, 0.3, np.float32)


def nothing(observation: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
    return np.zeros((len(observation["ask/function"]), len(FACTORS) + 1), np.float32)


POLICY = Played(nothing, tuned_base())


@pytest.mark.parametrize("kind", [None, Shift.STALE, Shift.MISSING, Shift.LYING, Shift.DELAYS])
def test_what_is_only_told_leaves_the_world_alone(kind: Shift | None) -> None:
    world, called = drawn()
    assert shifted(world, called, kind, AT, 0) == (world, called)


@pytest.mark.parametrize("kind", [Shift.LOST, Shift.MIX, Shift.DEMAND, Shift.STARTS, Shift.PRICES])
def test_before_the_shift_nothing_is_another(kind: Shift) -> None:
    world, called = drawn()
    other, told = shifted(world, called, kind, AT, 0)
    until = world.hits.first[AT]
    for name in ("row", "calls", "need", "start_s", "origin"):
        assert (getattr(other.hits, name)[:until] == getattr(world.hits, name)[:until]).all()
    assert (other.calls[:, :AT] == world.calls[:, :AT]).all()
    assert (told[:, :AT] == called[:, :AT]).all()
    assert (other.conditions.room_gb[:AT] == world.conditions.room_gb[:AT]).all()
    assert (other.conditions.price[:AT] == world.conditions.price[:AT]).all()


def test_a_lost_cluster_is_one_and_has_no_room_for_anything() -> None:
    world, called = drawn()
    room = shifted(world, called, Shift.LOST, AT, 0)[0].conditions.room_gb[AT:]
    gone = (room < world.functions.memory_gb.min()).all(axis=0)
    assert gone.sum() == 1


def test_trebled_demand_comes_in_the_same_minutes() -> None:
    world, called = drawn()
    other, _ = shifted(world, called, Shift.DEMAND, AT, 0)
    since = world.hits.first[AT]
    assert (other.hits.calls[since:] == 3 * world.hits.calls[since:]).all()
    assert other.hits.origin[since:].sum(axis=1) == pytest.approx(other.hits.calls[since:])
    assert (other.hits.row == world.hits.row).all()
    assert other.hits.need[since:].sum() >= world.hits.need[since:].sum()


def test_the_mix_turned_round_keeps_the_calls_and_gives_them_to_others() -> None:
    world, called = drawn()
    other, _ = shifted(world, called, Shift.MIX, AT, 0)
    assert other.calls.sum() == world.calls.sum()
    busiest, idlest = int(world.calls.sum(axis=1).argmax()), int(world.calls.sum(axis=1).argmin())
    assert (other.calls[idlest, AT:] == world.calls[busiest, AT:]).all()
    for minute in (AT, AT + 20):
        rows = other.hits.row[slice(*other.hits.first[minute : minute + 2])]
        assert (np.diff(rows) > 0).all()
        assert sorted(rows) == np.flatnonzero(other.calls[:, minute]).tolist()


def test_inverted_prices_are_mirrored() -> None:
    world, called = drawn()
    price = shifted(world, called, Shift.PRICES, AT, 0)[0].conditions.price[AT]
    before = world.conditions.price[AT]
    assert np.argsort(price).tolist() == np.argsort(-before).tolist()
    assert (price.min(), price.max()) == pytest.approx((before.min(), before.max()))


def test_permuted_delays_are_the_same_ones_elsewhere_and_decide_the_routes() -> None:
    day = Day(*drawn())
    before = day.site.delay_s.copy()
    permuted(day, 0)
    after = day.site.delay_s
    assert np.sort(after, axis=None) == pytest.approx(np.sort(before, axis=None))
    assert (after != before).any()
    assert (after == after.T).all()


def test_stale_is_what_was_true_ten_minutes_ago() -> None:
    day, telling = Day(*drawn()), Telling(Shift.STALE, 15)
    warm: list[NDArray[np.int32]] = []
    for minute in range(20):
        told, age = telling.state(day.state)
        assert age == (0 if minute < 15 else 10)
        if minute >= 15:
            assert (told.warm == warm[minute - 10]).all()
        warm.append(day.warm.copy())
        day.play(tuned_base().market.decide(day.state))


def test_lying_halves_the_use_and_the_guard_sees_it_beside_what_is_warm() -> None:
    day = Day(*drawn())
    for _ in range(30):
        day.play(tuned_base().market.decide(day.state))
    _, _, shown = asked_now(POLICY.base, day.state)
    use = OWN.index("use told to known")
    true = own_row(day.state, day.state, shown, (0, None, 0.0))
    lied = own_row(day.state, day.state, Telling(Shift.LYING, 0).shown(shown, 30), (0, None, 0.0))
    used = (day.state.site.memory_gb @ day.warm / day.state.room_gb).mean()
    assert true[use] == pytest.approx(0.0, abs=1e-6)
    assert lied[use] == pytest.approx(-used / 2, rel=1e-3)


def test_thrice_the_calls_are_seen_in_the_minute_after() -> None:
    day = Tiny([[(4, 0)] * 30 + [(12, 0)] * 2, [(2, 0)] * 30 + [(6, 0)] * 2, [(0, 0)] * 32]).day()
    heard = []
    for _ in range(31):
        before = day.state.seen[0].sum(axis=1)
        day.play(np.array([[1, 0]] * 3, np.int32))
        heard.append(newly(day.state, before))
    assert newly(day.state, None) == 0.0
    assert heard[30] - heard[29] == pytest.approx(np.log(3.0), abs=0.05)
    assert abs(heard[29] - heard[28]) < 0.05


def test_two_swapped_prices_and_a_third_of_a_room_are_usual_and_more_is_not() -> None:
    day = Day(*drawn())
    first = day.state
    _, _, shown = asked_now(POLICY.base, first)
    prices, room = OWN.index("prices changed beyond two"), OWN.index("room lost beyond half")
    swapped, less = first.price[[1, 0, 2, 3, 4]], first.room_gb * [1.0, 0.65, 1.0, 1.0, 1.0]
    usual = own_row(replace(first, price=swapped, room_gb=less), first, shown, (0, None, 0.0))
    assert usual[prices] == usual[room] == 0.0
    gone = first.room_gb * [1.0, 1e-6, 1.0, 1.0, 1.0]
    strange = own_row(replace(first, price=2.05 - first.price, room_gb=gone), first, shown, (0, None, 0.0))
    assert strange[prices] == pytest.approx(3 / 5)
    assert strange[room] > 5.0


def test_the_guard_hands_over_for_good_and_the_rule_decides_from_then_on() -> None:
    streams = []
    for seed in range(6):
        day, watched = Day(*drawn(seed)), GuardedMix(POLICY, keep=True)
        for _ in range(40):
            day.play(watched.decide(day.state))
        streams.append(Stream(60.0 * np.arange(40.0), np.array(watched.rows), np.array(watched.told)))
        assert len(watched.rows[0]) == len(NAMES)
    detector = fit(streams, np.random.default_rng(0), Fit(memory_s=180.0))
    guarded = GuardedMix(POLICY, Telling(Shift.MISSING, 25), detector)
    day = Day(*drawn(7))
    day.skip(10)
    while day.minute < 35:
        plan = guarded.decide(day.state)
        if guarded.handed is not None:
            assert (plan == POLICY.base.market.decide(day.state)).all()
        day.play(plan)
    assert guarded.handed is not None
    assert guarded.handed <= 25
    assert "out of distribution" in guarded.why


def test_caught_is_within_five_minutes_and_not_before() -> None:
    run = Run(Shift.LOST, 5, "", 101.0, 100.0)
    assert run.caught
    assert run.regret == pytest.approx(0.01)
    assert not replace(run, handed=6).caught
    assert not replace(run, handed=-1).caught
    assert not replace(run, handed=None).caught


@pytest.fixture
def small_worlds(monkeypatch: pytest.MonkeyPatch) -> Worlds:
    """Days of sixty functions, and a larger fleet of a hundred and twenty in ten clusters."""
    source = small_source()
    told = np.full(source.counts.shape, 0.3, np.float32)
    monkeypatch.setattr(ood_mix, "exemplar_chances", lambda *_: told)
    for name, value in {"FUNCTIONS": 60, "LARGER": 2, "LARGE_FROM_MIN": 30, "AFTER_MIN": 15}.items():
        monkeypatch.setattr(ood_mix, name, value)
    monkeypatch.setattr(ood_mix, "draw_world", partial(draw_world, functions=60))
    return Worlds(source, Side.TRAINING)


@pytest.mark.parametrize("kind", [*Shift, None])
def test_every_kind_is_played_by_both(kind: Shift | None, small_worlds: Worlds) -> None:
    run = one_run(POLICY, None, kind, 1, small_worlds)
    assert run.handed is None
    assert run.ours > 0
    assert abs(run.regret) < 0.5


def test_a_larger_fleet_has_as_many_times_the_clusters_and_some_minutes(small_worlds: Worlds) -> None:
    world, called = small_worlds.large(1)
    assert (world.functions.size, world.fleet.clusters) == (120, 10)
    assert world.minutes == called.shape[1] == SETTLE_MIN + LARGE_AFTER_MIN

"""Shifts of the serverless mix: what they change and from when, what is told of them, and when the guard hands over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gnn.bench import mix_play, mix_usual, ood_mix
from gnn.bench.mix_guard import NAMES, OWN, USUAL_START_S, GuardedMix, Starts, Telling, newly, own_row
from gnn.bench.mix_play import LARGE_AFTER_MIN, SETTLE_MIN, Worlds, halves, started
from gnn.bench.mix_shifts import Shift, permuted, shifted
from gnn.bench.ood_mix import Run, one_run
from gnn.guard.fit import Fit, Stream, fit
from gnn.mix.minute import COLD
from gnn.mix.policy.answer import tuned_base
from gnn.mix.policy.played import Played, asked_now
from gnn.mix.replay import Day
from gnn.mix.rules.factors import FACTORS
from gnn.mix.world.draw import World, draw_world
from gnn.mix.world.source import Side
from gnn.published.measure.kept import Kept
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
    true = own_row(day.state, day.state, shown, (0, 0.0, 0.0))
    lied = own_row(day.state, day.state, Telling(Shift.LYING, 0).shown(shown, 30), (0, 0.0, 0.0))
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
    assert heard[30] == pytest.approx(np.log(3.0), abs=0.05)
    assert abs(heard[29] - heard[28]) < 0.05


def test_two_swapped_prices_and_a_third_of_a_room_are_usual_and_more_is_not() -> None:
    day = Day(*drawn())
    first = day.state
    _, _, shown = asked_now(POLICY.base, first)
    prices, room = OWN.index("prices changed beyond two"), OWN.index("room lost beyond half")
    swapped, less = first.price[[1, 0, 2, 3, 4]], first.room_gb * [1.0, 0.65, 1.0, 1.0, 1.0]
    usual = own_row(replace(first, price=swapped, room_gb=less), first, shown, (0, 0.0, 0.0))
    assert usual[prices] == usual[room] == 0.0
    gone = first.room_gb * [1.0, 1e-6, 1.0, 1.0, 1.0]
    strange = own_row(replace(first, price=2.05 - first.price, room_gb=gone), first, shown, (0, 0.0, 0.0))
    assert strange[prices] == pytest.approx(3 / 5)
    assert strange[room] > 5.0


def test_a_start_is_known_in_the_minute_in_which_it_ends() -> None:
    starts = Starts()
    assert starts.off == 0.0
    starts.hear(np.array([1.35, 40.0, 20.0]), np.array([0.0, 30.0, 30.0]))
    assert starts.ended.tolist() == [1.35, 20.0]
    starts.hear(np.array([2.0]), np.array([59.0]))
    assert starts.ended.tolist() == [40.0]
    starts.hear(np.zeros(0), np.zeros(0))
    assert starts.ended.tolist() == [2.0]


@pytest.mark.parametrize("many", [4, 100])
def test_starts_five_times_slower_are_further_off_the_more_there_are(many: int) -> None:
    starts = Starts()
    starts.hear(np.full(many, 5 * USUAL_START_S), np.zeros(many))
    assert starts.off == pytest.approx(np.sqrt(many) * np.log(5.0))


def test_starts_of_a_minute_are_the_planned_at_once_and_those_on_demand_some_time_in_it() -> None:
    world, _ = drawn()
    rows = world.hits.row[slice(*world.hits.first[AT : AT + 2])]
    took = world.hits.start_s[slice(*world.hits.first[AT : AT + 2])]
    ledger = np.zeros((world.functions.size, 4))
    ledger[rows[0], COLD], ledger[rows[1], COLD] = 0.3, 1.0
    told, began = started(world, AT, ledger)
    assert told == pytest.approx(took[:2])
    assert began[0] == 0.0
    assert 0.0 < began[1] < 60.0


def test_the_first_minutes_of_a_day_do_not_look_like_many_calls() -> None:
    day = Tiny([[(4, 0)] * 41, [(2, 0)] * 41, [(0, 0)] * 41]).day()
    for _ in range(40):
        before = day.state.seen[0].sum(axis=1)
        day.play(np.array([[1, 0]] * 3, np.int32))
        assert newly(day.state, before) == pytest.approx(0.0, abs=1e-6)


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
    monkeypatch.setattr(mix_play, "exemplar_chances", lambda *_: told)
    for name, value in {"FUNCTIONS": 60, "LARGER": 2, "LARGE_FROM_MIN": 30, "AFTER_MIN": 15}.items():
        monkeypatch.setattr(mix_play, name, value)
    for module in (ood_mix, mix_usual):
        monkeypatch.setattr(module, "AFTER_MIN", 15)
    monkeypatch.setattr(mix_play, "draw_world", partial(draw_world, functions=60))
    return Worlds(source, Side.TRAINING)


@pytest.mark.parametrize("kind", [*Shift, None])
def test_every_kind_is_played_by_both(kind: Shift | None, small_worlds: Worlds) -> None:
    run = one_run(POLICY, None, kind, 1, small_worlds)
    assert run.handed is None
    assert run.ours > 0
    assert abs(run.regret) < 0.5


def test_runs_are_kept_and_what_is_only_told_changes_nothing_for_the_rule(
    small_worlds: Worlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept(tmp_path / "runs.jsonl")
    first = one_run(POLICY, None, Shift.STALE, 1, small_worlds, kept)
    monkeypatch.setattr(ood_mix, "cost", lambda *_: pytest.fail("played again"))
    assert one_run(POLICY, None, Shift.STALE, 1, small_worlds, Kept(kept.path)) == first
    rule = [line for line in kept.path.read_text().splitlines() if ":None:1" in line] if kept.path else []
    assert len(rule) == 1


def test_what_is_usual_is_kept(small_worlds: Worlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = mix_usual.streams(POLICY, small_worlds.source, 2, 0, lambda *_: None)
    assert [one.rows.shape for one in made] == [(45, len(NAMES))] * 2
    monkeypatch.setattr(mix_usual, "_stream", lambda *_: pytest.fail("played again"))
    again = mix_usual.streams(POLICY, small_worlds.source, 2, 0, lambda *_: None)
    assert all((one.rows == other.rows).all() for one, other in zip(made, again, strict=True))
    assert [one.apart for one in again] == [False, True]


def test_halves_share_no_exemplar_and_are_the_training_side_together() -> None:
    source = small_source()
    one, other = (half.rows(Side.TRAINING) for half in halves(source))
    assert sorted([*one, *other]) == source.rows(Side.TRAINING).tolist()
    assert min(len(one), len(other)) > 0


def test_a_larger_fleet_has_as_many_times_the_clusters_and_some_minutes(small_worlds: Worlds) -> None:
    world, called = small_worlds.large(1)
    assert (world.functions.size, world.fleet.clusters) == (120, 10)
    assert world.minutes == called.shape[1] == SETTLE_MIN + LARGE_AFTER_MIN

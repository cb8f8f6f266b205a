"""The shifts do what they say, the guard sees one, and what is counted is counted by run."""

from __future__ import annotations

import numpy as np
import pytest

from gnn.bench.ood import After, Run, goals_of, one_run, streams
from gnn.bench.shifts import (
    SLOWER,
    STALE_S,
    TREBLED,
    GuardedPlay,
    Shift,
    Shifted,
    Starts,
    Telling,
    as_guarded,
    begun,
    mind,
    misled,
    prepared,
    slow_down,
)
from gnn.guard.detector import Detector
from gnn.guard.features import names
from gnn.guard.fit import Fit, fit
from gnn.published.kernel.layout import NOW, State
from gnn.published.measure.run import Answer, drive
from gnn.published.policy.worlds import load_world
from gnn.published.rules.named import tuned
from gnn.published.world.draw import World
from tests.gnn.fleets import some_observation

AT = 960.0
MIND = mind()


@pytest.fixture(scope="module")
def world() -> World:
    """Forty minutes at 85 % without calls."""
    return load_world(0.85, 50_000)


@pytest.fixture(scope="module")
def detector() -> Detector:
    """Of eight runs: too few to state a rate, enough to see a cluster go."""
    return fit(streams(MIND, 8, 3, lambda *_: None, calls=False), np.random.default_rng(0), Fit())


def played(world: World, kind: Shift, until_s: float) -> GuardedPlay:
    """A run to a time under a guard without a detector."""
    shift = Shifted(kind, AT)
    play = GuardedPlay(MIND, Telling(shift), keep=True)
    state = begun(prepared(world, shift), MIND.columns, shift)
    drive(state, play, until_s=AT)
    slow_down(state, shift)
    drive(state, play, until_s=until_s)
    return play


def test_trebled_is_three_times_as_much_from_then_on(world: World) -> None:
    shifted = prepared(world, Shifted(Shift.DEMAND, AT))
    for at in (0.0, AT - 1.0, AT, 2_000.0):
        before, after = (one.web.rates[np.searchsorted(one.web.since_s, at, "right") - 1] for one in (world, shifted))
        assert after == pytest.approx(before * (TREBLED if at >= AT else 1.0))
    early, late = (((one.jobs.arrive_s < AT).sum(), (one.jobs.arrive_s >= AT).sum()) for one in (world, shifted))
    assert early[0] == late[0]
    assert late[1] / early[1] == pytest.approx(TREBLED, rel=0.25)
    assert (np.diff(shifted.jobs.arrive_s) >= 0).all()


def test_a_swapped_mix_asks_for_the_same_in_all(world: World) -> None:
    shifted = prepared(world, Shifted(Shift.MIX, AT))
    web = shifted.web.rates[-1].sum() / world.web.rates[-1].sum()
    assert web == pytest.approx(0.25 / 0.60)

    def batch(one: World) -> float:
        mine = (one.jobs.pods == 1) & (one.jobs.arrive_s >= AT)
        return float(mine.sum())

    assert batch(shifted) / batch(world) == pytest.approx(0.60 / 0.25, rel=0.25)
    gangs = (world.jobs.pods > 1).sum(), (shifted.jobs.pods > 1).sum()
    assert gangs[0] == gangs[1]


def test_a_lost_cluster_is_gone_and_slow_starts_are_slow(world: World) -> None:
    shift = Shifted(Shift.LOST, AT)
    state = begun(prepared(world, shift), MIND.columns, shift)
    drive(state, GuardedPlay(MIND, Telling(shift)), until_s=AT + 1.0)
    gone = np.flatnonzero(world.fleet.cluster == 1)
    assert (state["alive"][0][gone] == 0).all()
    assert state["free_cpu"][0][gone].sum() == 0
    slow = begun(world, MIND.columns, None)
    before = slow["start_table"].copy()
    slow_down(slow, Shifted(Shift.STARTS, 0.0))
    assert slow["start_table"] == pytest.approx(before * SLOWER)
    slow_down(slow, shift)
    assert slow["start_table"] == pytest.approx(before * SLOWER)


def test_stale_is_what_was_true_ten_minutes_before(world: World) -> None:
    telling = Telling(Shifted(Shift.STALE, AT))
    ages = []

    def play(state: np.ndarray[tuple[int], np.dtype[np.void]], kind: int):  # type: ignore[no-untyped-def]
        told, age = telling(state)
        ages.append((float(state["f"][0, NOW]), float(told.at_s), age))
        return base(state, kind)

    base = GuardedPlay(MIND, Telling(None))
    drive(begun(world, MIND.columns, None), play, until_s=1_300.0)
    for now, true_at, age in ages:
        assert age == pytest.approx(now - true_at if now >= AT else 0.0)
        if now >= AT:
            assert age == pytest.approx(STALE_S, abs=60.0)


def test_missing_and_lying_telemetry() -> None:
    seen = some_observation(1)
    lying, missing = misled(seen, Shift.LYING), misled(seen, Shift.MISSING)
    assert misled(seen, Shift.LOST) is seen
    moved = np.flatnonzero((lying["node/cluster"] != seen["node/cluster"]).any(axis=0))
    assert len(moved) <= 2
    assert (missing["node/cluster"][:, [4, 6, 10, 12]] == 1.0).all()
    aged = as_guarded(seen, 600.0, 11.5)["node/cluster"]
    assert (aged[:, -1] == 0.0).all()
    assert aged[:, -2] == pytest.approx(np.log1p(600.0) / np.log1p(3600.0))


def test_starts_are_known_when_they_are_over(world: World) -> None:
    starts, state = Starts(), begun(world, MIND.columns, None)
    for until in np.arange(5.0, 600.0, 5.0).tolist():
        drive(state, GuardedPlay(MIND, Telling(None)), until_s=until)
        starts.see(state)
        assert all(ready > until for ready, _ in starts.under_way)
    assert starts.median_s == pytest.approx(2.1, rel=0.6)


def test_the_guard_sees_a_cluster_go_and_hands_over(detector: Detector, world: World) -> None:
    shift = Shifted(Shift.LOST, AT)
    play = GuardedPlay(MIND, Telling(shift), detector, names(MIND.columns.names))
    drive(begun(prepared(world, shift), MIND.columns, shift), play, until_s=AT + 300.0)
    assert play.handed_s is not None
    assert AT <= play.handed_s <= AT + 60.0
    assert "cluster" in play.why
    looked = len(play.at)
    drive(begun(world, MIND.columns, None), play, until_s=300.0)
    assert len(play.at) == looked  # the rule decides, and nobody looks any more


def test_what_is_handed_over_is_handed_to_the_best_tuned_rule(detector: Detector, world: World) -> None:
    shift = Shifted(Shift.LOST, AT)
    play = GuardedPlay(MIND, Telling(shift), detector, names(MIND.columns.names))
    answers: list[tuple[bool, int, Answer]] = []

    def told(state: State, kind: int) -> Answer:
        said = play(state, kind)
        answers.append((play.handed_s is not None, kind, said))
        return said

    drive(begun(prepared(world, shift), MIND.columns, shift), told, until_s=AT + 120.0)
    after = [(kind, said) for handed, kind, said in answers if handed]
    assert len({kind for kind, _ in after}) > 1
    assert all((said.weights == tuned().table[kind]).all() and said.residual is None for kind, said in after)
    assert not any(
        said.residual is None and (said.weights == tuned().table[0]).all()
        for done, kind, said in answers
        if not done and kind == 0
    )


def run_of(kind: Shift | None, handed_s: float | None, ours: float = 60.0, rule: float = 60.0) -> Run:
    """A run with these figures."""
    return Run(kind, handed_s, "", After(ours, 0.0), After(rule, 0.0))


def test_caught_is_after_the_shift_and_within_five_minutes() -> None:
    waits = [None, -1.0, 0.0, 300.0, 301.0]
    assert [run_of(Shift.LOST, one).caught for one in waits] == [False, False, True, True, False]


def test_goals_are_by_run_and_regret_is_the_shipped_policys() -> None:
    runs = [run_of(Shift.LOST, 5.0, 61.2), run_of(Shift.MIX, None), run_of(None, None), run_of(None, 700.0)]
    found = {one.name: one.value for one in goals_of(runs, trained=True)}
    assert found == {"regret": pytest.approx(0.01), "caught": 0.5, "false_alarms": 0.5}
    assert goals_of(runs, trained=False)[0].value is None


@pytest.mark.slow
def test_a_whole_run_with_calls(detector: Detector) -> None:
    found = one_run(MIND, detector, Shift.LOST, 0)
    assert found.caught
    assert found.ours.p99_ms > 40.0
    assert abs(found.regret) < 0.5

"""The guard around a scorer: who decides, in the same decision, and what is written down about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from federation.desk.learned import Allowed
from federation.placement.pipeline import place
from federation.placement.scorer import FACTORS, Declined, Question, Weighing
from federation.placement.terms import Terms
from federation.snapshot import Snapshot
from gnn.guard.asked import row
from gnn.guard.book import LAG_S
from gnn.guard.detector import Detector
from gnn.guard.fit import Fit, Stream, fit
from gnn.guard.guarded import CALM_S, MOST_GAP_S, NO_DETECTOR, Guarded
from gnn.guard.trial import Standing
from gnn.observation import Observation
from gnn.scorer import LearnedScorer
from prewarm.settings import PlacementPolicy
from tests.gnn.questions import question_of, some_shop, some_student, some_workload


class Worse(LearnedScorer):
    """A scorer that wants the dearest and the farthest."""

    def judge(self, seen: Observation) -> Weighing | Declined:
        """The prices turned round."""
        price = seen["ask/values"][:, FACTORS.index("price")].astype(np.float64)
        weights = np.eye(len(FACTORS))[FACTORS.index("steadiness")]
        return Weighing(weights, 0.0, self.name, self.version, 0.25 * (0.5 - price))


class Same(LearnedScorer):
    """A scorer that answers as the rule does."""

    def judge(self, seen: Observation) -> Weighing | Declined:
        """The rule's weights."""
        del seen
        return Weighing(self._rule / self._rule.sum(), 0.0, self.name, self.version)


def shop(seed: int = 0) -> Snapshot:
    """A fleet like those that the detector saw: prices move a little."""
    return some_shop(price=1.0 + 0.02 * np.random.default_rng(seed).normal())


@pytest.fixture(scope="module")
def detector() -> Detector:
    """Of forty runs of such fleets, four questions each."""
    look = scorer_of(Same).look
    streams = []
    for run in range(40):
        rows = []
        for at in range(4):
            seen = look(question_of(shop(100 * run + at), some_workload(f"shop/w{at}", 6)))
            assert not isinstance(seen, Declined)
            rows.append(row(seen))
        streams.append(Stream(np.arange(4.0), np.array(rows), np.zeros((4, 1))))
    return fit(streams, np.random.default_rng(0), Fit(rate=0.05))


def scorer_of(kind: type[LearnedScorer] = LearnedScorer) -> LearnedScorer:
    """One whose clock stands."""
    return kind(some_student(), "7", lambda: 0.0)


def guard_of(detector: Detector | None, kind: type[LearnedScorer] = Same, allowed: Allowed | None = None) -> Guarded:
    """The guard of such a scorer, which may go as far as it earns unless told otherwise."""
    return Guarded(scorer_of(kind), detector, PlacementPolicy, allowed=allowed or Allowed("promote"))


def ask(guard: Guarded, key: str, now: float, seen: Snapshot | None = None) -> tuple[bool, str | None]:
    """Whether the rule decided, and why."""
    made = place(seen or shop(), some_workload(key), terms=Terms(scorer=guard), now=now)
    assert sum(one.replicas for one in made.shares) == 6
    return made.policy.rule_decided, made.policy.why


def live(guard: Guarded, windows: int, *, begin: float = 0.0, keys: int = 22) -> float:
    """Questions about many workloads, priced and judged, for so many windows; the time at the end."""
    now = begin
    for _ in range(windows):
        for number in range(keys):
            ask(guard, f"shop/w{number}", now)
        now += max(guard.book.terms.window_s, LAG_S) + 1.0
        guard.book.settle(shop(), now)
        guard.book.close(now, guard.reach())
    return now


def test_it_begins_by_comparing_only_and_says_so(detector: Detector) -> None:
    guard = guard_of(detector)
    assert ask(guard, "shop/a", 0.0) == (True, "shadow: compared only; the learned share of shop is 0")
    assert ask(guard, "shop/a", 0.5) == (
        True,
        "shadow: compared in this window already; the learned share of shop is 0",
    )
    assert (guard.tally.shadowed, len(guard.book.waiting)) == (2, 1)


def test_one_that_is_not_worse_is_given_more_and_more(detector: Detector) -> None:
    guard = guard_of(detector)
    now = live(guard, 3)
    assert guard.share_of("shop") == 0.1
    assert [(one.namespace, one.before, one.after) for one in guard.book.changes] == [("shop", 0.0, 0.1)]
    now = live(guard, 6, begin=now)
    assert guard.share_of("shop") == 1.0
    assert ask(guard, "shop/a", now) == (False, None)
    assert guard.share_of("elsewhere") == 0.0
    assert guard.tally.used > 0


def test_a_worse_one_is_never_given_anything(detector: Detector) -> None:
    guard = guard_of(detector, Worse)
    live(guard, 6)
    standing = guard.book.standing("shop")
    assert (standing.share, standing.windows) == (0.0, 6)
    assert standing.last is not None
    assert standing.last.high < 0


def test_one_that_becomes_worse_loses_its_say_after_a_window(detector: Detector) -> None:
    guard = guard_of(detector)
    now = live(guard, 9)
    guard.scorer = scorer_of(Worse)
    now = live(guard, 1, begin=now)
    assert guard.share_of("shop") == 0.0
    assert guard.book.changes[-1].why.startswith("worse than the rule by")
    assert ask(guard, "shop/a", now)[0]


def test_people_say_how_far_it_may_go(detector: Detector) -> None:
    guard = guard_of(detector, allowed=Allowed("promote", 1.0, {"shop": 0.1}))
    now = live(guard, 9)
    assert guard.share_of("shop") == 0.1
    guard.allowed = Allowed("shadow")
    assert guard.share_of("shop") == 0.0
    guard.allowed = Allowed("off")
    assert ask(guard, "shop/a", now) == (True, "learned scorer switched off")
    assert guard.tally.declined["off"] == 1


def test_a_strange_world_goes_to_the_rule_in_the_same_decision_and_takes_its_share(detector: Detector) -> None:
    guard = guard_of(detector)
    now = live(guard, 9)
    assert ask(guard, "shop/a", now) == (False, None)
    ruled, why = ask(guard, "shop/a", now + 1.0, some_shop(price=9.0))
    assert ruled
    assert why is not None
    assert why.startswith("out of distribution: ")
    assert "price" in why
    assert guard.share_of("shop") == 0.0
    assert guard.book.changes[-1].why == why
    assert not guard.book.waiting


def test_an_alarm_ends_when_all_has_been_calm_for_long_and_the_share_must_be_earned_again(detector: Detector) -> None:
    guard = guard_of(detector)
    now = live(guard, 9)
    ask(guard, "shop/a", now, some_shop(price=9.0))
    again = guard.alarm
    assert again is not None
    for step in range(1, 60):
        ask(guard, "shop/a", now + 20.0 * step)
    assert guard.alarm is None
    assert guard.share_of("shop") == 0.0
    assert guard.book.standing("shop").streak == 0
    assert again.since + CALM_S < now + 20.0 * 60


def test_without_a_detector_it_is_only_compared() -> None:
    guard = guard_of(None)
    live(guard, 6)
    assert guard.share_of("shop") == 0.0
    assert ask(guard, "shop/new", 1e6) == (True, f"shadow: {NO_DETECTOR}")


@pytest.mark.parametrize(
    ("break_it", "why", "kind"),
    [
        (lambda s: s.weights.pop("last.weight"), "the network failed: KeyError: 'last.weight'", "no answer"),
        (lambda s: s.weights.update({"last.bias": np.full(10, np.inf)}), None, None),
    ],
)
def test_what_the_scorer_cannot_do_the_rule_does(
    detector: Detector, break_it: Callable[[object], object], why: str | None, kind: str | None
) -> None:
    student = some_student()
    break_it(student)
    guard = Guarded(LearnedScorer(student, "7", lambda: 0.0), detector, PlacementPolicy, allowed=Allowed("promote"))
    ruled, told = ask(guard, "shop/a", 0.0)
    assert ruled
    if why is not None:
        assert told == why
        assert guard.tally.declined == {kind: 1}


def test_a_late_scorer_leaves_it_to_the_rule_and_is_counted(detector: Detector) -> None:
    times = iter(np.arange(0.0, 10.0, 0.02))
    guard = Guarded(LearnedScorer(some_student(), "7", lambda: float(next(times))), detector, PlacementPolicy)
    ruled, why = ask(guard, "shop/a", 0.0)
    assert ruled
    assert why is not None
    assert why.startswith("over the deadline of 10 ms")
    assert guard.tally.declined == {"over the deadline": 1}


def test_a_long_pause_does_not_make_one_question_all_that_is_remembered(detector: Detector) -> None:
    def level_after(pause_s: float) -> float:
        guard, usual = guard_of(detector), detector.centre
        odd = usual + 2.0 * detector.scale
        for at in range(5):
            guard.look_out(usual, float(at))
        guard.look_out(odd, 4.0 + pause_s)
        guard.look_out(usual, 5.0 + pause_s)
        assert guard.reading is not None
        return guard.reading.level

    assert level_after(2.0) < level_after(MOST_GAP_S)
    assert level_after(3_600.0) == pytest.approx(level_after(MOST_GAP_S))


def test_shares_are_of_workloads_and_stay_with_them(detector: Detector) -> None:
    guard = guard_of(detector)
    guard.book.standings["shop"] = Standing(2)
    keys = [f"shop/w{number}" for number in range(200)]
    used = [not ask(guard, key, 0.0)[0] for key in keys]
    assert 0.35 < np.mean(used) < 0.65
    assert used == [not ask(guard, key, 1.0)[0] for key in keys]


def test_a_pair_is_priced_by_what_became_of_the_fleet(detector: Detector) -> None:
    guard, shown = guard_of(detector, Worse), shop()
    question: Question = question_of(shown, some_workload())
    guard.book.compare(question, guard._rule(), Weighing(np.ones(9), 0.0, "learned", "7"))
    one = guard.book.waiting[0]
    guard.book.waiting[0] = replace(one, rule={"c1": 6}, learned={"c3": 6})
    guard.book.settle(replace(shown, clusters=shown.clusters[2:]), question.now + LAG_S)  # c1 has left the fleet
    assert guard.book.windows["shop"].differences["shop/cart"][0] > 0.5

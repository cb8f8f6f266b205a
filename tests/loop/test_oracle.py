"""The oracle: what its worker says is heard, sent anew when it is behind, and replaced by the rule when it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from prewarm.domain import FunctionKey
from prewarm.forecast import live
from prewarm.forecast.experts.opinions import EXPERTS, Opinions
from prewarm.forecast.pool import FitPool, Outcome
from prewarm.forecast.replica import Behind, Question
from prewarm.history import History, MinuteBatch, Retention
from prewarm.history.view import HitView
from prewarm.loop.fleet import Fleet
from prewarm.loop.oracle import CALENDAR_FUNCTIONS, LARGE_FLEET_WINDOW_MIN, LevelOracle
from prewarm.loop.tick import Chances
from prewarm.settings import Call, Event, Settings
from prewarm.telemetry import Metrics
from tests.service import NOW, HandClock

MINUTE = int(NOW // 60)
KEYS = tuple(FunctionKey(key) for key in ("shop/cart", "shop/pay", "mail/send"))
LEARNED = 0.3


def opinions_of(functions: int, chance: float = LEARNED) -> Opinions:
    """The learned model's opinion on the first level of each function; the calendar has none."""
    said = np.full((functions, len(EXPERTS)), np.nan, np.float32)
    said[:, 0] = chance
    row = np.arange(functions, dtype=np.int32)
    return Opinions(row, np.ones(functions, np.int32), said, EXPERTS)


class ScriptedPool(FitPool):
    """Answers by a script, then by the learned model's opinion; remembers what it was asked."""

    def __init__(self, *script: Outcome) -> None:
        super().__init__(1)
        self.script = list(script)
        self.asked: list[tuple[str, Any]] = []

    async def run(self, work: Callable[[Any], Any], argument: Any, *, budget_s: float) -> Outcome:
        assert budget_s > 0
        self.asked.append((work.__name__, argument))
        if self.script:
            return self.script.pop(0)
        return Outcome("done", opinions_of(len(argument.tail)) if isinstance(argument, Question) else None, "done")


def fleet_of(keys: Sequence[str] = KEYS, settings: Settings | None = None) -> Fleet:
    """A fleet whose first function was called in each of the last 30 minutes, the others never."""
    history = History(Retention(), MINUTE - 60)
    for key in keys:
        history.index(key)
    for minute in range(MINUTE - 30, MINUTE):
        observe(history, minute)
    return Fleet(settings or Settings(), history, HandClock(), Metrics())


def observe(history: History, minute: int) -> None:
    called = np.zeros(1, np.int32)
    refused = history.observe(MinuteBatch(minute, called, np.ones(1, np.float32)), now_minute=minute + 1)
    assert refused is None


def ask(oracle: LevelOracle, now: float = NOW) -> Chances:
    oracle.fleet.history.advance(int(now // 60))
    view = oracle.fleet.history.sparse(int(now // 60), oracle.window_min)
    return asyncio.run(oracle.chances(view, now))


def chance_of(said: Chances, row: int, level: int = 1) -> float:
    at = (np.asarray(said.levels.row) == row) & (np.asarray(said.levels.level) == level)
    return float(np.asarray(said.levels.p)[at].max(initial=0.0))


def test_what_the_worker_says_is_what_is_expected() -> None:
    said = ask(LevelOracle(fleet_of(), ScriptedPool()))
    assert said.model == "boosted"
    assert said.tag.rule_decided is False
    assert said.tag.why is None
    assert chance_of(said, 1) == pytest.approx(LEARNED, abs=0.02)
    assert said.rule is not None
    assert np.asarray(said.rule.p).tolist() == [1.0, 0.0, 0.0]
    assert said.because is not None
    assert said.because.reasons(0, KEYS)[0].text.startswith("learned model: 30.0%")


def test_a_worker_that_is_behind_is_sent_everything_and_asked_again() -> None:
    pool = ScriptedPool(Outcome("done", Behind(None), "done"), Outcome("done", None, "done"))
    said = ask(LevelOracle(fleet_of(), pool))
    assert [name for name, _ in pool.asked] == ["opinions", "load", "opinions"]
    (_, first), (_, (whole, close)), (_, second) = pool.asked
    assert len(whole.hit_minute) == 30 > len(first.tail.hit_minute)
    assert close == first.close == second.close
    assert said.tag.rule_decided is False


@pytest.mark.parametrize(
    ("script", "why"),
    [
        pytest.param([Outcome("died", None, "the worker process died")], "the worker process died", id="died"),
        pytest.param([Outcome("over budget", None, "over its budget of 20 s")], "over its budget of 20 s", id="late"),
        pytest.param(
            [Outcome("done", Behind(3), "done"), Outcome("died", None, "the worker process died")],
            "the worker process died",
            id="died-while-loading",
        ),
        pytest.param(
            [Outcome("done", Behind(3), "done"), Outcome("done", None, "done")] * 2,
            "the worker lost its copy of the history",
            id="behind-for-ever",
        ),
    ],
)
def test_without_its_worker_the_rule_decides_and_says_why(script: list[Outcome], why: str) -> None:
    oracle = LevelOracle(fleet_of(), ScriptedPool(*script))
    said = ask(oracle)
    assert said.tag.rule_decided is True
    assert said.tag.why == why
    assert said.model == "keep-alive of 10 minutes"
    assert [chance_of(said, row) for row in range(3)] == [1.0, 0.0, 0.0]
    observe(oracle.fleet.history, MINUTE)
    after = ask(oracle, NOW + 60)
    assert after.tag.rule_decided is False, "one lost tick is one lost tick"


def test_the_rule_s_certainty_teaches_nothing_about_the_model() -> None:
    oracle = LevelOracle(fleet_of(), ScriptedPool(Outcome("died", None, "gone")))
    ask(oracle)
    before = oracle.memory.errors
    observe(oracle.fleet.history, MINUTE)
    ask(oracle, NOW + 60)
    np.testing.assert_array_equal(oracle.memory.errors.weight, before.weight)


def test_a_minute_is_remembered_once_however_often_it_is_asked_about() -> None:
    oracle = LevelOracle(fleet_of(), ScriptedPool())
    ask(oracle)
    assert oracle.remembered == MINUTE - 1
    assert oracle.memory.active[0].tolist() == [True, False, False]
    kept = oracle.memory
    ask(oracle)
    ask(oracle)
    np.testing.assert_array_equal(oracle.memory.errors.weight, kept.errors.weight)
    np.testing.assert_array_equal(oracle.memory.mixture.weight, kept.mixture.weight)
    observe(oracle.fleet.history, MINUTE)
    ask(oracle, NOW + 60)
    assert oracle.remembered == MINUTE
    assert not np.array_equal(oracle.memory.errors.weight, kept.errors.weight)


def test_an_unknown_minute_is_not_taken_for_silence() -> None:
    oracle = LevelOracle(fleet_of(), ScriptedPool())
    ask(oracle)
    before = oracle.memory.errors.weight.copy()
    ask(oracle, NOW + 60)  # nobody pushed the minute in between
    assert oracle.remembered == MINUTE
    assert not oracle.memory.active[0].any()
    np.testing.assert_array_equal(oracle.memory.errors.weight, before)


def test_new_functions_and_a_new_graph_widen_the_memory() -> None:
    oracle = LevelOracle(fleet_of(), ScriptedPool())
    ask(oracle)
    fleet = oracle.fleet
    fleet.history.index("shop/new")
    fleet.configure(Settings(call=(Call("shop/cart", "shop/new"),)))
    observe(fleet.history, MINUTE)
    said = ask(oracle, NOW + 60)
    assert oracle.memory.graph.size == 4
    assert len(oracle.memory.graph.caller) > 0
    assert chance_of(said, 3) > LEARNED, "its caller was active a minute ago"


@pytest.mark.parametrize(
    ("function", "in_s", "lasts_s", "raised"),
    [
        pytest.param("mail/*", 0, 60, True, id="now"),
        pytest.param("mail/send", 62, 60, True, id="within-the-start-up-after-the-minute"),
        pytest.param("mail/*", 64, 60, False, id="later-than-that"),
        pytest.param("mail/*", -120, 120, False, id="over"),
        pytest.param("news/*", 0, 60, False, id="of-nobody-here"),
    ],
)
def test_an_announced_event_raises_the_levels_in_time(function: str, in_s: int, lasts_s: int, raised: bool) -> None:
    start = datetime.fromtimestamp(NOW, UTC) + timedelta(seconds=in_s)
    event = Event("launch", function, start, start + timedelta(seconds=lasts_s), need=3, sure=0.97)
    said = ask(LevelOracle(fleet_of(settings=Settings(event=(event,))), ScriptedPool()))
    assert (chance_of(said, 2, 3) == pytest.approx(0.97)) is raised
    assert said.because is not None
    told = [reason.text for reason in said.because.reasons(2, KEYS) if reason.factor == "announced"]
    assert told == (["announced: launch, 3 instances"] if raised else [])
    assert chance_of(said, 1, 2) == 0.0


@pytest.mark.parametrize(
    ("functions", "window_min"),
    [
        pytest.param(3, 2 * 1440, id="small-all-that-is-kept"),
        pytest.param(CALENDAR_FUNCTIONS + 1, LARGE_FLEET_WINDOW_MIN, id="large-a-day"),
    ],
)
def test_a_large_fleet_s_worker_looks_back_a_day_only(functions: int, window_min: int) -> None:
    pool = ScriptedPool()
    oracle = LevelOracle(fleet_of(tuple(f"shop/f{i}" for i in range(functions))), pool)
    ask(oracle)
    assert oracle.worker_window_min == window_min
    assert pool.asked[0][1].window_min == window_min


def test_the_worker_s_own_functions_answer_the_oracle() -> None:
    """The real copy of the hits and the real models, in this process."""
    live._replica.cache_clear()

    class Inline(ScriptedPool):
        async def run(self, work: Callable[[Any], Any], argument: Any, *, budget_s: float) -> Outcome:
            said = work(argument)
            self.script = [Outcome("done", said, "done")]
            return await super().run(work, argument, budget_s=budget_s)

    pool = Inline()
    oracle = LevelOracle(fleet_of(), pool)
    first = ask(oracle)
    assert [name for name, _ in pool.asked] == ["opinions", "load", "opinions"]
    assert chance_of(first, 0) > 0.9 > 0.1 > chance_of(first, 1)
    observe(oracle.fleet.history, MINUTE)
    ask(oracle, NOW + 60)
    assert [name for name, _ in pool.asked[3:]] == ["opinions"], "the copy was only told what was new"
    assert isinstance(pool.asked[-1][1].tail, HitView)
    live._replica.cache_clear()

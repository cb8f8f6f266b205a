"""The benchmark's goals from made figures, and the whole of it on one small plan."""

from __future__ import annotations

import numpy as np
import pytest

from gnn.bench import placement_policy as bench
from gnn.published.measure.contest import Contender, pooled
from gnn.published.measure.run import Answer
from gnn.published.rules.named import default_rule, tuned

GOALS = [
    "utilisation",
    "vs_bound",
    "gap_closed",
    "p99_ms",
    "p99_vs_default",
    "failures_vs_pooled",
    "failures_vs_default",
    "convergence_s",
]
BOUNDS = bench.Bounds(1.0, 58.0)
LEARNED = Contender("learned", lambda _, kind: Answer(tuned().table[kind]))


def figures(utilisation: float, failed: float, p99_ms: float) -> bench.Figures:
    return bench.Figures(*(np.full(2, one) for one in (utilisation, failed, p99_ms)))


FOUND = {
    default_rule().name: figures(0.90, 0.032, 100.0),
    pooled().name: figures(0.99, 0.011, 59.0),
    LEARNED.name: figures(0.99, 0.012, 65.0),
}


def test_the_goals_are_counted_as_the_protocol_says() -> None:
    settled = {pooled().name: 20.0, LEARNED.name: 25.0}
    goals = {goal.name: goal for goal in bench._goals(FOUND, BOUNDS, LEARNED, settled)}
    assert list(goals) == GOALS
    values = {name: goal.value for name, goal in goals.items()}
    assert values["vs_bound"] == pytest.approx(0.99)
    assert values["gap_closed"] == pytest.approx(0.9)
    assert values["p99_vs_default"] == pytest.approx(0.35)
    assert values["failures_vs_pooled"] == pytest.approx(0.1)
    assert values["failures_vs_default"] == pytest.approx(0.625)
    assert all(goal.met for goal in goals.values())


@pytest.mark.parametrize(("alone", "target"), [(20.0, 30.0), (38.0, 45.0)])
def test_convergence_has_more_time_where_the_replica_rule_alone_takes_longer(alone: float, target: float) -> None:
    settled = {pooled().name: alone, LEARNED.name: 31.0}
    goal = bench._goals(FOUND, BOUNDS, LEARNED, settled)[-1]
    assert goal.target == target
    assert goal.met == (target == 45.0)


def test_without_a_learned_policy_every_goal_is_missed() -> None:
    goals = bench._goals(FOUND, BOUNDS, None, {pooled().name: 20.0})
    assert [goal.name for goal in goals] == GOALS
    assert all(goal.value is None and not goal.met for goal in goals)


def test_rows_show_differences_from_the_default_rule() -> None:
    rows = {str(row["rule"]): row for row in bench._rows(FOUND, BOUNDS) if "rule" in row}
    assert rows["learned"]["- default  "] == "-35 (-35..-35)"
    assert rows[default_rule().name]["- default"] == "+0 (+0..+0)"
    assert rows["learned"]["% of bound"] == pytest.approx(99.0)


def test_bounds_lie_where_they_must() -> None:
    found = bench._bounds(0.8, (0,))
    assert 0.97 < found.utilisation <= 1.0
    assert 55.0 < found.p99_ms < 62.0


@pytest.mark.slow
def test_a_policy_that_gives_the_tuned_weights_does_as_the_tuned_rule() -> None:
    plan = bench.Plan((default_rule(), tuned()), (0,), (0, 1, 2), (0,))
    result = bench.compare(plan, candidate=LEARNED, loads=(), seed=0, progress=lambda *_: None)
    rows = {str(row["rule"]): row for row in result.rows if "rule" in row}
    shown = ("backlog", "fails %", "P99 ms")
    assert [rows["learned"][name] for name in shown] == [rows["tuned rule"][name] for name in shown]
    assert result.rows[0]["within 3.2 +- 0.3"] is True
    assert BOUNDS.p99_ms - 3.0 < float(str(rows[pooled().name]["P99 ms"]))

"""The benchmark on one small plan: bounds above all, goals missed without a learned policy and counted with one."""

from __future__ import annotations

from gnn.bench.placement_policy import Plan, compare
from gnn.published.measure.contest import Contender
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


def test_a_policy_that_gives_the_tuned_weights_does_as_the_tuned_rule() -> None:
    table = tuned().table
    asked = Contender("learned", lambda _, kind: Answer(table[kind]))
    plan = Plan((default_rule(), tuned()), (0,), (0, 1, 2), (0,))
    result = compare(plan, candidate=asked, loads=(), seed=0, progress=lambda *_: None)
    rows = {str(row["rule"]): row for row in result.rows if "rule" in row}
    figures = ("backlog", "fails %", "P99 ms")
    assert [rows["learned"][name] for name in figures] == [rows["tuned rule"][name] for name in figures]
    goals = {goal.name: goal for goal in result.goals}
    assert list(goals) == GOALS
    assert goals["p99_ms"].value == rows["learned"]["P99 ms"]
    assert goals["vs_bound"].value is not None
    assert goals["vs_bound"].value <= 1.0
    bounds = {str(row["bound"]): row["value"] for row in result.rows if "bound" in row}
    assert float(str(bounds["P99 ms"])) <= float(str(rows["one pooled node"]["P99 ms"]))
    stated = result.rows[0]
    assert stated["within 3.2 +- 0.3"] is True


def test_without_a_learned_policy_every_goal_is_missed() -> None:
    plan = Plan((default_rule(),), (0,), (0, 1), (0,))
    result = compare(plan, candidate=None, loads=(), seed=0, progress=lambda *_: None)
    assert [goal.name for goal in result.goals] == GOALS
    assert all(goal.value is None and not goal.met for goal in result.goals)
    assert not result.met

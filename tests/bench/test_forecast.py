"""The forecast benchmark as a whole: goals judged by the rules, ablation groups that exist, progress that rises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prewarm.bench.forecast import _goals, _part, run
from prewarm.bench.forecast_ablation import GROUPS, kept_columns
from prewarm.bench.forecast_protocol import DAY, HORIZONS, TEST_START, TEST_STOP, Answers, Demand
from prewarm.forecast.dense.roll import feature_names

DAYS = TEST_STOP - TEST_START


def judged(miss: float, covered: tuple[float, float]) -> dict[str, tuple[float | None, bool]]:
    """Goals of a forecaster that misses by `miss` of naive, with these coverages of the two series at every horizon."""
    counts = np.repeat(np.where(np.arange(TEST_STOP) % 2, 10.0, 0.0), DAY)
    demand = Demand(("R1", "R2"), np.stack([counts, counts]), {})
    actual = demand.days(TEST_START, TEST_STOP)
    high = actual + 1.0
    for row, share in enumerate(covered):
        high[row, round(share * DAYS * DAY) :] = actual[row, round(share * DAYS * DAY) :] - 0.5
    said = dict.fromkeys(HORIZONS, actual + 10.0 * miss)
    answers = Answers(
        "m", said, 0.0, 0.0, low=dict.fromkeys(HORIZONS, actual - 1.0), high=dict.fromkeys(HORIZONS, high)
    )
    return {goal.name: (goal.value, goal.met) for goal in _goals(demand, answers)}


@pytest.mark.parametrize(
    ("miss", "met"), [(0.64, [True, True, True]), (0.66, [False, True, True]), (0.73, [False, False, False])]
)
def test_each_horizon_has_its_own_target(miss: float, met: list[bool]) -> None:
    goals = judged(miss, (0.95, 0.95))
    assert [goals[f"error_{h}min"][1] for h in HORIZONS] == met


@pytest.mark.parametrize(
    ("covered", "met"),
    [((0.95, 0.95), True), ((0.92, 0.92), False), ((0.98, 0.98), False), ((0.99, 0.91), True), ((1.0, 0.89), False)],
    ids=["as said", "too narrow", "too wide", "uneven", "one series under 90 %"],
)
def test_coverage_is_right_on_average_and_nowhere_under_ninety(covered: tuple[float, float], met: bool) -> None:
    value, reached = judged(0.5, covered)["coverage"]
    assert reached is met
    assert value == pytest.approx(sum(covered) / 2, abs=1e-3)


@pytest.mark.parametrize("group", GROUPS)
def test_each_group_leaves_out_features_that_exist(group: str) -> None:
    kept = len(kept_columns(GROUPS[group]))
    everything = len(feature_names())
    assert kept == everything if group == "nothing" else kept < everything


def test_the_groups_together_leave_only_what_undoes_the_normalisation() -> None:
    names = feature_names()
    kept = set.intersection(*(set(kept_columns(p)) for g, p in GROUPS.items() if g != "nothing"))
    assert {names[place] for place in kept} == {"profile", "level", "scale"}


def test_no_feature_is_in_two_groups() -> None:
    everything = set(range(len(feature_names())))
    dropped = [everything - set(kept_columns(pattern)) for pattern in GROUPS.values()]
    assert sum(len(one) for one in dropped) == len(set.union(*dropped))


def test_progress_of_the_parts_adds_up() -> None:
    told: list[float] = []

    def tell(share: float, _doing: str = "") -> None:
        told.append(share)

    for part in range(4):
        for share in (0.0, 1.0):
            _part(tell, part)(share, "")
    assert told == sorted(told)
    assert told[0] == 0.0
    assert told[-1] == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_public_trace_meets_the_goals(traces_dir: Path) -> None:
    result = run(traces_dir, quick=True)
    assert result.met, [(goal.name, goal.value) for goal in result.goals]

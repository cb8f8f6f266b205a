"""What a benchmark's result promises to whoever reads its JSON."""

import math

import pytest

from prewarm.bench.result import BenchResult, Goal, installed_versions


@pytest.mark.parametrize(
    ("goal", "met"),
    [
        pytest.param(Goal.at_most("rum_93", 4650.0, 4650.0), True, id="at-the-limit"),
        pytest.param(Goal.at_most("rum_93", 4650.0, 4650.1), False, id="over-the-limit"),
        pytest.param(Goal.at_least("gain", 1.05, 1.05), True, id="reaches"),
        pytest.param(Goal.at_least("gain", 1.05, 1.04), False, id="falls-short"),
        pytest.param(Goal.near("knative_recount", 10632, 10640, 0.001), True, id="within-a-thousandth"),
        pytest.param(Goal.near("ka10_recount", 1117, 1118, 0.0), False, id="must-be-equal"),
        pytest.param(Goal.at_most("p99_ms", 300, None), False, id="not-measured-is-a-miss"),
        pytest.param(Goal.at_most("p99_ms", 300, math.nan), False, id="nan-is-a-miss"),
    ],
)
def test_a_goal_says_whether_it_is_met(goal: Goal, met: bool) -> None:
    assert goal.met is met


def test_one_missed_goal_makes_the_benchmark_missed() -> None:
    good = Goal.at_most("a", 1.0, 0.5)
    bad = Goal.at_most("b", 1.0, 2.0)
    assert BenchResult("x", 0, {}, {}, goals=[good]).met
    assert not BenchResult("x", 0, {}, {}, goals=[good, bad]).met


def test_json_has_the_agreed_keys_and_null_for_what_is_not_finite() -> None:
    result = BenchResult(
        "x", 7, {"t.csv": "ab"}, {"numpy": "2"}, [{"policy": "ka-10"}], [Goal.at_most("a", 1, math.inf)]
    )
    assert result.to_json() == {
        "bench": "x",
        "seed": 7,
        "trace_sha256": {"t.csv": "ab"},
        "versions": {"numpy": "2"},
        "rows": [{"policy": "ka-10"}],
        "goals": [{"name": "a", "target": 1, "value": None, "met": False, "better": "lower"}],
    }


def test_versions_leave_out_what_is_not_installed() -> None:
    found = installed_versions(["numpy", "no-such-distribution-anywhere"])
    assert list(found) == ["numpy"]

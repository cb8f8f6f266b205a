"""The search draws by number, takes up where it stopped, and finds the stated load."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gnn.published.kernel.layout import KINDS
from gnn.published.measure import search
from gnn.published.measure.load import stated_load
from gnn.published.rules.named import default_rule
from gnn.published.world.draw import EVALUATION_SEEDS, FAILURE_SEEDS


def test_a_trial_is_the_same_rule_whoever_draws_it() -> None:
    first, again, other = search.drawn_rule(5), search.drawn_rule(5), search.drawn_rule(6)
    assert first == again
    assert first.weights != other.weights
    assert set(first.weights) == set(KINDS)
    for kind in KINDS:
        assert set(first.weights[kind]) <= set(search.SEARCHED)
        assert all(weight > 0 for weight in first.weights[kind].values())
    assert search.drawn_rule(0).weights == search.CENTRE


def test_the_search_never_sees_an_evaluation_seed() -> None:
    assert not set(search.SEEDS) & (set(EVALUATION_SEEDS) | set(FAILURE_SEEDS))


def test_a_shard_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(rule: object, load: float, number: int) -> search.Trial:
        asked.append(number)
        return search.Trial(number, {}, {}, load, 60.0, 0.9)

    monkeypatch.setattr(search, "measured", counted)
    file = tmp_path / "trials.jsonl"
    search.run_shard(file, 0.7, range(0, 4, 2))
    assert asked == [-2, -1, 0, 2]
    search.run_shard(file, 0.7, range(0, 6, 2))
    assert asked == [-2, -1, 0, 2, 4]
    assert [trial.number for trial in search.read_trials(file)] == asked
    assert json.loads(file.read_text().splitlines()[0])["failed"] == 0.7


def test_the_best_trial_has_few_failures_among_those_that_meet_the_other_goals() -> None:
    def trial(number: int, failed: float, p99_ms: float, utilisation: float) -> search.Trial:
        return search.Trial(number, {}, {}, failed, p99_ms, utilisation)

    default = trial(search.DEFAULT, 0.032, 100.0, 0.95)
    slow, empty = trial(0, 0.001, 66.0, 1.0), trial(1, 0.002, 60.0, 0.98)
    good, better = trial(2, 0.02, 60.0, 0.99), trial(3, 0.01, 65.0, 0.995)
    assert search.best([default, slow, empty, good, better]) is better
    assert search.best([default, slow, empty]) is empty
    kept = search.settings([default, good], 0.7)
    assert (kept["number"], kept["trials"], kept["load"]) == (2, 2, 0.7)


def test_the_stated_load_is_where_the_default_rule_fails_3_2_percent() -> None:
    found = stated_load(default_rule(), FAILURE_SEEDS[:6])
    assert found.found
    assert 0.5 < found.load < 0.9
    assert found.utilisation < found.load + 0.05

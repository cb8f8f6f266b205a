"""Tuning keeps to its budget, goes on where it stopped, and finds what is there to find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnn.mix.rules.table import plain_rules, tuned_rules, tuned_theta
from gnn.mix.rules.theta import ThetaRule
from gnn.mix.tune_rules import read_trials
from gnn.mix.tuning import SPACES, Played, Space, Trial, best_of, mean_cost, trials
from gnn.mix.world.draw import draw_world
from gnn.mix.world.source import Side
from prewarm.domain import InputError
from tests.gnn.mix.builders import small_source

SPACE = Space(ThetaRule(), {"theta": (0.2, 4.0), "memory": (0, 1)}, frozenset({"memory"}))


def played() -> list[Played]:
    world = draw_world(small_source(), Side.TRAINING, 2, functions=25)
    return [(world, np.full(world.calls.shape, 0.3, np.float32))]


def test_the_budget_counts_simulated_minutes_and_the_first_trial_is_the_rule_as_it_is() -> None:
    worlds = played()
    made = list(trials(SPACE, worlds, 6 * 120 + 119, np.random.default_rng(0)))
    assert len(made) == 6
    assert made[0].settings == {"theta": 1.0, "memory": 1.0}
    assert made[0].cost == mean_cost(ThetaRule(), worlds)
    assert best_of(made).cost <= made[0].cost
    for trial in made:
        assert 0.2 <= trial.settings["theta"] <= 4.0
        assert trial.settings["memory"] in (0.0, 1.0)


def test_a_search_that_was_stopped_goes_on_as_it_would_have() -> None:
    worlds = played()
    whole = list(trials(SPACE, worlds, 6 * 120, np.random.default_rng(0)))
    rest = list(trials(SPACE, worlds, 6 * 120, np.random.default_rng(0), whole[:4]))
    assert rest == whole[4:]


def test_a_rule_is_made_with_whole_numbers_where_they_are_meant() -> None:
    rule = SPACE.made({"theta": 2.0, "memory": 1.0})
    assert rule == ThetaRule(theta=2.0, memory=1)


def test_every_space_makes_its_rule_at_both_ends() -> None:
    for space in SPACES.values():
        for end in (0, 1):
            made = space.made({key: float(span[end]) for key, span in space.ranges.items()})
            assert callable(made.decide), made


def test_trials_are_read_back_in_order_and_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    assert read_trials(path) == {}
    path.write_text('{"rule": "a", "settings": {"x": 1.0}, "cost": 3.0}\n{"rule": "a", "settings": {}, "cost": 2.0}\n')
    assert read_trials(path) == {"a": [Trial({"x": 1.0}, 3.0), Trial({}, 2.0)]}
    path.write_text("not a trial\n")
    with pytest.raises(InputError, match="a line is no trial"):
        read_trials(path)


def test_the_shipped_settings_make_the_tuned_rules_the_fixed_rule_last() -> None:
    rules = tuned_rules()
    assert rules[-1] == tuned_theta()
    assert tuned_theta().name == "theta rule, tuned"
    assert tuned_theta() != ThetaRule(name="theta rule, tuned")
    assert {rule.name for rule in rules} & {rule.name for rule in plain_rules()} == set()

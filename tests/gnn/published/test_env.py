"""The environment is the simulator: zero is the rule bit for bit, and the reward is what its meter says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch", reason="the learn extra is not installed")

from gymnasium.utils.env_checker import check_env

from gnn.forms import Form
from gnn.observation import unfit
from gnn.published.env import HOPS, IDLE, UNIT_S, PublishedEnv
from gnn.published.kernel.layout import ALLOCATED, FAILURES
from gnn.published.measure.run import run_asked, run_rule
from gnn.published.policy.columns import tuned_columns
from gnn.published.policy.played import Played, Taught
from gnn.published.policy.worlds import backlog_world, load_world
from gnn.published.rules.named import filled
from gnn.published.task import PublishedTask
from gnn.published.world.draw import Regime, World, draw_world

COLUMNS = tuned_columns()
WIDTHS = {Form.WEIGHTS: (1, len(COLUMNS.names) + 1), Form.RESIDUAL: (2, 1), Form.DIRECT: (2, 1)}


def shorter(world: World, seconds: float = 600.0) -> World:
    return dataclasses.replace(world, duration_s=seconds)


def play(env: PublishedEnv, world: World, act: Callable[[], NDArray[np.float32]]) -> tuple[list[float], list[float]]:
    """Goals and violations of each step."""
    env.reset(seed=1, options={"world": world})
    goals, violations = [], []
    while not env.over:
        seen, reward, *_, info = env.step(act())
        assert np.isfinite(reward)
        assert unfit(seen) is None
        goals.append(info["goals"])
        violations.append(info["violation"])
    return goals, violations


@pytest.mark.parametrize("form", list(Form))
def test_gymnasium_accepts_the_environment(form: Form) -> None:
    check_env(PublishedEnv(COLUMNS, form), skip_render_check=True)


@pytest.mark.parametrize("form", list(Form))
def test_chance_never_leads_to_numbers_that_are_none(form: Form) -> None:
    env = PublishedEnv(COLUMNS, form)
    for world in (shorter(backlog_world(31)), shorter(load_world(0.9, 32))):
        goals, violations = play(env, world, env.action_space.sample)
        assert len(goals) > 5
        assert max(goals) <= 1e-9
        assert min(violations) >= 0.0


@pytest.mark.parametrize("form", [Form.WEIGHTS, Form.RESIDUAL])
@pytest.mark.parametrize("regime", [Regime.FAILURES, Regime.BACKLOG])
def test_zero_is_the_rule_bit_for_bit(form: Form, regime: Regime) -> None:
    world = draw_world(regime, 0.85, 40)
    nothing = np.zeros(WIDTHS[form], np.float32)
    ours = run_asked(world, Played(lambda _: nothing, form, COLUMNS))
    rule = run_rule(world, filled())
    assert (ours.came, ours.failed, ours.gangs_failed) == (rule.came, rule.failed, rule.gangs_failed)
    assert ours.utilisation == rule.utilisation


def test_the_environment_plays_the_run_that_the_policy_plays_elsewhere() -> None:
    world, env = shorter(load_world(0.9, 41), 1_200.0), PublishedEnv(COLUMNS)

    def taught() -> NDArray[np.float32]:
        lesson = env.teach()
        assert lesson is not None
        return lesson

    play(env, world, taught)
    outcome = run_asked(world, Taught(COLUMNS))
    assert env.state["books"][0, FAILURES] == outcome.failed
    assert env.reading.allocated / world.duration_s / world.fleet.cores == pytest.approx(outcome.utilisation, rel=1e-12)


def test_rewards_add_up_to_what_the_meter_says() -> None:
    env = PublishedEnv(COLUMNS)
    world = shorter(backlog_world(42))
    begun = play(env, world, lambda: np.zeros((2, 1), np.float32))
    reading = env.reading
    idle_s = world.duration_s - env.state["f"][0, ALLOCATED] / world.fleet.cores
    assert reading.elapsed_s == pytest.approx(world.duration_s)
    assert sum(begun[0]) == pytest.approx(-(IDLE * idle_s + HOPS * reading.hops) / UNIT_S)
    assert sum(begun[1]) == 0.0


def test_violations_are_the_gangs_that_would_have_failed() -> None:
    env, predicted, failed = PublishedEnv(COLUMNS), 0.0, 0.0
    for seed in range(50, 62):
        _, violations = play(env, load_world(0.95, seed), lambda: np.zeros((2, 1), np.float32))
        predicted += sum(violations)
        failed += env.state["books"][0, FAILURES]
    assert 0.5 * failed < predicted < 2.0 * failed


def test_a_seed_says_everything() -> None:
    runs = []
    for _ in range(2):
        env = PublishedEnv(COLUMNS)
        seen, _ = env.reset(seed=77)
        told = [env.step(np.full((2, 1), 0.3, np.float32))[:2] for _ in range(20)]
        runs.append([seen, *told])
    np.testing.assert_equal(runs[0], runs[1])


def test_the_judge_finds_nothing_gained_by_the_rule_and_something_by_a_policy_that_differs() -> None:
    world = PublishedTask()
    verdict = world.judge(lambda _: np.zeros((2, 1), np.float32), (500,))
    assert verdict.score == 0.0
    towards_the_large = np.array([[1.0], [-1.0]], np.float32)
    assert world.judge(lambda _: towards_the_large, (500,)).score < -1.0

"""The serverless mix to learn in: the rule gains nothing on itself, and what is gained is what the bill says."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("torch")

from gnn.mix.policy.answer import tuned_base
from gnn.mix.policy.env import LASTS_MIN, MOST, UNIT_J, MixEnv
from gnn.mix.policy.worlds import Played, episode_world
from gnn.mix.rules.factors import COLD, FACTORS, HOLDING
from gnn.mix.task import MixTask
from gnn.mix.world.draw import draw_world
from gnn.mix.world.source import Side
from tests.gnn.mix.builders import small_source

WIDTH = len(FACTORS) + 1


def played() -> Played:
    world = draw_world(small_source(), Side.TRAINING, 1, functions=60)
    return world, np.full(world.calls.shape, 0.3, np.float32)


def episode(action: np.ndarray, seed: int = 3) -> np.ndarray:
    """Rewards (minutes, k) with the same action all the time."""
    env = MixEnv(tuned_base())
    shown, _ = env.reset(seed=seed, options={"played": played()})
    rewards, over = [], False
    while not over:
        assert env.observation_space.contains(shown)
        told = np.tile(action, (len(env.asked), 1)).astype(np.float32)
        assert env.action_space.contains(told)
        shown, total, ended, over, info = env.step(told)
        assert total == pytest.approx(info["rewards"].sum())
        assert not ended
        rewards.append(info["rewards"])
    return np.array(rewards)


def test_the_rule_gains_nothing_on_itself() -> None:
    rewards = episode(np.zeros(WIDTH))
    assert len(rewards) == min(LASTS_MIN, 60)
    assert np.abs(rewards).mean() < 0.05


def test_what_is_gained_is_the_difference_of_two_bills() -> None:
    env = MixEnv(tuned_base())
    env.reset(seed=3, options={"played": played()})
    gained, held, over = np.zeros(len(env.asked)), np.zeros(len(env.asked), np.bool_), False
    action = np.zeros((len(env.asked), WIDTH), np.float32)
    action[:, [HOLDING, COLD]] = 0.3, -0.3
    while not over:
        _, _, _, over, info = env.step(action)
        gained += UNIT_J * info["rewards"]
        held |= np.abs(info["rewards"]) >= MOST
    ours, rule = (day.outcome().by_function[env.asked] for day in (env.day, env.beside))
    assert gained[~held] == pytest.approx((rule - ours)[~held])
    assert held.sum() <= 3
    assert np.abs(gained[~held]).max() > 0.1


def test_an_episode_follows_from_its_seed() -> None:
    action = np.full(WIDTH, 0.3)
    assert (episode(action, 5) == episode(action, 5)).all()
    assert episode(action, 5).sum() != episode(action, 6).sum()


def test_episodes_are_of_training_worlds_a_few_each() -> None:
    worlds = [episode_world(10_000 + number) for number in range(12)]
    assert min(worlds) == 10_000
    assert sorted({worlds.count(one) for one in worlds}) == [4]


def test_the_task_is_the_rule_in_its_room_over_named_factors() -> None:
    task = MixTask()
    assert task.factors == tuple(one.name for one in FACTORS)
    assert task.rule == tuned_base().rule

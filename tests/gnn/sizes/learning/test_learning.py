"""The environment, the teacher, the observation, and that action zero is the rule all the way."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the learn extra is not installed")

from gnn.forms import Form
from gnn.observation import unfit
from gnn.sizes.learning.answer import WEIGHTS_FILE, Asked, answered, asked, learned
from gnn.sizes.learning.env import MOST_SIZE, SizesEnv
from gnn.sizes.learning.observe import Observer
from gnn.sizes.learning.teacher import Priced, best_of
from gnn.sizes.play import OneByOne, play, question
from gnn.sizes.rules.factors import FACTORS
from gnn.sizes.rules.weighted import admitting, tuned
from gnn.sizes.task import SizesTask, lost, moments
from gnn.sizes.world import draw_world
from gnn.student import read_student
from gnn.train.questions import zero
from tests.gnn.sizes.builders import PRICED, chain, line, offer


def zeros(env: SizesEnv) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.zeros((env.action_space.rows, env.action_space.width), np.float32)


@pytest.mark.parametrize("form", list(Form))
def test_an_episode_keeps_to_the_spaces_and_rewards_are_losses(form: Form) -> None:
    env = SizesEnv(form, PRICED)
    observation, _ = env.reset(seed=5)
    for _ in range(30):
        assert env.observation_space.contains(observation)
        assert len(observation["node/cluster"]) <= MOST_SIZE
        action = zeros(env)
        assert env.action_space.contains(action)
        observation, reward, over, _, info = env.step(action)
        assert reward <= 1e-6
        assert info["violation"] in (0.0, 1.0)
        if over:
            observation, _ = env.reset(seed=6)


def test_the_same_seed_is_the_same_episode() -> None:
    first, second = SizesEnv(Form.WEIGHTS, PRICED), SizesEnv(Form.WEIGHTS, PRICED)
    for _ in range(2):
        one, other = first.reset(seed=9)[0], second.reset(seed=9)[0]
        for key, array in one.items():
            np.testing.assert_array_equal(array, other[key])
        assert first.step(zeros(first))[1] == second.step(zeros(second))[1]


@pytest.mark.parametrize("form", [Form.RESIDUAL, Form.DIRECT])
def test_who_does_as_the_teacher_says_loses_nothing(form: Form) -> None:
    env = SizesEnv(form, PRICED)
    rewards = []
    env.reset(seed=11)
    for _ in range(40):
        told = env.teach()
        assert told is not None
        _, reward, over, _, _ = env.step(told)
        rewards.append(reward)
        if over:
            env.reset(seed=12)
    assert np.mean(np.array(rewards) < -1e-6) < 0.05


def test_as_weights_the_teacher_corrects_the_rule() -> None:
    env = SizesEnv(Form.WEIGHTS, PRICED)
    env.reset(seed=13)
    corrected = 0
    for _ in range(150):
        told = env.teach()
        _, reward, over, _, _ = env.step(zeros(env) if told is None else told)
        if told is not None and np.abs(told).max() > 0:
            corrected += 1
            assert reward > -1e-6
        if over:
            env.reset(seed=14 + corrected)
    assert corrected > 0


def test_an_observation_shows_the_question() -> None:
    world = line([6, 4, 9], [chain([3, 2, 1], ingress=1)])
    one = question(offer(world), np.array([1, -1, -1]))
    seen = Observer(world, PRICED.holes).observe(one)
    assert unfit(seen) is None
    assert seen["ask/function"].tolist() == [1]
    assert seen["ask/pairs"].tolist() == [[0, 0], [0, 2]]  # one unit is left in cluster 1
    assert seen["ask/room"] == pytest.approx(np.log1p([3.0, 4.0]))
    assert seen["ends/calls"].tolist() == [[0, 1], [1, 2]]
    assert seen["ends/runs_on"].tolist() == [[0], [1]]
    assert seen["ends/called_from"].tolist() == [[0], [0]]
    assert seen["ends/may_run_on"].tolist() == [[1, 1], [0, 2]]


def test_action_zero_is_the_rule_on_a_whole_run() -> None:
    world = draw_world(16, 530)
    policy = asked(lambda seen: zero(Form.WEIGHTS, len(FACTORS), seen), Form.WEIGHTS, PRICED, "zero")
    ours, rule = play(world, policy), play(world, admitting(PRICED, "rule"))
    np.testing.assert_array_equal(ours.latency_ms, rule.latency_ms)


def test_the_best_score_is_chosen_and_the_first_of_equals() -> None:
    world = line([9, 9, 9], [chain([1, 1])])
    seen = Observer(world, PRICED.holes).observe(question(offer(world), np.array([-1, -1])))
    rule = PRICED.rule
    assert answered(Form.DIRECT, rule, seen, np.array([[0.1], [0.4], [0.4]], np.float32)) == 1
    assert answered(Form.RESIDUAL, rule, seen, np.array([[-1.0], [-1.0], [1.0]], np.float32)) == 2


def test_the_teacher_is_at_least_as_cheap_as_the_rule_counted_its_own_way() -> None:
    known = list(moments(PRICED.holes, (540,)))
    assert lost(Priced(PRICED.holes, "solver"), known, PRICED.holes) == pytest.approx(0.0)
    rule = Asked(lambda seen: zero(Form.WEIGHTS, len(FACTORS), seen), Form.WEIGHTS, PRICED).choose
    assert lost(OneByOne("rule", rule), known, PRICED.holes) > -0.01


def test_a_dead_end_has_no_completion() -> None:
    world = line([5, 3], [chain([3, 5])])
    assert best_of(offer(world), np.array([0, -1]), PRICED.holes) is None
    assert best_of(offer(world), np.array([1, -1]), PRICED.holes) is not None


def test_the_rule_itself_is_judged_zero() -> None:
    task = SizesTask(Form.WEIGHTS, PRICED)
    verdict = task.judge(lambda seen: zero(Form.WEIGHTS, len(FACTORS), seen), (541,))
    assert verdict.score == 0.0
    assert verdict.parts["ours"] == verdict.parts["rule"]


def test_the_shipped_weights_belong_to_the_rule_of_today_and_read_any_number_of_clusters() -> None:
    student = read_student(WEIGHTS_FILE)
    assert student.shape.rule == tuned().rule
    for size in (4, 40):
        run = play(draw_world(size, 532), learned())
        assert run.ratio < 1.1
        assert run.accepted.sum() > 90

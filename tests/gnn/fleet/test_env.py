"""The environment: gymnasium's own check, known steps, and a task whose zero is the rule."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the learn extra is not installed")

from gymnasium.utils.env_checker import check_env

from federation.placement.scorer import FACTORS
from gnn.fleet.draw import draw
from gnn.fleet.env import GAIN, FleetEnv, answer, scored
from gnn.fleet.outcome import goals_of
from gnn.fleet.task import TUNED, FleetTask
from gnn.fleet.teacher import NEARNESS, NETWORK, PRICE, lesson
from gnn.fleet.tuning import played, weighing
from gnn.forms import REACH, Form
from gnn.train.questions import zero
from gnn.train.spaces import misfit


@pytest.mark.filterwarnings("ignore::UserWarning")  # it would rather have arrays of one size
def test_gymnasium_finds_nothing_wrong() -> None:
    check_env(FleetEnv(TUNED, 10_000), skip_render_check=True)


@pytest.mark.parametrize("seed", [10_001, 10_005])
def test_an_episode_by_action_zero_is_the_episode_of_the_rule(seed: int) -> None:
    env = FleetEnv(TUNED, seed)
    seen, _ = env.reset(seed=seed)
    rewards, over = [], False
    while not over:
        assert misfit(seen, len(FACTORS)) is None
        seen, reward, ended, cut, info = env.step(zero(Form.WEIGHTS, len(FACTORS), seen))
        rewards.append(reward)
        assert info["violation"] >= 0.0
        over = ended or cut
    by_rule = played(draw(seed), TUNED)
    assert [one.score for one in env.judged] == pytest.approx([one.score for one in by_rule[: len(env.judged)]])
    assert rewards == pytest.approx([0.0] * len(rewards))  # what the rule would have got


def test_the_teacher_weighs_room_and_calls_by_what_they_cost() -> None:
    env = FleetEnv(TUNED, 10_002)
    env.reset(seed=10_002)
    ratios, over = [], False
    while not over:
        goals = goals_of(env.workload)
        taught = env.teach()
        assert np.abs(taught).max() <= 1.0
        given = answer(taught, TUNED)
        ratio = NEARNESS * goals.delay / goals.utilisation
        assert given.weights[NETWORK] / given.weights[PRICE] == pytest.approx(ratio, rel=0.02)
        assert given.temperature == TUNED.temperature
        ratios.append(ratio)
        before = len(env.judged)
        usual = env.play.consider(env._asked, weighing(TUNED))  # type: ignore[arg-type]
        _, reward, ended, cut, _ = env.step(taught)
        assert reward == pytest.approx(GAIN * (env.judged[before].goals - usual.goals))
        over = ended or cut
    assert max(ratios) > 10 * min(ratios)


def test_a_lesson_stays_within_what_an_action_can_say() -> None:
    env = FleetEnv(TUNED, 10_002)
    env.reset(seed=10_002)
    action = lesson(env.workload, TUNED)
    beyond = np.abs(action[0])
    assert beyond.max() <= 1.0
    assert np.flatnonzero(beyond).tolist() == sorted({NETWORK, PRICE} & set(np.flatnonzero(beyond).tolist()))
    assert REACH == 4.0  # the lesson's algebra is written for it


@pytest.mark.parametrize("form", [Form.RESIDUAL, Form.DIRECT])
def test_a_lesson_as_scores_orders_the_clusters_as_the_lesson_in_weights(form: Form) -> None:
    env = FleetEnv(TUNED, 10_002, form=form)
    env.reset(seed=10_002)
    over, whole = False, 0
    while not over:
        assert env._asked is not None
        question, taught = env._asked.question, env.teach()
        assert taught.shape == (len(question.clusters), 1)
        given = scored(form, taught, TUNED, question)
        assert given.residual is not None
        if np.abs(taught).max() < 1.0:  # nothing was cut
            wanted = question.values @ answer(lesson(env.workload, TUNED), TUNED).weights
            assert np.ptp(question.values @ given.weights + given.residual - wanted) < 1e-6
            whole += 1
        _, _, ended, cut, _ = env.step(taught)
        over = ended or cut
    assert whole > 20


def test_a_residual_of_zero_is_the_rule_and_a_flat_score_is_not() -> None:
    rewards: dict[Form, list[float]] = {Form.RESIDUAL: [], Form.DIRECT: []}
    for form, found in rewards.items():
        for seed in range(10_001, 10_007):
            env = FleetEnv(TUNED, seed, form=form)
            seen, _ = env.reset(seed=seed)
            over = False
            while not over:
                seen, reward, ended, cut, _ = env.step(zero(form, len(FACTORS), seen))
                found.append(reward)
                over = ended or cut
    assert rewards[Form.RESIDUAL] == pytest.approx([0.0] * len(rewards[Form.RESIDUAL]))
    assert float(np.mean(rewards[Form.DIRECT])) < -0.1


def test_the_teacher_is_better_than_the_rule() -> None:
    assert FleetTask().by_teacher([500, 501, 502]) > 0.005

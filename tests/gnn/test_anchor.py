"""An actor that its teacher holds: it stays where the critic knows nothing, and goes beyond where the critic does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from federation.placement.scorer import Declined
from gnn.replay import Transition

torch = pytest.importorskip("torch", reason="the learn extra is not installed")

from gnn.ddpg import Ddpg, Settings, anchored_loss  # noqa: E402
from tests.gnn.toys import Constant, Line, Quadratic, number, stacked  # noqa: E402

TEACHER = 0.3
HELD = Settings(
    batch=32, tau=0.05, actor_rate=5e-3, critic_rate=2e-2, discount=0.0, critic_first=150, actor_every=1, off_ends=0.0
)


def taught_to(rewards: Callable[[float], float], *, spread: float, told: Settings) -> float:
    """Where an actor ends that has learned to do as the teacher, and then from 200 tries around its answer."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    agent = Ddpg(told, Constant(), Quadratic, stacked)
    answer = np.full((1, 1), TEACHER, np.float32)
    agent.imitate([number(0.0)], [answer], steps=300)
    for action in np.clip(TEACHER + spread * rng.standard_normal((200, 1, 1)), -1, 1).astype(np.float32):
        agent.remember(
            Transition(number(0.0), action, rewards(float(action[0, 0])), 0.0, number(0.0), True, taught=answer)
        )
    for _ in range(900):
        agent.update()
    plain = agent.act(number(0.0))
    assert not isinstance(plain, Declined)
    return float(plain[0, 0])


def test_a_critic_that_learned_noise_leads_away_from_the_teacher_and_the_anchor_holds() -> None:
    noise = np.random.default_rng(1)
    ends = {
        anchor: taught_to(lambda _a: float(noise.normal()), spread=0.05, told=replace(HELD, anchor=anchor))
        for anchor in (0.0, 50.0)
    }
    assert abs(ends[0.0] - TEACHER) > 0.3
    assert abs(ends[50.0] - TEACHER) < 0.1


def test_a_critic_that_knows_better_is_followed_as_far_as_the_anchor_allows() -> None:
    ends = taught_to(lambda a: 1.0 - (a - 0.6) ** 2, spread=0.4, told=replace(HELD, anchor=1.0))
    # -Q / 0.9775 + (a - 0.3)^2 is least at 0.4517, where Q is 0.978
    assert ends == pytest.approx(0.4517, abs=0.03)


def test_an_anchor_that_fades_lets_the_actor_go_beyond_its_teacher() -> None:
    ends = taught_to(lambda a: 1.0 - (a - 0.6) ** 2, spread=0.4, told=replace(HELD, anchor=1.0, anchor_fades=100))
    assert ends == pytest.approx(0.6, abs=0.03)


def test_half_of_an_anchor_is_left_after_so_many_updates_of_a_moving_actor() -> None:
    agent = Ddpg(Settings(anchor=2.0, anchor_fades=10, critic_first=5), Line(), Quadratic, stacked)
    seen = []
    for updates in (0, 5, 15, 25):
        agent.updates = updates
        seen.append(agent.anchor)
    assert seen == [2.0, 2.0, 1.0, 0.5]


def test_where_the_teacher_is_silent_the_critic_is_climbed_alone() -> None:
    value, action = torch.tensor([2.0, -4.0]), torch.tensor([[0.5, 0.1], [0.0, 0.0]])
    silent = torch.full((2, 2), float("nan"))
    taught = torch.tensor([[0.3, 0.0], [float("nan"), float("nan")]])
    climb = 1.0 / 3.0  # - mean Q over mean |Q|
    assert float(anchored_loss(value, action, silent, 3.0)) == pytest.approx(climb)
    assert float(anchored_loss(value, action, taught, 3.0)) == pytest.approx(climb + 3.0 * (0.04 + 0.01) / 4)

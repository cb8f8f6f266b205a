"""DDPG in one file: a deterministic actor, a critic, soft targets, prioritised replay, and a price on violations.

Method: Lillicrap et al., ICLR'16, algorithm 1. Departures from the paper, numbered:

1. Prioritised replay with importance weights in the critic's loss (Schaul et al., ICLR'16); alpha 0 is the paper's.
2. Two critics, the lower of which is believed, and an actor that moves every second time (TD3, Fujimoto et al.,
   ICML'18); `twin=False, actor_every=1` is the paper's. TD3's noise on target actions is left out.
3. Gaussian noise by default, in place of Ornstein-Uhlenbeck; it decays.
4. Gradients are clipped by their norm; no weight decay; layer norm in the encoder in place of batch norm.
5. Warm start: the actor first imitates a teacher, and then keeps still for `critic_first` updates, because a critic
   that knows nothing would lead it away again.
6. The reward learned from is goals - price x violations with the price of the moment (`gnn.reward.Price`).
7. A small price on actions before their tanh keeps the actor off the ends, where it would learn no more. At zero an
   action is the rule, so this also says: where the critic sees no difference, do as the rule.
8. An observation that is not finite is declined before a network sees it, and never kept.
9. The actor may be anchored to its teacher: Q over its mean size, and the squared distance from the answer that a
   transition carries (TD3+BC, Fujimoto & Gu, NeurIPS'21, eq. 3 and 5; there it is from the logged action). The anchor
   may fade; `anchor=0` is without.

One transition is one question (one row of the critic). What the networks read is up to `collate`, so the same code
learns on graphs and on the toy problems that check it.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from federation.placement.scorer import Declined
from gnn.noise import Noise, NoiseSettings
from gnn.observation import MOST_VALUE, Observation, unfit
from gnn.replay import Replay, Transition
from gnn.reward import Price

Collate = Callable[[Sequence[Observation]], Any]
"""Observations to what the networks read, questions in the same order."""


_INSIDE = 1.0 - 1e-6
_TINY = 1e-6


@dataclass(frozen=True, slots=True)
class Settings:
    """Hyper-parameters."""

    seed: int = 0
    """Of every random choice apart from the first weights, which are the caller's."""
    discount: float = 0.9
    """Of the next decision's value."""
    tau: float = 0.005
    """How far the targets follow, an update."""
    actor_rate: float = 3e-4
    critic_rate: float = 1e-3
    batch: int = 64
    capacity: int = 50_000
    alpha: float = 0.6
    """Preference for surprising transitions, 0 none."""
    beta: float = 0.4
    """How much of the preference's bias is undone at first; it rises to 1 over `beta_updates`."""
    beta_updates: int = 20_000
    noise: NoiseSettings = field(default_factory=NoiseSettings)
    twin: bool = True
    """Two critics."""
    actor_every: int = 2
    """Updates of the critic for one of the actor."""
    critic_first: int = 0
    """Updates before the actor moves at all."""
    off_ends: float = 1e-3
    """Price of the square of an action before its tanh."""
    anchor: float = 0.0
    """Price of the squared distance from the teacher's answer, where Q is of mean size 1; 0.4 is TD3+BC's 1 / alpha."""
    anchor_fades: int = 0
    """Updates, once the actor moves, that leave half of the anchor; 0 keeps it."""
    clip_norm: float = 10.0
    """Most of a gradient's norm."""
    price: Price = field(default_factory=lambda: Price(limit=0.0, step=0.0))
    """Of violations, and how it moves."""


@dataclass(frozen=True, slots=True)
class Losses:
    """What an update showed. value: mean Q of the batch. actor is None where it kept still."""

    critic: float
    actor: float | None
    value: float


# --- losses, apart from networks and training; checked against torchrl's


def bellman(reward: Tensor, following: Tensor, ends: Tensor, discount: float) -> Tensor:
    """y of equation 4: (b,) each, `ends` 1 where nothing follows."""
    return reward + discount * (1.0 - ends) * following


def critic_loss(value: Tensor, wanted: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted squared error, and the errors themselves (b,)."""
    error = wanted - value
    return (weights * error**2).mean(), error.detach()


def actor_loss(value: Tensor) -> Tensor:
    """The actor climbs the critic (equation 6)."""
    return -value.mean()


def at_ends(action: Tensor) -> Tensor:
    """Mean square of an action before its tanh."""
    return (torch.atanh(action.clamp(-_INSIDE, _INSIDE)) ** 2).mean()


def anchored_loss(value: Tensor, action: Tensor, taught: Tensor, weight: float) -> Tensor:
    """Climb the critic by Q of mean size 1, and stay near the teacher. action, taught (r, d): a row of `taught` that is
    not finite says nothing, and a batch without a teacher is climbed alone.
    """
    known = torch.isfinite(taught)
    away = torch.where(known, action - torch.where(known, taught, 0.0), 0.0)
    return actor_loss(value) / value.detach().abs().mean().clamp(min=_TINY) + weight * (away**2).mean()


def follow(target: Sequence[Tensor], source: Sequence[Tensor], tau: float) -> None:
    """target <- tau source + (1 - tau) target, in place."""
    with torch.no_grad():
        get_ema_multi_avg_fn(1.0 - tau)(target, source, 0)


# --- the learner


class Ddpg:
    """Learns from what it is told; it never acts by itself."""

    def __init__(self, settings: Settings, actor: nn.Module, critic: Callable[[], nn.Module], collate: Collate) -> None:
        self.settings, self.collate = settings, collate
        self.actor, self.critics = actor, nn.ModuleList(critic() for _ in range(2 if settings.twin else 1))
        self.actor_target, self.critic_targets = copy.deepcopy(self.actor), copy.deepcopy(self.critics)
        self.actor_target.requires_grad_(False)
        self.critic_targets.requires_grad_(False)
        networks = (self.actor, self.critics, self.actor_target, self.critic_targets)
        self.weights = [list(one.parameters()) for one in networks]  # listed once: walking the modules is slow
        self.actor_optimiser = torch.optim.Adam(self.weights[0], lr=settings.actor_rate, fused=True)
        self.critic_optimiser = torch.optim.Adam(self.weights[1], lr=settings.critic_rate, fused=True)
        self.rng = np.random.default_rng(settings.seed)
        self.replay = Replay(settings.capacity, settings.alpha, self.rng)
        self.noise = Noise(settings.noise)
        self.price = settings.price
        self.updates = 0
        self.refused: Counter[str] = Counter()
        """Observations and transitions that were not finite, by what was wrong."""

    def act(self, observation: Observation) -> NDArray[np.float32] | Declined:
        """The policy's action, in -1..1; declined where the observation is unfit, and the rule is to decide."""
        if why := unfit(observation):
            self.refused[why] += 1
            return Declined(why)
        with torch.no_grad():
            action: NDArray[np.float32] = self.actor(self.collate([observation])).numpy()
        return action

    def explore(self, observation: Observation) -> NDArray[np.float32] | Declined:
        """The action with noise."""
        action = self.act(observation)
        if isinstance(action, Declined):
            return action
        noise = self.noise.draw((len(action), action.shape[1]), self.rng)
        return np.clip(action + noise, -1.0, 1.0).astype(np.float32)

    def remember(self, transition: Transition) -> bool:
        """Keep a transition for learning; False where it is unfit and was not kept."""
        why = unfit({"action": transition.action}) or unfit(transition.before)
        why = why or (None if transition.ends else unfit(transition.after)) or _unfit_reward(transition)
        if why:
            self.refused[why] += 1
            return False
        self.replay.add(transition)
        return True

    def imitate(self, observations: Sequence[Observation], actions: Sequence[NDArray[np.float32]], steps: int) -> float:
        """Warm start: `steps` batches of behaviour cloning of a teacher's actions; the last batch's mean squared error.
        The targets then start from what was learned.
        """
        last = math.nan
        for _ in range(steps):
            rows = self.rng.integers(len(observations), size=min(self.settings.batch, len(observations)))
            wanted = torch.from_numpy(np.concatenate([actions[row] for row in rows.tolist()]))
            loss = ((self.actor(self.collate([observations[row] for row in rows.tolist()])) - wanted) ** 2).mean()
            self._step(self.actor_optimiser, loss, self.weights[0])
            last = float(loss.detach())
        self.actor_target.load_state_dict(self.actor.state_dict())
        return last

    def update(self) -> Losses | None:
        """Learn from one batch; None while nothing is kept."""
        settings = self.settings
        gone = min(1.0, self.updates / max(settings.beta_updates, 1))
        draw = self.replay.draw(settings.batch, settings.beta + gone * (1.0 - settings.beta))
        if draw is None:
            return None
        kept = [self.replay.kept[row] for row in draw.rows.tolist()]
        before, action = self.collate([one.before for one in kept]), _joined(kept)
        wanted = self._wanted(kept)
        weights = torch.from_numpy(draw.weights.astype(np.float32))
        values = [critic(before, action) for critic in self.critics]
        losses, errors = zip(*(critic_loss(value, wanted, weights) for value in values), strict=True)
        self._step(self.critic_optimiser, torch.stack(losses).sum(), self.weights[1])
        self.replay.judge(draw.rows, torch.stack(errors).abs().mean(dim=0).numpy().astype(np.float64))
        self.updates += 1
        moved = self._move_actor(before, kept) if self._actor_moves() else None
        return Losses(float(losses[0].detach()), moved, float(values[0].detach().mean()))

    @property
    def anchor(self) -> float:
        """How much the teacher holds the actor now."""
        settings = self.settings
        moving = max(self.updates - settings.critic_first, 0)
        return settings.anchor * (0.5 ** (moving / settings.anchor_fades) if settings.anchor_fades else 1.0)

    def see_violations(self, rate: float) -> None:
        """Move the price after a violation rate was measured (dual ascent)."""
        self.price = self.price.moved(rate)

    def _wanted(self, kept: Sequence[Transition]) -> Tensor:
        """y (b,), with the price of now and the lower of the target critics."""
        reward = np.array([one.reward - self.price.multiplier * one.violation for one in kept], np.float32)
        ends = torch.tensor([float(one.ends) for one in kept])
        if bool(ends.all()):
            return torch.from_numpy(reward)
        after = self.collate([one.before if one.ends else one.after for one in kept])
        with torch.no_grad():
            action = self.actor_target(after)
            following = torch.stack([critic(after, action) for critic in self.critic_targets]).amin(dim=0)
        return bellman(torch.from_numpy(reward), following, ends, self.settings.discount)

    def _actor_moves(self) -> bool:
        return self.updates > self.settings.critic_first and self.updates % self.settings.actor_every == 0

    def _move_actor(self, before: Any, kept: Sequence[Transition]) -> float:
        action = self.actor(before)
        value = self.critics[0](before, action)
        loss = anchored_loss(value, action, _taught(kept), held) if (held := self.anchor) else actor_loss(value)
        self._step(self.actor_optimiser, loss + self.settings.off_ends * at_ends(action), self.weights[0])
        for source, target in ((0, 2), (1, 3)):
            follow(self.weights[target], self.weights[source], self.settings.tau)
        return float(loss.detach())

    def _step(self, optimiser: torch.optim.Optimizer, loss: Tensor, weights: Sequence[Tensor]) -> None:
        optimiser.zero_grad()
        loss.backward(inputs=weights)
        nn.utils.clip_grad_norm_(weights, self.settings.clip_norm)
        optimiser.step()


def _joined(kept: Sequence[Transition]) -> Tensor:
    return torch.from_numpy(np.concatenate([one.action for one in kept]))


def _taught(kept: Sequence[Transition]) -> Tensor:
    """The teachers' answers, NaN where there is none."""
    told = [np.full_like(one.action, np.nan) if one.taught is None else one.taught for one in kept]
    return torch.from_numpy(np.concatenate(told))


def _unfit_reward(transition: Transition) -> str | None:
    told = (transition.reward, transition.violation)
    return None if all(abs(one) <= MOST_VALUE for one in told) else "reward is not finite"

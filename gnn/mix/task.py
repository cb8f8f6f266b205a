"""The task `mix`: instances of the serverless mix, judged by what of the rule's J is saved on stretches of other days.

The rule is the tuned one whose plans fit the room; action zero is that rule. A stretch of each validation day is played
by both with the same calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gnn.ddpg import Settings
from gnn.forms import Form, Rule
from gnn.mix.minute import LEDGER
from gnn.mix.policy.answer import tuned_base
from gnn.mix.policy.env import MixEnv
from gnn.mix.policy.played import Played
from gnn.mix.policy.shipped import FACTOR_NAMES
from gnn.mix.policy.worlds import drawn_start, public_source, settled, world_of
from gnn.mix.replay import PRICES
from gnn.mix.state import Policy
from gnn.noise import NoiseSettings
from gnn.reward import Price
from gnn.shape import EncoderShape
from gnn.train.plan import Plan
from gnn.train.seeds import VALIDATION
from gnn.train.task import Act, Verdict
from prewarm.domain import FloatArray

JUDGED_MIN = 180
_STREAM = 929

PLAN = Plan(
    learner=Settings(
        discount=0.8,
        actor_rate=2e-5,
        critic_rate=1e-3,
        batch=64,
        capacity=20_000,
        noise=NoiseSettings(sigma=0.15, last_sigma=0.05, steps=1_000),
        critic_first=500,
        off_ends=1e-3,
        price=Price(limit=0.0, step=0.0),
    ),
    encoder=EncoderShape(hidden=16, heads=4, layers=1),
    seconds=480.0,
    lessons=1_440,
    lessons_noise=0.15,
    imitations=300,
    update_every=20.0,
    judge_every=700,
    validation=tuple(VALIDATION[:6]),
)

FORMS = (Form.WEIGHTS,)


class MixTask:
    """The world, with the tuned rule."""

    name = "mix"
    plan = PLAN
    factors = FACTOR_NAMES

    def __init__(self) -> None:
        self.base = tuned_base()
        self._ruled: dict[int, FloatArray] = {}

    @property
    def rule(self) -> Rule:
        """Over `FACTORS`."""
        return self.base.rule

    @property
    def data(self) -> Mapping[str, str]:
        """The public tables by sha256."""
        return public_source().sha256

    def make(self, seed: int) -> MixEnv:
        """An environment; each reset has its own seed."""
        del seed
        return MixEnv(self.base)

    def judge(self, act: Act, seeds: Sequence[int]) -> Verdict:
        """The share of the rule's J that is saved on a stretch of each seed's day, and the four parts of J."""
        ours = np.array([self._cost(Played(act, self.base), seed) for seed in seeds])
        rule = np.array([self._by_rule(seed) for seed in seeds])
        saved = float((1.0 - ours.sum(axis=1) / rule.sum(axis=1)).mean())
        parts = {"ours": float(ours.sum(axis=1).mean()), "rule": float(rule.sum(axis=1).mean())}
        parts |= dict(zip(LEDGER, ours.mean(axis=0).tolist(), strict=True))
        parts |= dict(zip((f"rule {name}" for name in LEDGER), rule.mean(axis=0).tolist(), strict=True))
        return Verdict(saved, parts)

    def _by_rule(self, seed: int) -> FloatArray:
        if seed not in self._ruled:
            self._ruled[seed] = self._cost(self.base.market, seed)
        return self._ruled[seed]

    def _cost(self, policy: Policy, seed: int) -> FloatArray:
        """The parts of J over the stretch, (4,)."""
        played = world_of(seed)
        start = drawn_start(played[0], JUDGED_MIN, np.random.default_rng([_STREAM, seed]))
        day = settled(played, start, self.base)
        parts = np.zeros(len(LEDGER))
        for _ in range(JUDGED_MIN):
            parts += day.play(policy.decide(day.state)).sum(axis=0) * PRICES
        return parts


def task(form: Form) -> MixTask:
    """The task; its actions have one form."""
    del form
    return MixTask()

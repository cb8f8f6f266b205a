"""The task `published`: the published cluster, judged without calls on validation worlds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnn.ddpg import Settings
from gnn.forms import Form, Rule
from gnn.noise import NoiseSettings
from gnn.observation import Observation
from gnn.published.env import DISCOUNT, PublishedEnv
from gnn.published.kernel.layout import FAILURES
from gnn.published.policy.columns import Columns, tuned_columns
from gnn.published.policy.worlds import backlog_world, load_world
from gnn.published.world.draw import World
from gnn.reward import Price
from gnn.shape import EncoderShape
from gnn.train.plan import Plan
from gnn.train.questions import zero
from gnn.train.seeds import VALIDATION
from gnn.train.task import Act, Action, Verdict
from prewarm.domain import FloatArray

JUDGED_LOAD = 0.82
_MEASURES = ("backlog idle", "blocked", "hops")
_POINTS = np.array([-100.0, -15.0, -15.0])
"""A point of backlog, of the time in which gangs find no room (about 0.15 points of failures), and a fifteenth of a hop
(5 ms of P99) weigh the same.
"""

PLAN = Plan(
    learner=Settings(
        discount=DISCOUNT,
        actor_rate=2e-5,
        critic_rate=1e-3,
        batch=32,
        capacity=20_000,
        noise=NoiseSettings(sigma=0.6, last_sigma=0.2, steps=4_000),
        critic_first=600,
        off_ends=1e-5,
        price=Price(limit=0.008, multiplier=0.3, step=0.1),
    ),
    encoder=EncoderShape(hidden=32, heads=4, layers=1),
    seconds=1_200.0,
    lessons=6_000,
    lessons_noise=0.6,
    imitations=2_000,
    update_every=2.0,
    judge_every=400,
    validation=tuple(VALIDATION[:6]),
)

FORMS = (Form.RESIDUAL, Form.WEIGHTS, Form.DIRECT)


class PublishedTask:
    """Where pods of the published cluster go; action zero is the tuned rule that fills nodes first."""

    name = "published"
    plan = PLAN

    def __init__(self, form: Form = FORMS[0]) -> None:
        self.form = form
        self.columns: Columns = tuned_columns()
        self._ruled: dict[int, FloatArray] = {}

    @property
    def factors(self) -> tuple[str, ...]:
        """The rule's factors by kind of pod, and the look ahead."""
        return self.columns.names

    @property
    def rule(self) -> Rule:
        """Over these columns."""
        return self.columns.weights

    def make(self, seed: int) -> PublishedEnv:
        """An environment; each reset has its own seed."""
        del seed
        return PublishedEnv(self.columns, self.form)

    def judge(self, act: Act, seeds: Sequence[int]) -> Verdict:
        """A run under load and one with a backlog for each seed; weighed points better than the rule."""
        ours = np.array([self._measured(act, seed) for seed in seeds])
        rule = np.array([self._by_rule(seed) for seed in seeds])
        gained = (ours - rule).mean(axis=0)
        parts = {name: float(value) for name, value in zip(_MEASURES, ours.mean(axis=0)[:3], strict=True)}
        parts |= {f"rule {name}": float(value) for name, value in zip(_MEASURES, rule.mean(axis=0)[:3], strict=True)}
        parts |= {"failed pods": float(ours[:, 3].sum()), "rule failed pods": float(rule[:, 3].sum())}
        return Verdict(float(_POINTS @ gained[:3]), parts)

    def _by_rule(self, seed: int) -> FloatArray:
        if seed not in self._ruled:
            self._ruled[seed] = self._measured(self._nothing, seed)
        return self._ruled[seed]

    def _nothing(self, observation: Observation) -> Action:
        return zero(self.form, len(self.factors), observation)

    def _measured(self, act: Act, seed: int) -> FloatArray:
        """Idle share of the backlog, share of the time without room for a gang, hops of a call, failed pods: (4,)."""
        backlog = self._played(act, backlog_world(seed))
        load = self._played(act, load_world(JUDGED_LOAD, seed))
        lasts_s, cores = backlog.world.duration_s, backlog.world.fleet.cores
        idle = 1.0 - backlog.reading.allocated / lasts_s / cores
        books = load.state["books"][0]
        return np.array([idle, load.reading.blocked_s / lasts_s, load.reading.hops / lasts_s, books[FAILURES]])

    def _played(self, act: Act, world: World) -> PublishedEnv:
        env = PublishedEnv(self.columns, self.form)
        observation, _ = env.reset(seed=world.seed, options={"world": world})
        while not env.over:
            observation, *_ = env.step(act(observation))
        return env


def task(form: Form) -> PublishedTask:
    """The task."""
    return PublishedTask(form)

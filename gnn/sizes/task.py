"""The task `sizes`: learned and judged on fleets of 2 to 32 clusters, so that all that is larger is unseen.

A run's acceptance hangs on single requests, so weights are chosen by something steadier: at moments along the solver's
own path the policy places one request, and loses what that costs more than the solver's placement (delay and price of
holes). The worlds with few requests have as little room a cluster as the benchmark has with 128.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gnn.forms import Form, Rule
from gnn.sizes.learning.answer import Asked
from gnn.sizes.learning.env import SizesEnv
from gnn.sizes.learning.teacher import Priced
from gnn.sizes.play import Offer, OneByOne, Policy, offers, take
from gnn.sizes.rules.factors import FACTORS
from gnn.sizes.rules.holes import Holes
from gnn.sizes.rules.weighted import Settings, tuned, weighted
from gnn.sizes.world import draw_world, latency_ms
from gnn.train.plan import LEARNER, Plan
from gnn.train.seeds import VALIDATION
from gnn.train.task import Act, Verdict
from prewarm.domain import IntArray

JUDGED = ((8, 100), (16, 13), (32, 26), (32, 100))
"""Clusters and requests of the validation worlds."""
MOMENTS = 10
"""Requests of each world that are looked at, the later ones closer together."""
_DEAD_END_MS = 500.0


PLAN = Plan(
    learner=replace(
        LEARNER,
        actor_rate=3e-5,
        noise=replace(LEARNER.noise, sigma=0.04, last_sigma=0.01),
        critic_first=100,
    ),
    lessons=3_000,
    lessons_noise=0.02,
    imitations=2_500,
    questions=900,
    update_every=3.0,
    judge_every=100,
    validation=tuple(VALIDATION[:6]),
)
"""Mostly imitation: the teacher is exact, and a residual of 0.03 is 11 ms already, so noise and steps are small."""


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A request, and what the solver's placement of it costs in ms."""

    offer: Offer
    least_ms: float


FORMS = (Form.RESIDUAL, Form.WEIGHTS, Form.DIRECT)


@dataclass(slots=True)
class SizesTask:
    """The world, with the tuned rule."""

    form: Form = FORMS[0]
    settings: Settings = field(default_factory=tuned)
    name: str = "sizes"
    factors: tuple[str, ...] = FACTORS
    moments: dict[tuple[int, ...], list[Moment]] = field(default_factory=dict)
    """Of the validation worlds, by seeds."""
    plan: Plan = PLAN

    @property
    def rule(self) -> Rule:
        """What action zero is."""
        return self.settings.rule

    def make(self, seed: int) -> SizesEnv:
        """An environment; each reset has its own seed."""
        del seed
        return SizesEnv(self.form, self.settings)

    def judge(self, act: Act, seeds: Sequence[int]) -> Verdict:
        """What the rule loses, less what the policy loses, as a share of what the solver's placements cost."""
        key = tuple(seeds)
        if key not in self.moments:
            self.moments[key] = list(moments(self.settings.holes, seeds))
        known = self.moments[key]
        policy = OneByOne("policy", Asked(act, self.form, self.settings).choose)
        ours, rule = (lost(one, known, self.settings.holes) for one in (policy, weighted(self.settings, "rule")))
        return Verdict(rule - ours, {"ours": ours, "rule": rule, "optimum": 0.0})


def moments(holes: Holes, seeds: Sequence[int]) -> Iterator[Moment]:
    """Requests along the solver's path through the validation worlds."""
    solver = Priced(holes, "solver")
    for size, many in JUDGED:
        looked = set((many * np.sqrt(np.linspace(0.0, 0.98, MOMENTS))).astype(int).tolist())
        for seed in seeds:
            world = draw_world(size, seed, many)
            free = world.room.copy()
            for number, offer in enumerate(offers(world, free)):
                placed = solver.place(offer)
                if placed is None:
                    continue
                if number in looked:
                    kept = Offer(world, offer.request, free.copy(), offer.to_come)
                    yield Moment(kept, cost_ms(kept, placed, holes))
                take(free, offer.request, placed)


def lost(policy: Policy, known: Sequence[Moment], holes: Holes) -> float:
    """What a policy's placements cost more than the solver's, as a share of these."""
    more = [cost_ms(one.offer, policy.place(one.offer), holes) - one.least_ms for one in known]
    return float(np.sum(more) / np.sum([latency_of(one) for one in known]))


def latency_of(moment: Moment) -> float:
    """The solver's cost, at least 1 ms; where holes are filled it can be below nothing."""
    return max(moment.least_ms, 1.0)


def cost_ms(offer: Offer, placed: IntArray | None, holes: Holes) -> float:
    """Delay of a placement and the price of the holes that it leaves; a dead end has a price of its own."""
    if placed is None:
        return _DEAD_END_MS
    left = offer.free.copy()
    take(left, offer.request, placed)
    cost = holes.cost(offer.free)
    return latency_ms(offer.request, placed, offer.world.delay_ms) + float((cost[left] - cost[offer.free]).sum())


def task(form: Form) -> SizesTask:
    """The task."""
    return SizesTask(form)

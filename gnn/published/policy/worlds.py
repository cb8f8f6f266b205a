"""The worlds that a policy is trained and validated in: no calls are run, but the web moves as if they were.

Counted over ten seconds the same rate shows as a little more or less, which is what makes the replica rule ask for one
more now and then; here the rates themselves wander by as much.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from gnn.published.kernel.layout import CHAINS
from gnn.published.world.draw import Regime, World, draw_world
from gnn.published.world.web import SERVICE_CV, SERVICE_S, WINDOW_S, WebPlan

LOADS = (0.70, 0.98)
LASTS_S, WANDERS_EVERY_S = 2_400.0, 60.0
BACKLOG_SHARE = 1.0 / 3.0
_STREAM = 616


def training_world(seed: int) -> World:
    """One of every three has work that always waits, the others a load drawn in `LOADS`."""
    rng = np.random.default_rng([_STREAM, seed])
    if rng.random() < BACKLOG_SHARE:
        return backlog_world(seed)
    return load_world(float(rng.uniform(*LOADS)), seed)


def load_world(load: float, seed: int) -> World:
    """Bursts and jobs of a run with calls, at a load; the web wanders."""
    world = draw_world(Regime.CALLS, load, seed)
    rng = np.random.default_rng([_STREAM, seed, 1])
    web = wandering(world.web, world.duration_s, rng)
    return dataclasses.replace(world, regime=Regime.FAILURES, web=web, counted_from_s=0.0)


def backlog_world(seed: int) -> World:
    """Work that always waits, for as long."""
    return dataclasses.replace(draw_world(Regime.BACKLOG, 1.0, seed), duration_s=LASTS_S, counted_from_s=0.0)


def wandering(plan: WebPlan, duration_s: float, rng: np.random.Generator) -> WebPlan:
    """The plan with its rates off by what counting for ten seconds would show, drawn anew each minute; not at first."""
    marks = np.union1d(plan.since_s, np.arange(0.0, duration_s, WANDERS_EVERY_S))
    rates = plan.rates[np.searchsorted(plan.since_s, marks, side="right") - 1]
    busy = rates * SERVICE_S
    spread = np.sqrt(rates / WINDOW_S * (1.0 + SERVICE_CV**2)) * SERVICE_S
    off = rng.standard_normal((len(marks), CHAINS)) * spread / np.maximum(busy, 1e-9)
    off[0] = 0.0
    return WebPlan(marks, rates * np.maximum(1.0 + off, 0.0))

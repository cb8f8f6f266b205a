"""How likely is a call in each coming step, given how long the function has been silent.

The empirical hazard at idle age g is (calls at age g) / (times age g was reached). With few gaps it is all noise, so it
is smoothed over neighbouring ages (a triangle as wide as a tenth of the age) and mixed with a prior's hazard that
counts as much as `WEIGHT` gaps. For a step further on the next call may already have come and another follow it, so the
chances are those of a renewal process: u = f_age + f_age * r, r = f + f * r, with f the gaps' distribution from a call
and f_age the same from today's age (Cox, Renewal Theory, 1962, section 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray
from prewarm.forecast.batch import ForecastBatch, Levels, Said, sane
from prewarm.forecast.distribution import newest_sizes, rare_demand
from prewarm.forecast.local.histogram import RANGE, IdleTable, idle_table
from prewarm.forecast.local.prior import FLEET, HazardPrior
from prewarm.forecast.series import SeriesBatch

WEIGHT = 2.0  # gaps that the prior counts for
NEAR_STEPS = 240  # further on the chance is the long-run one, to which a renewal process settles


def smoothed_hazard(table: IdleTable, prior: FloatArray, weight: float = WEIGHT) -> FloatArray:
    """Hazard (n, R) at idle ages 1..R; prior is (n, R) or (1, R)."""
    kernel = _kernel(table.counts.shape[1])
    calls: FloatArray = table.counts @ kernel
    exposed: FloatArray = table.exposed() @ kernel
    mixed: FloatArray = np.clip((calls + weight * prior) / (exposed + weight), 0.0, 1.0)
    return mixed


def _kernel(size: int) -> FloatArray:
    """Column g holds the weights of the ages around g, half-width g / 10, summing to one."""
    ages = np.arange(1, size + 1, dtype=np.float64)
    half = np.maximum(ages / 10.0, 1.0)
    weights = np.maximum(1.0 - np.abs(ages[:, None] - ages[None, :]) / half[None, :], 0.0)
    scaled: FloatArray = weights / weights.sum(axis=0, keepdims=True)
    return scaled


def call_chances(hazard: FloatArray, age: FloatArray, steps: int) -> FloatArray:
    """P(call in step h), h = 1..steps, (n, steps), from the hazard by idle age (n, R) and the age now (n,).

    Beyond R the hazard stays at that of R; beyond NEAR_STEPS the chance stays at that of NEAR_STEPS.
    """
    near = min(steps, NEAR_STEPS)
    fresh = _first_call(hazard, np.zeros_like(age), near)
    now = _first_call(hazard, age, near)
    renewal, chance = np.zeros_like(fresh), np.zeros_like(now)
    for h in range(near):
        earlier = renewal[:, :h][:, ::-1]  # r(h - j) for j = 1..h
        renewal[:, h] = fresh[:, h] + (fresh[:, :h] * earlier).sum(axis=1)
    for h in range(near):
        chance[:, h] = now[:, h] + (now[:, :h] * renewal[:, :h][:, ::-1]).sum(axis=1)
    far = np.repeat(chance[:, -1:], steps - near, axis=1)
    both: FloatArray = np.concatenate([chance, far], axis=1)
    return np.minimum(both, 1.0)


def _first_call(hazard: FloatArray, age: FloatArray, steps: int) -> FloatArray:
    """P(the next call comes exactly in step h), (n, steps), given `age` silent steps so far."""
    ages = age[:, None].astype(np.int64) + np.arange(steps)[None, :]
    at = np.take_along_axis(hazard, np.minimum(ages, hazard.shape[1] - 1), axis=1)
    survived = np.cumprod(1.0 - at, axis=1)
    before = np.concatenate([np.ones((len(age), 1)), survived[:, :-1]], axis=1)
    first: FloatArray = at * before
    return first


@dataclass(frozen=True, slots=True)
class Hazard:
    """The forecaster: idle-time histogram, smoothed, with a prior; works from the first call on."""

    prior: HazardPrior = FLEET
    range_steps: int = RANGE
    name: str = "hazard"

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """A function never called in a known history of at least `range_steps` is expected to stay silent."""
        table = idle_table(batch.values, self.range_steps)
        ages = np.arange(1, self.range_steps + 1, dtype=np.float64)
        chance = call_chances(smoothed_hazard(table, self.prior.hazard(ages)[None, :]), table.age, steps)
        silent = (table.calls == 0) & (table.age >= self.range_steps)
        chance[silent] = 0.0
        sizes = newest_sizes(batch.values)
        quantiles, p_at_least = rare_demand(chance, sizes, levels)
        known = np.maximum((~np.isnan(sizes)).sum(axis=1), 1)
        typical = np.where(table.calls > 0, np.nansum(sizes, axis=1) / known, 1.0)
        reasons = [_why(table, row, bool(silent[row]), self.prior.source) for row in range(len(batch.names))]
        mean = chance * typical[:, None]
        return sane(Said(self.name, reasons), levels, mean=mean, quantiles=quantiles, p_at_least=p_at_least)


def _why(table: IdleTable, row: int, silent: bool, source: str) -> str:
    if silent:
        return f"never called in {int(table.age[row])} steps"
    gaps = int(table.counts[row].sum() + table.beyond[row])
    return f"silent for {int(table.age[row])} steps; {gaps} idle times of its own, rest as for {source}"

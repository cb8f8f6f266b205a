"""What to expect of a function of which nothing is known yet.

A new function inherits from those like it, as the others of its namespace. What is inherited is the hazard by idle age:
how likely is a call in a minute, after so many silent ones. Groups with few functions are drawn towards the fleet
(empirical Bayes with a fixed weight).

FLEET is the hazard of a fleet nobody has measured yet, h(age) = scale / (age + offset): the heavy-tailed gaps of public
traces, fitted by maximum likelihood on the Azure 2019 day exemplars with their multiplicity, no function counting for
more than 20 gaps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray
from prewarm.forecast.batch import ForecastBatch, Levels, Said, sane
from prewarm.forecast.distribution import rare_demand
from prewarm.forecast.local.histogram import idle_age, idle_table
from prewarm.forecast.series import SeriesBatch

GROUP_WEIGHT = 10.0  # functions' worth of fleet that a group's own figures are mixed with


@dataclass(frozen=True, slots=True)
class HazardPrior:
    """h(age) = scale / (age + offset) per minute of idle age; source: whose figures."""

    scale: float
    offset: float
    source: str

    def hazard(self, ages: FloatArray) -> FloatArray:
        """Chance of a call in the minute in which the idle age becomes `ages` (1 is the minute after a call)."""
        return np.clip(self.scale / (ages + self.offset), 0.0, 1.0)


FLEET = HazardPrior(scale=0.473, offset=0.229, source="public fleet")


def learn_prior(values: FloatArray, source: str, towards: HazardPrior = FLEET) -> HazardPrior:
    """The hazard scale of functions (n, T), NaN unknown, mixed with GROUP_WEIGHT functions' worth of `towards`."""
    table = idle_table(values, 240)
    ages = np.arange(1, 241, dtype=np.float64)
    expected = (table.exposed().sum(axis=0) / (ages + towards.offset)).sum()  # calls at scale 1
    calls = table.counts.sum()
    per_function = expected / max(1, values.shape[0])
    weight = GROUP_WEIGHT * max(per_function, 1e-9)
    scale = (calls + weight * towards.scale) / (expected + weight)
    return HazardPrior(float(scale), towards.offset, source)


@dataclass(frozen=True, slots=True)
class PriorForecaster:
    """Forecasts from a prior alone: what a function gets before it has a history of its own."""

    prior: HazardPrior = FLEET
    name: str = "prior"

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """The prior's hazard at each function's idle age (a function never called: since it is known)."""
        chance = self.prior.hazard(idle_age(batch.values)[:, None] + np.arange(1, steps + 1)[None, :])
        quantiles, p_at_least = rare_demand(chance, np.full((len(batch.names), 1), np.nan), levels)
        reasons = [f"no history of its own: as for {self.prior.source}"] * len(batch.names)
        return sane(Said(self.name, reasons), levels, mean=chance, quantiles=quantiles, p_at_least=p_at_least)

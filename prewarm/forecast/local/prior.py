"""What to expect of a function of which nothing is known yet.

A new function inherits from those like it: same owner, else same trigger, else the whole fleet. What is inherited is
the hazard by idle age: how likely is a call in a minute, after so many silent ones. Groups with few functions are drawn
towards the fleet (empirical Bayes with a fixed weight).

FLEET is the hazard of a fleet nobody has measured yet, h(age) = scale / (age + offset): the heavy-tailed gaps of public
traces, fitted by maximum likelihood on the Azure 2019 day exemplars with their multiplicity, no function counting for
more than 20 gaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class Kind:
    """What is known of a function before its first call."""

    trigger: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Priors:
    """Priors by owner and trigger over one of the fleet."""

    fleet: HazardPrior = FLEET
    by_trigger: Mapping[str, HazardPrior] = field(default_factory=dict)
    by_owner: Mapping[str, HazardPrior] = field(default_factory=dict)

    def of(self, kind: Kind) -> HazardPrior:
        """The closest prior: owner's, else trigger's, else the fleet's."""
        if kind.owner is not None and kind.owner in self.by_owner:
            return self.by_owner[kind.owner]
        if kind.trigger is not None and kind.trigger in self.by_trigger:
            return self.by_trigger[kind.trigger]
        return self.fleet


def learn_priors(values: FloatArray, kinds: Sequence[Kind], fallback: HazardPrior = FLEET) -> Priors:
    """Priors from histories (n, T), NaN unknown, and the kind of each function."""
    fleet = _fit(values, "this fleet", fallback)

    def grouped(label: str) -> dict[str, HazardPrior]:
        members: dict[str, list[int]] = {}
        for row, kind in enumerate(kinds):
            name = getattr(kind, label)
            if name is not None:
                members.setdefault(name, []).append(row)
        return {name: _fit(values[rows], f"{label} {name}", fleet) for name, rows in sorted(members.items())}

    return Priors(fleet, grouped("trigger"), grouped("owner"))


def _fit(values: FloatArray, source: str, towards: HazardPrior) -> HazardPrior:
    """The hazard scale of these functions, mixed with GROUP_WEIGHT functions of `towards`."""
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
    """Forecasts from the prior alone: what a function gets before it has a history of its own."""

    priors: Priors = field(default_factory=Priors)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    name: str = "prior"

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """The hazard of its group at the function's idle age (a function never called: since it is known)."""
        chosen = [self.priors.of(self.kinds.get(name, Kind())) for name in batch.names]
        age = idle_age(batch.values)
        ages = age[:, None] + np.arange(1, steps + 1)[None, :]
        chance = np.stack([p.hazard(ages[row]) for row, p in enumerate(chosen)]) if chosen else np.zeros((0, steps))
        quantiles, p_at_least = rare_demand(chance, np.full((len(chosen), 1), np.nan), levels)
        reasons = [f"no history of its own: as for {prior.source}" for prior in chosen]
        return sane(Said(self.name, reasons), levels, mean=chance, quantiles=quantiles, p_at_least=p_at_least)

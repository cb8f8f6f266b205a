"""Who the synthetic functions are before any call: popularity, duration, memory, app, shape and trigger.

Popularity, duration and memory follow the fitted marginals, popularity and duration with the rank correlation of the
real ones (a Gaussian copula). Triggers have the shares of the public sample; which shape a trigger has, and which
functions are likely to have which shape, is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.random import Generator

from prewarm.domain import FloatArray, IntArray
from prewarm.traces.generate.clock import DAY
from prewarm.traces.generate.shapes import PERIODS, timer_period
from prewarm.traces.generate.tables import fitted_tables, quantile_values

# chosen: how the functions with an http trigger divide into shapes
HTTP_SHAPES = {"once": 3, "intermittent": 8, "promotion": 4, "seasonal": 12, "growth": 3, "bursts": 6}
LARGEST_MEAN_CONCURRENCY = 50.0  # chosen: bounds the product of popularity and duration
PROMOTED_DURATION_MS = (20.0, 2000.0)  # chosen: interactive functions
SINGLE_FUNCTION_APPS = 0.54  # chosen: share of apps with one function; sizes are geometric
LARGEST_APP = 10


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Per function: calls a day, mean duration (whole ms), app (index), its memory (whole MB), shape, trigger."""

    daily_total: FloatArray
    duration_ms: FloatArray
    app: IntArray
    memory_mb: FloatArray
    shape: tuple[str, ...]
    trigger: tuple[str, ...]

    def of_shape(self, *shapes: str) -> list[int]:
        """Indices of the functions of some shapes, rising."""
        return [at for at, shape in enumerate(self.shape) if shape in shapes]


def draw_population(rng: Generator, functions: int) -> Population:
    """`functions` functions; the shares of the triggers hold to the nearest whole function."""
    tables = fitted_tables()
    rho = 2 * np.sin(np.pi / 6 * tables.popularity_duration_spearman)  # Spearman to Pearson, for a normal pair
    first, second = rng.standard_normal((2, functions))
    second = rho * first + np.sqrt(1 - rho**2) * second
    total = np.round(quantile_values(tables.levels, tables.daily_total, _probability(first)))
    duration = quantile_values(tables.levels, tables.duration_ms, _probability(second))
    pairs = _assign(rng, total, _pair_counts(functions, tables.trigger_shares))
    for at, (shape, _) in enumerate(pairs):
        if shape == "timer":
            total[at] = max(1, round(total[at] / DAY)) * DAY / timer_period(total[at])
        elif shape == "promotion":
            duration[at] = np.clip(duration[at], *PROMOTED_DURATION_MS)
    longest = LARGEST_MEAN_CONCURRENCY * DAY * 60_000 / total
    app = _draw_apps(rng, functions)
    memory = quantile_values(tables.levels, tables.memory_mb, rng.random(int(app.max()) + 1))
    return Population(
        daily_total=total,
        duration_ms=np.maximum(1, np.round(np.minimum(duration, longest))),
        app=app,
        memory_mb=np.round(memory)[app],
        shape=tuple(shape for shape, _ in pairs),
        trigger=tuple(trigger for _, trigger in pairs),
    )


def _probability(normal: FloatArray) -> FloatArray:
    """The standard normal's distribution function; the standard library's spares the service an import of scipy."""
    cdf = NormalDist().cdf
    return np.array([cdf(value) for value in normal.tolist()])


def _pair_counts(functions: int, shares: Mapping[str, float]) -> dict[tuple[str, str], int]:
    """How many functions have each (shape, trigger); largest remainders make the sum exact."""
    whole = sum(HTTP_SHAPES.values())
    wanted = {(shape, "http"): shares["http"] * part / whole for shape, part in HTTP_SHAPES.items()}
    wanted |= {("timer", "timer"): shares["timer"]}
    wanted |= {("bursts", trigger): shares[trigger] for trigger in ("storage", "event")}
    wanted |= {("chain", trigger): shares[trigger] for trigger in ("queue", "orchestration")}
    exact = {pair: functions * share for pair, share in wanted.items()}
    counts = {pair: int(value) for pair, value in exact.items()}
    by_remainder = sorted(exact, key=lambda pair: counts[pair] - exact[pair])
    for pair in by_remainder[: functions - sum(counts.values())]:
        counts[pair] += 1
    return counts


def _assign(rng: Generator, total: FloatArray, counts: Mapping[tuple[str, str], int]) -> list[tuple[str, str]]:
    """A pair for each function, drawn without replacement with the shape's preference for popularity as weight."""
    chosen: list[tuple[str, str]] = [("", "")] * len(total)
    free = np.arange(len(total))
    order = ("once", "timer", "intermittent", "promotion", "seasonal", "growth", "bursts", "chain")
    for pair in sorted(counts, key=lambda pair: (order.index(pair[0]), pair[1])):
        weight = _preference(pair[0], total[free])
        first = np.argsort(-np.log(rng.random(len(free))) / weight, kind="stable")[: counts[pair]]
        for at in free[first]:
            chosen[at] = pair
        free = np.delete(free, first)
    return chosen


def _preference(shape: str, total: FloatArray) -> FloatArray:
    """Chosen weights: a shape is taken by functions whose popularity it can have."""
    if shape == "timer":
        usual = DAY / PERIODS[np.newaxis, PERIODS <= 60]
        near = np.abs(total[:, np.newaxis] / usual - 1).min(axis=1)
        return np.where(near < 0.05, 8.0, np.where(total >= 20, 1.0, 0.5))
    if shape == "once":
        return 1 / total**2
    if shape == "intermittent":
        return np.where(total <= 100, 1.0, 0.01)
    if shape == "promotion":
        return np.where(total >= 50, 1.0, 0.02)
    return np.where(total >= 20, 1.0, 0.2) if shape in {"seasonal", "growth"} else np.ones(len(total))


def _draw_apps(rng: Generator, functions: int) -> IntArray:
    """An app for each function; sizes geometric, members anywhere in the list."""
    sizes = np.minimum(rng.geometric(SINGLE_FUNCTION_APPS, functions), LARGEST_APP)
    app = np.repeat(np.arange(functions), sizes)[:functions]
    return rng.permutation(app)

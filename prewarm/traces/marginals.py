"""Does a synthetic trace look like the real ones? Distances between its marginals and theirs, with limits.

Compared are the daily totals of functions on days with a call, mean durations, the memory of apps, and the shares of
the triggers. The reference is the fitted tables (always at hand) or the public files, where they are; the generator's
shapes (promotions, growth, bounds) move its marginals away from the tables that it draws from, so the check
is not one of a table against itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prewarm.domain import FloatArray, InputError
from prewarm.traces.detect import read_trace
from prewarm.traces.generate.clock import DAY
from prewarm.traces.generate.tables import fitted_tables, quantile_values
from prewarm.traces.lines import LineFile, first_header, named_rows
from prewarm.traces.model import Trace
from prewarm.traces.report import LoadLog

# how far the generator may stand from the real data; for the distances, the 1 % bound of a sample's own error is added
LIMITS = {"daily_total": 0.06, "duration_ms": 0.02, "memory_mb": 0.02, "trigger_shares": 0.01}
SAMPLING = 1.63  # Kolmogorov's asymptotic 1 % point, over the root of the number of functions (apps for memory)
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Real values, each with its weight, by the names of `LIMITS`; and the shares of the triggers."""

    values: Mapping[str, FloatArray]
    weights: Mapping[str, FloatArray]
    trigger_shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class MarginalCheck:
    """Largest distance of two distribution functions (Kolmogorov-Smirnov) or shares, and quantiles of both."""

    name: str
    distance: float
    limit: float
    synthetic: tuple[float, ...] = ()
    real: tuple[float, ...] = ()

    @property
    def met(self) -> bool:
        """Whether the distance is within the limit."""
        return self.distance <= self.limit


def check_marginals(trace: Trace, reference: Reference) -> tuple[MarginalCheck, ...]:
    """One check per marginal that a trace of whole days tells; quantiles are those of `QUANTILES`."""
    checks = []
    for name, told in _own_values(trace).items():
        values = told[np.isfinite(told)]
        if not len(values):
            continue  # a format that does not tell it cannot be off
        real, weight = reference.values[name], reference.weights[name]
        ones = np.ones(len(values))
        distance = ks_distance((values, ones), (real, weight))
        quantiles = [tuple(weighted_quantiles(*pair, QUANTILES).tolist()) for pair in ((values, ones), (real, weight))]
        independent = min(len(values), trace.functions)
        limit = LIMITS[name] + SAMPLING / independent**0.5
        checks.append(MarginalCheck(name, distance, limit, *quantiles))
    shares = {trigger: count / trace.functions for trigger, count in Counter(trace.trigger).items()}
    names = set(shares) | set(reference.trigger_shares)
    gap = max(abs(shares.get(name, 0.0) - reference.trigger_shares.get(name, 0.0)) for name in names)
    checks.append(MarginalCheck("trigger_shares", gap, max(LIMITS["trigger_shares"], 1 / trace.functions)))
    return tuple(checks)


def _own_values(trace: Trace) -> dict[str, FloatArray]:
    owner = np.repeat(np.arange(trace.functions), np.diff(trace.indptr))
    days = -(-trace.minutes // DAY)
    cell = owner * days + trace.minute // DAY
    totals = np.bincount(cell, weights=np.nan_to_num(trace.count.astype(np.float64)), minlength=trace.functions * days)
    memory_of_app = {key.partition("/")[0]: value for key, value in zip(trace.keys, trace.memory_mb, strict=True)}
    return {
        "daily_total": totals[totals > 0],
        "duration_ms": trace.duration_ms,
        "memory_mb": np.array(list(memory_of_app.values())),
    }


def fitted_reference(points: int = 10_000) -> Reference:
    """The fitted tables as values at evenly spaced probabilities, whole numbers as the files have them."""
    tables = fitted_tables()
    at = (np.arange(points) + 0.5) / points
    quantiles = {"daily_total": tables.daily_total, "duration_ms": tables.duration_ms, "memory_mb": tables.memory_mb}
    values = {
        name: np.maximum(1.0, np.round(quantile_values(tables.levels, quantile, at)))
        for name, quantile in quantiles.items()
    }
    return Reference(values, {name: np.ones(points) for name in values}, tables.trigger_shares)


def read_reference(folder: Path) -> Reference:
    """The public marginals in a folder of traces (azure2019-invitro); InputError where a file is missing."""
    azure = folder / "azure2019-invitro"
    if not azure.is_dir():
        raise InputError(f"{azure}: the public marginals are not there")
    multiplicity = azure / "day_sample1350_multiplicity.csv"
    counts = [name for name in first_header(multiplicity) if name.startswith("count_in_sample")]
    totals = _columns(multiplicity, ["daily_total", *counts])
    durations = _columns(azure / "durations_count_marginal.csv", ["Average"])[:, 0]
    memory = _columns(azure / "memory_marginal.csv", ["AverageAllocatedMb"])[:, 0]
    sample = read_trace(azure / "sample100_invocations.csv")
    return Reference(
        {"daily_total": totals[:, 0], "duration_ms": np.maximum(durations, 1.0), "memory_mb": memory},
        {
            "daily_total": totals[:, 1:].sum(axis=1),
            "duration_ms": np.ones(len(durations)),
            "memory_mb": np.ones(len(memory)),
        },
        {trigger: count / sample.functions for trigger, count in Counter(sample.trigger).items()},
    )


def _columns(path: Path, names: list[str]) -> FloatArray:
    log = LoadLog(strict=True)
    rows = []
    with LineFile(path, log) as lines:
        for line, cells in named_rows(lines, log, names):
            try:
                rows.append([float(cell) for cell in cells])
            except ValueError:
                log.reject(path, line, "must be numbers")
    return np.array(rows)


def ks_distance(first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]) -> float:
    """Largest difference of two weighted empirical distribution functions, each as (values, weights)."""
    grid = np.unique(np.concatenate((first[0], second[0])))
    return float(np.max(np.abs(_cdf(*first, grid) - _cdf(*second, grid))))


def _cdf(values: FloatArray, weights: FloatArray, grid: FloatArray) -> FloatArray:
    order = np.argsort(values, kind="stable")
    cumulative = np.concatenate(([0.0], np.cumsum(weights[order])))
    below: FloatArray = cumulative[np.searchsorted(values[order], grid, side="right")] / cumulative[-1]
    return below


def weighted_quantiles(values: FloatArray, weights: FloatArray, levels: tuple[float, ...]) -> FloatArray:
    """The smallest value whose share of the weight is at least each level."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    return values[order][np.minimum(np.searchsorted(share, np.array(levels) - 1e-12), len(values) - 1)]

"""Makes stated chances honest: conformal shifts for quantiles, isotonic or logistic maps for probabilities.

Split conformal: a quantile is shifted by the like quantile of its own past misses, which guarantees its coverage for
exchangeable data (Romano, Patterson, Candès, NeurIPS 2019, equation 6, one side at a time). Demand drifts, so the
level itself is moved after every outcome (adaptive conformal inference: Gibbs and Candès, NeurIPS 2021, equation 2),
per function and vectorised. Isotonic regression (pool adjacent violators) needs many outcomes; the logistic map
(Platt 1999) two numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from prewarm.domain import BoolArray, FloatArray
from prewarm.forecast.batch import Levels
from prewarm.forecast.metrics import covered

GAMMA = 0.02  # how fast an adaptive level moves
LOGIT_BOUND = 1e-6


def conformal_shifts(actual: FloatArray, quantiles: FloatArray, levels: Levels) -> FloatArray:
    """What to add to each level's quantile, (L,), from outcomes (m,) and the quantiles forecast for them (m, L).

    Unknown outcomes are left out; without any, nothing is shifted. With m outcomes the level is raised to
    ceil((m + 1) level) / m, at most the largest miss.
    """
    known = ~np.isnan(actual)
    misses = actual[known, None] - quantiles[known]
    m = misses.shape[0]
    if m == 0:
        return np.zeros(len(levels))
    ranks = np.clip(np.ceil((m + 1) * np.asarray(levels)).astype(np.int64) - 1, 0, m - 1)
    ordered = np.sort(misses, axis=0)
    shifts: FloatArray = ordered[ranks, np.arange(len(levels))]
    return shifts


def shifted(quantiles: FloatArray, shifts: FloatArray, levels: Levels) -> FloatArray:
    """Quantiles (..., L) plus shifts (L,) or (n, 1, L), made non-negative and rising with their level again."""
    moved = np.maximum(quantiles + shifts, 0.0)
    order = np.argsort(np.asarray(levels), kind="stable")
    out = np.empty_like(moved)
    out[..., order] = np.maximum.accumulate(moved[..., order], axis=-1)
    return out


@dataclass(frozen=True, slots=True)
class AdaptiveLevel:
    """The level to ask a forecaster for, per function (n,), so that `target` of its outcomes fall below in the end."""

    target: float
    asked: FloatArray
    gamma: float = GAMMA

    @classmethod
    def new(cls, n: int, target: float, gamma: float = GAMMA) -> AdaptiveLevel:
        """Every function starts by asking for the target itself."""
        return cls(target, np.full(n, target), gamma)

    def after(self, actual: FloatArray, quantile: FloatArray) -> AdaptiveLevel:
        """The level after one outcome (n,) against the quantile that was forecast; unknown outcomes change nothing."""
        above = np.where(np.isnan(actual), 1.0 - self.target, (actual > quantile).astype(np.float64))
        asked = np.clip(self.asked + self.gamma * (above - (1.0 - self.target)), 0.001, 0.999)
        return AdaptiveLevel(self.target, asked, self.gamma)


@dataclass(frozen=True, slots=True)
class Isotonic:
    """A rising step map of probabilities: at[i] applies from `start[i]` on, linear in between."""

    start: FloatArray
    at: FloatArray

    @classmethod
    def fit(cls, chance: FloatArray, happened: FloatArray | BoolArray) -> Isotonic:
        """Least squares among rising maps, from stated chances (m,) and outcomes 0/1 (m,)."""
        order = np.argsort(chance, kind="stable")
        places, first = np.unique(chance[order], return_index=True)
        if not len(places):
            return cls(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
        weights = np.diff(np.append(first, len(order))).astype(np.float64)
        means = np.add.reduceat(happened[order].astype(np.float64), first) / weights
        return cls(places, _pooled(means, weights))

    def __call__(self, chance: FloatArray) -> FloatArray:
        """The calibrated chance."""
        mapped: FloatArray = np.interp(chance, self.start, self.at)
        return mapped


def _pooled(means: FloatArray, weights: FloatArray) -> FloatArray:
    """Pool adjacent violators: the rising sequence nearest to `means`."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, members
    for mean, weight in zip(means.tolist(), weights.tolist(), strict=True):
        members = 1
        while blocks and blocks[-1][0] >= mean:
            other, heavy, count = blocks.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, members = weight + heavy, members + count
        blocks.append((mean, weight, members))
    return np.repeat([b[0] for b in blocks], [b[2] for b in blocks])


@dataclass(frozen=True, slots=True)
class Logistic:
    """sigmoid(slope x logit(chance) + offset); slope at least 0, so the order of chances is kept."""

    slope: float = 1.0
    offset: float = 0.0

    @classmethod
    def fit(cls, chance: FloatArray, happened: FloatArray | BoolArray, rounds: int = 50) -> Logistic:
        """Maximum likelihood by Newton's method, drawn to the identity by a weak prior (so one class only is fine)."""
        terms = np.stack([_logit(chance), np.ones(len(chance))], axis=1)
        y = happened.astype(np.float64)
        at = np.array([1.0, 0.0])
        for _ in range(rounds):
            step = _newton_step(terms, y, at)
            while np.abs(step).max() > 1e-9 and _loss(terms, y, at + step) > _loss(terms, y, at):
                step = step / 2.0
            at = at + step
            if np.abs(step).max() < 1e-8:
                break
        return cls(max(float(at[0]), 0.0), float(at[1]))

    def __call__(self, chance: FloatArray) -> FloatArray:
        """The calibrated chance."""
        return _sigmoid(self.slope * _logit(chance) + self.offset)


IDENTITY = np.array([1.0, 0.0])  # slope and offset that leave a chance as it is; the prior's centre, weight 1


def _newton_step(terms: FloatArray, y: FloatArray, at: FloatArray) -> FloatArray:
    p = _sigmoid(terms @ at)
    gradient = terms.T @ (y - p) - (at - IDENTITY)
    curvature = (terms * (p * (1.0 - p))[:, None]).T @ terms + np.eye(2)
    step: FloatArray = np.linalg.solve(curvature, gradient)
    return step


def _loss(terms: FloatArray, y: FloatArray, at: FloatArray) -> float:
    """Negative log likelihood plus the prior's pull."""
    value = terms @ at
    return float((np.logaddexp(0.0, value) - y * value).sum() + 0.5 * ((at - IDENTITY) ** 2).sum())


def _logit(chance: FloatArray) -> FloatArray:
    inside = np.clip(chance, LOGIT_BOUND, 1.0 - LOGIT_BOUND)
    value: FloatArray = np.log(inside / (1.0 - inside))
    return value


def _sigmoid(value: FloatArray) -> FloatArray:
    return 0.5 * (1.0 + np.tanh(0.5 * value))


@dataclass(frozen=True, slots=True)
class Coverage:
    """Streaming share of outcomes inside an interval; `share` is NaN until one is known."""

    inside: float = 0.0
    seen: int = 0

    def after(self, actual: FloatArray, low: FloatArray, high: FloatArray) -> Coverage:
        """With these outcomes taken in; unknown ones are not counted."""
        hits = covered(actual, low, high)
        return Coverage(self.inside + float(np.nansum(hits)), self.seen + int((~np.isnan(hits)).sum()))

    @property
    def share(self) -> float:
        """Share inside so far."""
        return self.inside / self.seen if self.seen else float("nan")


@dataclass(slots=True)
class Reliability:
    """Streaming reliability table: stated chances in ten bins against how often it happened."""

    stated: FloatArray = field(default_factory=lambda: np.zeros(10))
    happened: FloatArray = field(default_factory=lambda: np.zeros(10))
    seen: FloatArray = field(default_factory=lambda: np.zeros(10))

    def add(self, chance: FloatArray, happened: FloatArray) -> None:
        """Take in stated chances and outcomes 0/1 of the same shape; unknown outcomes (NaN) are left out."""
        known = ~np.isnan(happened)
        stated, outcome = chance[known], happened[known]
        place = np.minimum((stated * 10).astype(np.int64), 9)
        self.stated += np.bincount(place, weights=stated, minlength=10)
        self.happened += np.bincount(place, weights=outcome, minlength=10)
        self.seen += np.bincount(place, minlength=10)

    @property
    def error(self) -> float:
        """Expected calibration error: mean |stated - happened| over bins, weighted by use; NaN when empty."""
        total = self.seen.sum()
        return float(np.abs(self.stated - self.happened).sum() / total) if total else float("nan")

"""Makes stated chances honest: conformal shifts for quantiles, a logistic map for probabilities.

Split conformal: a quantile is shifted by the like quantile of its own past misses, which guarantees its coverage for
exchangeable data (Romano, Patterson, Candès, NeurIPS 2019, equation 6, one side at a time). Chances go through a
logistic map of two numbers (Platt 1999), so few outcomes are enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import BoolArray, FloatArray
from prewarm.forecast.batch import Levels

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

"""What each function teaches about the model's own errors: a per-function recalibration that learns as minutes pass.

The global model is right on average, not for every function: one keeps its timer better than most, another is noisier.
So per row (function and level) a piecewise-linear correction of the logit is carried along, updated after every minute
by one step of a diagonal Gaussian filter on the log-likelihood (Bayesian logistic regression with a Laplace step;
compare Zhang 2001, "online Bayesian logistic regression"). It starts at no correction. Pure functions; no numba.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import BoolArray, Float32Array, FloatArray, IntArray

KNOTS = np.array([-5.0, -3.0, -2.0, -1.0, 0.0, 1.5, 4.0])  # logits
PRIOR_VARIANCE = 0.2
FORGETTING = 0.998  # variance grows back by this each minute, never above the prior
_CLIP = 1e-5


@dataclass(frozen=True, slots=True)
class Recalibration:
    """Corrections of n rows. weight, variance: (n, len(KNOTS)) float32, the logit added at each knot and its doubt."""

    weight: Float32Array
    variance: Float32Array

    @classmethod
    def fresh(cls, rows: int) -> Recalibration:
        """No correction, prior doubt."""
        shape = (rows, KNOTS.size)
        return cls(np.zeros(shape, np.float32), np.full(shape, PRIOR_VARIANCE, np.float32))

    def grown(self, rows: int) -> Recalibration:
        """The same with fresh rows at the end; rows never shrink."""
        added = max(0, rows - len(self.weight))
        fresh = Recalibration.fresh(added)
        return Recalibration(np.r_[self.weight, fresh.weight], np.r_[self.variance, fresh.variance])


def corrected(state: Recalibration, row: IntArray, p: Float32Array) -> Float32Array:
    """Probabilities p (m,) of the state's rows `row` (m,) after correction."""
    left, share, logit = _place(p)
    return _chance(_moved(state, row, left, share, logit)).astype(np.float32)


def learned(state: Recalibration, row: IntArray, p: Float32Array, happened: BoolArray) -> Recalibration:
    """The state after the outcome; p are the model's own probabilities, uncorrected; rows not listed stay.

    `row` holds each row once at most. A minute whose outcome is unknown must not be listed.
    """
    left, share, logit = _place(p)
    now = _chance(_moved(state, row, left, share, logit))
    curvature = now * (1 - now)
    weight, variance = state.weight.copy(), state.variance.copy()
    relaxed = np.minimum(variance[row] / np.float32(FORGETTING), np.float32(PRIOR_VARIANCE))
    variance[row] = relaxed
    sides = ((left, 1 - share), (left + 1, share))
    doubt = sum(np.square(part) * variance[row, knot] for knot, part in sides)
    gain = (happened - now) / (1 + curvature * doubt)
    for knot, part in sides:
        old = variance[row, knot]
        weight[row, knot] += (old * part * gain).astype(np.float32)
        variance[row, knot] = old - (np.square(old * part) * curvature / (1 + curvature * doubt)).astype(np.float32)
    return Recalibration(weight, variance)


def _place(p: Float32Array) -> tuple[IntArray, FloatArray, FloatArray]:
    """Knot to the left of each logit, share of the way to the next, and the logit."""
    safe = np.clip(p.astype(np.float64), _CLIP, 1 - _CLIP)
    logit = np.log(safe / (1 - safe))
    inside = np.clip(logit, KNOTS[0], KNOTS[-1])
    left = np.clip(np.searchsorted(KNOTS, inside, side="right") - 1, 0, KNOTS.size - 2)
    return left, (inside - KNOTS[left]) / (KNOTS[left + 1] - KNOTS[left]), logit


def _moved(state: Recalibration, row: IntArray, left: IntArray, share: FloatArray, logit: FloatArray) -> FloatArray:
    at_left, at_right = state.weight[row, left], state.weight[row, left + 1]
    return np.asarray(logit + (1 - share) * at_left + share * at_right)


def _chance(logit: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-logit)))

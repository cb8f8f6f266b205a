"""The nearest change of a single factor that would have put another cluster first."""

from __future__ import annotations

import numpy as np

from federation.placement.answer import Flip
from federation.placement.scorer import FACTORS
from prewarm.domain import FloatArray

_DUST = 1e-12


def nearest_flip(names: tuple[str, ...], values: FloatArray, weights: FloatArray, scores: FloatArray) -> Flip | None:
    """The smallest rise of another cluster's factor, or fall of the first one's, after which both score the same.

    values: (c, F), weights: (F,), scores: (c,), the first cluster in front. A change of d in factor f moves the score
    by w_f d, and a factor stays in 0..1; None where no single factor suffices.
    """
    if len(names) < 2:
        return None
    gap = (scores[0] - scores[1:])[:, None]
    need = np.divide(gap, weights, out=np.full((len(gap), len(weights)), np.inf), where=weights > 0)
    rise = np.where(values[1:] + need <= 1 + _DUST, need, np.inf)
    fall = np.where(values[0] - need >= -_DUST, need, np.inf)
    at, factor = np.unravel_index(int(np.argmin(rise)), rise.shape)
    best, fallen = float(rise[at, factor]), float(fall.min())
    if not np.isfinite(min(best, fallen)):
        return None
    if fallen < best:
        return Flip(names[0], FACTORS[int(np.unravel_index(int(np.argmin(fall)), fall.shape)[1])], -fallen)
    return Flip(names[int(at) + 1], FACTORS[int(factor)], best)

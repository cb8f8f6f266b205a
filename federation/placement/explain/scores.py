"""Scores with the factors that they are made of: contributions sum to the score by construction."""

from __future__ import annotations

from functools import partial

import numpy as np

from federation.placement.answer import ClusterScore, Factor
from federation.placement.scorer import FACTORS
from prewarm.domain import FloatArray, IntArray

RESIDUAL = "learned"
"""Name of the factor that shows a learned residual; its weight is 1."""
_FACTOR = partial(tuple.__new__, Factor)
_SCORE = partial(tuple.__new__, ClusterScore)
"""Made from their parts without a call into Python: a decision over a hundred clusters has 900 factors."""


def cluster_scores(
    names: tuple[str, ...], values: FloatArray, *, weights: FloatArray, residual: FloatArray | None, room: IntArray
) -> tuple[ClusterScore, ...]:
    """A record for each cluster in the order given; values: (c, F), weights: (F,), residual: (c,), room: (c,)."""
    scores, labels, heavy = totals(values, weights, residual), list(FACTORS), weights.tolist()
    if residual is not None:
        values = np.column_stack([values, residual])
        labels, heavy = [*labels, RESIDUAL], [*heavy, 1.0]
    wide, count = len(labels), len(names)
    flat = list(map(_FACTOR, zip(labels * count, values.ravel().tolist(), heavy * count, strict=True)))
    factors = [tuple(flat[at : at + wide]) for at in range(0, wide * count, wide)]
    return tuple(map(_SCORE, zip(names, scores.tolist(), factors, room.tolist(), strict=True)))


def totals(values: FloatArray, weights: FloatArray, residual: FloatArray | None) -> FloatArray:
    """The scores, (c,)."""
    scores: FloatArray = values @ weights
    return scores if residual is None else scores + np.asarray(residual, dtype=np.float64)

"""Scores from the factors' values: contributions sum to the score by construction."""

from __future__ import annotations

import numpy as np

from federation.placement.scorer import FACTORS
from federation.placement.scores import Scores
from prewarm.domain import FloatArray, IntArray

RESIDUAL = "learned"
"""Name of the factor that shows a learned residual; its weight is 1."""


def cluster_scores(
    names: tuple[str, ...], values: FloatArray, *, weights: FloatArray, residual: FloatArray | None, room: IntArray
) -> Scores:
    """The scores of clusters in the order given; values: (c, F), weights: (F,), residual: (c,), room: (c,)."""
    scores = totals(values, weights, residual)
    labels: tuple[str, ...] = FACTORS
    if residual is not None:
        values = np.column_stack([values, residual])
        labels, weights = (*FACTORS, RESIDUAL), np.append(weights, 1.0)
    return Scores(names, labels, weights=weights, values=values, totals=scores, room=room)


def totals(values: FloatArray, weights: FloatArray, residual: FloatArray | None) -> FloatArray:
    """The scores, (c,)."""
    scores: FloatArray = values @ weights
    return scores if residual is None else scores + np.asarray(residual, dtype=np.float64)

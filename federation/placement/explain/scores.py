"""Scores with the factors that they are made of: contributions sum to the score by construction."""

from __future__ import annotations

from functools import partial

import numpy as np

from federation.placement.answer import ClusterScore, Factor
from federation.placement.scorer import FACTORS
from prewarm.domain import FloatArray, IntArray

_FACTOR = partial(tuple.__new__, Factor)
"""A factor from its three parts, without a call into Python: a decision over a hundred clusters makes 900."""
RESIDUAL = "learned"
"""Name of the factor that shows a learned residual; its weight is 1."""


def cluster_scores(
    names: tuple[str, ...], values: FloatArray, *, weights: FloatArray, residual: FloatArray | None, room: IntArray
) -> tuple[ClusterScore, ...]:
    """A record for each cluster in the order given; values: (c, F), weights: (F,), residual: (c,), room: (c,)."""
    scores = totals(values, weights, residual).tolist()
    heavy, rooms = weights.tolist(), room.tolist()
    extra = [None] * len(names) if residual is None else residual.tolist()
    return tuple(
        ClusterScore(name, score, _factors(row, heavy, learned), fits)
        for name, score, row, learned, fits in zip(names, scores, values.tolist(), extra, rooms, strict=True)
    )


def totals(values: FloatArray, weights: FloatArray, residual: FloatArray | None) -> FloatArray:
    """The scores, (c,)."""
    scores: FloatArray = values @ weights
    return scores if residual is None else scores + np.asarray(residual, dtype=np.float64)


def _factors(values: list[float], weights: list[float], learned: float | None) -> tuple[Factor, ...]:
    factors = tuple(map(_FACTOR, zip(FACTORS, values, weights, strict=True)))
    return factors if learned is None else (*factors, Factor(RESIDUAL, learned, 1.0))

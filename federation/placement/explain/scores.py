"""Scores with the factors that they are made of: contributions sum to the score by construction.

They are kept as the arrays that they were computed in. A decision over a hundred clusters has nine hundred factors, and
of most decisions nobody reads more than the first two scores; what is read is made then, and what is stored is written
from the arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import overload

import numpy as np

from federation.placement.answer import ClusterScore, Factor
from federation.placement.scorer import FACTORS
from prewarm.domain import FloatArray, IntArray

RESIDUAL = "learned"
"""Name of the factor that shows a learned residual; its weight is 1."""
_FACTOR = partial(tuple.__new__, Factor)
_SCORE = partial(tuple.__new__, ClusterScore)
"""Made from their parts without a call into Python."""


class Scores(Sequence[ClusterScore]):
    """Scores of c clusters over F factors, in the order given; nothing changes after it is made.

    clusters: (c,) names. labels, weights: (F,). values: (c, F). totals: (c,). room: (c,) instances that fit.
    """

    __slots__ = ("clusters", "labels", "room", "totals", "values", "weights")

    def __init__(
        self,
        clusters: tuple[str, ...],
        labels: tuple[str, ...],
        *,
        weights: FloatArray,
        values: FloatArray,
        totals: FloatArray,
        room: IntArray,
    ) -> None:
        self.clusters, self.labels, self.weights = clusters, labels, weights
        self.values, self.totals, self.room = values, totals, room

    def __len__(self) -> int:
        return len(self.clusters)

    @overload
    def __getitem__(self, at: int) -> ClusterScore: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[ClusterScore, ...]: ...
    def __getitem__(self, at: int | slice) -> ClusterScore | tuple[ClusterScore, ...]:
        if isinstance(at, slice):
            return tuple(self)[at]
        factors = tuple(map(_FACTOR, zip(self.labels, self.values[at].tolist(), self.weights.tolist(), strict=True)))
        return ClusterScore(self.clusters[at], float(self.totals[at]), factors, int(self.room[at]))

    def __iter__(self) -> Iterator[ClusterScore]:
        wide, count, heavy = len(self.labels), len(self), self.weights.tolist()
        flat = list(map(_FACTOR, zip(self.labels * count, self.values.ravel().tolist(), heavy * count, strict=True)))
        factors = [tuple(flat[at : at + wide]) for at in range(0, wide * count, wide)]
        return map(_SCORE, zip(self.clusters, self.totals.tolist(), factors, self.room.tolist(), strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash((self.clusters, self.totals.tobytes()))

    def __repr__(self) -> str:
        return f"Scores{tuple(self)!r}"

    @property
    def columns(self) -> Mapping[str, object]:
        """The same as columns, for writing: figures stay arrays."""
        return {
            "clusters": self.clusters,
            "labels": self.labels,
            "weights": self.weights,
            "values": self.values,
            "scores": self.totals,
            "room": self.room,
        }


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

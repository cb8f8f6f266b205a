"""Scores with their factors, kept as the arrays that they were computed in.

A decision over a hundred clusters has nine hundred factors, and of most decisions nobody reads more than the first two
scores. What is read is made then; what is stored is written from the arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, overload

import numpy as np

from prewarm.domain import FloatArray, IntArray


class Factor(NamedTuple):
    """One named factor of one cluster's score; value in 0..1, higher is better. A decision makes hundreds of them."""

    name: str
    value: float
    weight: float

    @property
    def contribution(self) -> float:
        """What it adds to the score."""
        return self.value * self.weight


class ClusterScore(NamedTuple):
    """A cluster that passed the filters: its score, the factors that sum to it, and instances that fit there now."""

    cluster: str
    score: float
    factors: tuple[Factor, ...]
    room: int


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


_FACTOR = partial(tuple.__new__, Factor)
_SCORE = partial(tuple.__new__, ClusterScore)
"""Made from their parts without a call into Python."""
NO_SCORES = Scores(
    (), (), weights=np.zeros(0), values=np.zeros((0, 0)), totals=np.zeros(0), room=np.zeros(0, dtype=np.int64)
)
"""Of a decision in which no cluster passed."""

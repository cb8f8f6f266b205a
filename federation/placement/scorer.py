"""The seam of the learned policy: who gives the factors their weights.

The fixed rule answers with the configured weights. A learned scorer sees the same question and answers with weights for
this workload (and possibly a bounded residual per cluster), or declines with a reason, and then the rule decides in the
same request. Scorers are found by the entry-point group `prewarm.scorers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from federation.placement.workload import Workload
from federation.snapshot import Snapshot
from prewarm.domain import FloatArray

FACTORS = (
    "fit",  # share of free room that is left for others after placement, at node level
    "fragmentation",  # fragmentation gradient (FGD, ATC'23, eq. 2-4), turned to higher is better
    "future_fill",  # change of what the forecast mix could still place
    "network",  # closeness to callers and callees, weighted by calls and payload
    "warm",  # share of the wanted instances that are warm there already
    "price",  # cheapness of capacity
    "headroom",  # room left for the forecast of what already runs there
    "steadiness",  # share of the wanted instances that need not move
    "risk",  # freshness of data, health, concentration
)
"""The named factors in their order; every array of weights or values has this many columns."""


@dataclass(frozen=True, slots=True)
class Question:
    """One workload over the clusters that passed the filters. values: (c, F) factors in 0..1; room: (c,) instances."""

    snapshot: Snapshot
    workload: Workload
    clusters: tuple[str, ...]
    values: FloatArray
    room: FloatArray
    now: float


@dataclass(frozen=True, slots=True)
class Weighing:
    """Weights (F,), none negative; spread temperature (0: all to the best, higher: evener); residual (c,) or None."""

    weights: FloatArray
    temperature: float
    name: str
    version: str
    residual: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Declined:
    """The scorer will not judge this one."""

    why: str


class Scorer(Protocol):
    """Weights for a question. Must answer within the deadline that it was made with, else decline."""

    def weigh(self, question: Question) -> Weighing | Declined:
        """Weights for this workload, or a reason not to."""
        ...

"""How many instances each cluster gets: the division under everything that bounds it, then what safety leaves of it.

First come places that are there: what runs, plus room on nodes. Only what those cannot take goes to nodes that
autoscaling would have to add, and the answer says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from federation.placement.divide.division import Wish, divide_many
from federation.placement.divide.limits import ROUND, Limits
from federation.placement.divide.ties import ties_of
from federation.placement.factors.judged import Judged
from federation.placement.safety.limits import Allowance, Change, shrink
from federation.placement.safety.overrides import Bounds, bounds_of, spoken_of
from prewarm.domain import FloatArray, IntArray

_UNLIMITED = 1 << 40


@dataclass(frozen=True, slots=True)
class Allotted:
    """counts: (C,) instances of each cluster; waiting: (C,) those of them on nodes yet to come; replicas: asked in all.

    preferred: (C,) what it would be if the better clusters had more room, None where nothing overflows. before: (C,)
    what ran there. tie: (C,) who goes first among equals. vetoes and said: what safety and failback have to say.
    """

    counts: IntArray
    waiting: IntArray
    preferred: IntArray | None
    before: IntArray
    tie: FloatArray
    replicas: int
    bounds: Bounds
    vetoes: tuple[str, ...]
    said: tuple[str, ...]

    @property
    def unplaced(self) -> int:
        """Instances that fit nowhere."""
        return max(0, self.replicas - int(self.counts.sum()))


def allot(judged: Judged) -> Allotted:
    """The division of one workload."""
    case, workload = judged.case, judged.case.workload
    before = np.where(case.gone, 0, case.before)
    room = _room(judged, before)
    found = spoken_of(case.terms.overrides, workload.key, now=case.now)
    free = np.full_like(before, _UNLIMITED)
    bounds = bounds_of(found, case.fleet.names, before=before, replicas=workload.replicas, limit=free)
    kept = np.where(judged.sieved.unsure, before, 0)
    least, most = np.maximum(bounds.least, kept), np.maximum(np.minimum(bounds.most, room), kept)
    tie = ties_of([workload.key], case.fleet.names)
    limits = Limits(least[None, :], most[None, :], case.back.anchor[None, :], tie)
    divided = _spread if workload.splittable else _together
    counts, waiting = divided(judged, bounds, limits)
    target, vetoes = _safe(judged, before, counts + waiting, bounds)
    return Allotted(
        counts=target,
        waiting=np.minimum(waiting, target),
        preferred=_preferred(judged, bounds, counts, limits),
        before=case.before,
        tie=limits.tie[0],
        replicas=bounds.replicas,
        bounds=bounds,
        vetoes=vetoes,
        said=case.back.said,
    )


def _room(judged: Judged, before: IntArray) -> IntArray:
    """Instances that each cluster may hold: all that fit where it passed, what runs there where that stays."""
    case, spread = judged.case, judged.case.workload.spread
    room = np.where(judged.sieved.open, case.occupied + case.fits, np.where(judged.sieved.held, before, 0))
    most = _UNLIMITED if spread.max_per_cluster is None else spread.max_per_cluster
    return np.minimum(np.minimum(room, most), case.back.most)


def _spread(judged: Judged, bounds: Bounds, limits: Limits) -> tuple[IntArray, IntArray]:
    """Instances on what is there, and the rest on nodes that autoscaling would add."""
    counts = _divided(judged, bounds.replicas, limits)
    rest, declared = bounds.replicas - int(counts.sum()), _declared(judged, bounds, counts)
    if rest <= 0 or not declared.any():
        return counts, np.zeros_like(counts)
    zero = np.zeros_like(limits.least)
    return counts, _divided(judged, rest, Limits(zero, declared[None, :], zero, limits.tie))


def _divided(judged: Judged, total: int, limits: Limits) -> IntArray:
    wish = Wish(
        total=np.array([total], dtype=np.int64),
        scores=judged.worth[None, :],
        temperature=np.array([judged.weighing.temperature]),
        stay=np.array([judged.stay]),
        clusters=np.array([judged.case.workload.spread.min_clusters], dtype=np.int64),
    )
    counts: IntArray = divide_many(wish, limits)[0]
    return counts


def _declared(judged: Judged, bounds: Bounds, counts: IntArray) -> IntArray:
    """Room on nodes yet to come, under the same bounds as everything else."""
    most = judged.case.workload.spread.max_per_cluster
    limit = np.minimum(bounds.most, _UNLIMITED if most is None else most)
    return np.where(judged.sieved.open, np.minimum(judged.case.declared, np.maximum(limit - counts, 0)), 0)


def _together(judged: Judged, bounds: Bounds, limits: Limits) -> tuple[IntArray, IntArray]:
    """All instances in the best cluster that takes them all, on nodes that are there if any cluster has those."""
    total, most, zero = bounds.replicas, limits.most[0], np.zeros_like(limits.most[0])
    later = _declared(judged, bounds, np.minimum(most, total))
    worth = np.round(judged.worth + judged.stay * (limits.before[0] > 0), ROUND)
    order = np.lexsort((-limits.tie[0], -worth, most < total, most + later < total))
    if not len(order) or most[order[0]] + later[order[0]] < total:
        return zero, zero
    counts, waiting = zero.copy(), zero.copy()
    counts[order[0]] = min(total, int(most[order[0]]))
    waiting[order[0]] = total - counts[order[0]]
    return counts, waiting


def _preferred(judged: Judged, bounds: Bounds, counts: IntArray, limits: Limits) -> IntArray | None:
    """The division if no cluster that passed were full; None where that makes no difference."""
    full = judged.sieved.open & (counts >= limits.most[0]) & (bounds.most > limits.most[0])
    if judged.weighing.temperature > 0 or not judged.case.workload.splittable or not full.any():
        return None
    most = judged.case.workload.spread.max_per_cluster
    limit = np.minimum(bounds.most, _UNLIMITED if most is None else most)
    roomy = np.where(judged.sieved.open, np.maximum(limit, limits.most[0]), limits.most[0])
    ideal = _divided(judged, bounds.replicas, replace(limits, most=roomy[None, :]))
    return ideal if (ideal != counts).any() else None


def _safe(judged: Judged, before: IntArray, target: IntArray, bounds: Bounds) -> tuple[IntArray, tuple[str, ...]]:
    terms = judged.case.terms
    told = (bounds.most < before) | (bounds.least > before)
    change = Change(judged.case.fleet.names, before, target, judged.worth, told)
    allowance = Allowance(
        moves=terms.policy.moves_per_hour - terms.moved,
        step_down=terms.step_down,
        disruptions=terms.disruptions,
        paused=terms.policy.paused,
    )
    return shrink(change, allowance)

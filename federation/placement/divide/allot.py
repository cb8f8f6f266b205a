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
    counts = _divided(judged, bounds.replicas, limits, clusters=judged.case.workload.spread.min_clusters)
    if int(counts.sum()) >= bounds.replicas:
        return counts, np.zeros_like(counts)
    counts = counts + _further(judged, bounds.replicas - int(counts.sum()), _resting(judged, bounds, counts), limits)
    waiting = _further(judged, bounds.replicas - int(counts.sum()), _declared(judged, bounds, counts), limits)
    return counts, waiting


def _further(judged: Judged, rest: int, room: IntArray, limits: Limits) -> IntArray:
    """What is left over, divided over room of the second choice."""
    if rest <= 0 or not room.any():
        return np.zeros_like(room)
    zero = np.zeros_like(limits.least)
    return _divided(judged, rest, Limits(zero, room[None, :], zero, limits.tie), clusters=1)


def _divided(judged: Judged, total: int, limits: Limits, *, clusters: int) -> IntArray:
    wish = Wish(
        total=np.array([total], dtype=np.int64),
        scores=judged.worth[None, :],
        temperature=np.array([judged.weighing.temperature]),
        stay=judged.stay[None, :],
        clusters=np.array([clusters], dtype=np.int64),
    )
    counts: IntArray = divide_many(wish, limits)[0]
    return counts


def _declared(judged: Judged, bounds: Bounds, counts: IntArray) -> IntArray:
    """Room on nodes yet to come, under the same bounds as everything else."""
    more = np.minimum(judged.case.declared, np.maximum(_limit(judged, bounds) - counts, 0))
    return np.where(judged.sieved.open, more, 0)


def _resting(judged: Judged, bounds: Bounds, counts: IntArray) -> IntArray:
    """Room in clusters that work may not return to yet; better than none at all."""
    case = judged.case
    room = np.minimum(case.occupied + case.fits, _limit(judged, bounds))
    return np.where(judged.sieved.open & (case.back.most < _UNLIMITED), np.maximum(room - counts, 0), 0)


def _limit(judged: Judged, bounds: Bounds) -> IntArray:
    """Most in each cluster by what people and the workload say, whatever the room."""
    most = judged.case.workload.spread.max_per_cluster
    return np.minimum(bounds.most, _UNLIMITED if most is None else most)


def _together(judged: Judged, bounds: Bounds, limits: Limits) -> tuple[IntArray, IntArray]:
    """All instances in the best cluster that takes them all, on nodes that are there if any cluster has those."""
    total, zero = bounds.replicas, np.zeros_like(limits.most[0])
    worth = np.round(judged.worth + judged.stay * (limits.before[0] > 0), ROUND)
    for most in (limits.most[0], limits.most[0] + _resting(judged, bounds, limits.most[0])):
        later = _declared(judged, bounds, np.minimum(most, total))
        order = np.lexsort((-limits.tie[0], -worth, most < total, most + later < total))
        if len(order) and most[order[0]] + later[order[0]] >= total:
            here = np.arange(len(zero)) == order[0]
            counts = np.where(here, np.minimum(most, total), 0)
            return counts, np.where(here, total - counts, 0)
    return zero, zero


def _preferred(judged: Judged, bounds: Bounds, counts: IntArray, limits: Limits) -> IntArray | None:
    """The division if no cluster that passed were full; None where that makes no difference."""
    full = judged.sieved.open & (counts >= limits.most[0]) & (bounds.most > limits.most[0])
    if judged.weighing.temperature > 0 or not judged.case.workload.splittable or not full.any():
        return None
    roomy = np.where(judged.sieved.open, np.maximum(_limit(judged, bounds), limits.most[0]), limits.most[0])
    clusters = judged.case.workload.spread.min_clusters
    ideal = _divided(judged, bounds.replicas, replace(limits, most=roomy[None, :]), clusters=clusters)
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

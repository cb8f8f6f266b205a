"""Factors of room: what is left for others after the placement, and for the growth of what already runs there."""

from __future__ import annotations

from functools import partial

import numpy as np

from federation.placement.filters.case import Case
from federation.placement.fleet.classes import ClassTable
from federation.placement.fleet.room import needs_gpu
from federation.placement.fleet.selectors import disliked, satisfies_all
from federation.placement.workload import Requirement
from federation.snapshot import CPU, GPU_WHOLE, MEMORY
from prewarm.domain import FloatArray, IntArray


def added(case: Case) -> IntArray:
    """Instances that each cluster would newly take, were it to take all that it can, (C,)."""
    return np.minimum(np.maximum(case.workload.replicas - case.occupied, 0), case.fits)


def fit(case: Case) -> FloatArray:
    """1 - max over r of n q_r / free_r: share of the scarcest free resource that n new instances of q leave to others.

    n: what the cluster would newly take; free over all nodes that take work. 1 where nothing new is needed, 0 where
    nothing new fits but something is needed.
    """
    number = added(case).astype(np.float64)
    here, asked = (
        [at for at, _ in case.ask.amounts],
        np.array([[amount] for _, amount in case.ask.amounts], dtype=np.int64),
    )
    free = case.fleet.room[here] + case.freed * asked
    taken = (number * asked / np.maximum(free, 1.0)).max(axis=0)
    if needs_gpu(case.ask.gpu):
        milli = case.ask.gpu.count * GPU_WHOLE or case.ask.gpu.milli
        taken = np.maximum(taken, number * milli / np.maximum(case.fleet.gpu_room + case.freed * milli, 1.0))
    missing = (case.fits == 0) & (case.occupied < case.workload.replicas)
    left: FloatArray = np.where(missing, 0.0, np.maximum(1.0 - taken, 0.0))
    return left * liking(case)


def headroom(case: Case) -> FloatArray:
    """min over cpu and memory of (free_r - u_r - n q_r - g_r) / allocatable_r, at least 0.

    u: what nodes use beyond what is requested of them, where a fresh measurement says so. g: what the forecast adds to
    what runs there (`Terms.growth`), nothing where no forecast is given; n q: the request.
    """
    number, asked = added(case).astype(np.float64), dict(case.ask.amounts)
    wanted = np.array([[asked.get(CPU, 0)], [asked.get(MEMORY, 0)]])
    free = case.fleet.room[: MEMORY + 1] - case.fleet.overstepped - (number - case.freed) * wanted
    if case.terms.growth:
        free = free - np.stack([_growth(case, CPU), _growth(case, MEMORY)])
    shares = np.maximum(free, 0.0) / np.maximum(case.fleet.total[: MEMORY + 1], 1.0)
    left: FloatArray = np.minimum(shares.min(axis=0), 1.0)
    return left


def liking(case: Case) -> FloatArray:
    """1, less up to a half where no node that accepts it meets what it prefers: 1/2 + 1/2 max over rows of the share.

    The share is that of the preferred terms' weights (1-100) that a node meets; a PreferNoSchedule taint that is not
    tolerated makes it 0. As in the kube-scheduler a preference orders nodes and forbids none.
    """
    shares = _shares(case)
    if shares is None:
        return np.ones(len(case.fleet))
    liked = np.where(case.accepts, shares[case.fleet.frame.states.rows.class_of], 0.0)
    return 0.5 + 0.5 * case.fleet.highest(liked[case.fleet.numbers], none=0.0)


def _shares(case: Case) -> FloatArray | None:
    """Share of the preferences that each kind of node meets, (K,); None where all kinds are alike."""
    preferred, table = case.workload.affinity.preferred, case.fleet.frame.table
    avoided = table.holds(
        ("avoided", case.workload.tolerations), lambda at: disliked(table.kinds[at].taints, case.workload.tolerations)
    )
    if not preferred and not avoided.any():
        return None
    total = sum(weight for weight, _ in preferred)
    met = np.zeros(len(table))
    for weight, group in preferred:
        likes = table.holds(("term", group), partial(_meets, table, group))
        met += weight * likes
    return np.where(avoided, 0.0, met / total if total else 1.0)


def _meets(table: ClassTable, group: tuple[Requirement, ...], at: int) -> bool:
    return satisfies_all(table.labels[at], group)


def _growth(case: Case, resource: int) -> FloatArray:
    name = case.fleet.resources[resource]
    growth = case.terms.growth
    return np.array(
        [growth[one.name].get(name, 0) if one.name in growth else 0 for one in case.fleet.clusters], dtype=np.float64
    )

"""What the fleet could hold at best: an integer program over the counts of each shape on each class of nodes.

Nodes of one class in one cluster share their room, a pod shape at most as often as fits on a single node times their
number, so the answer is never below what any placement holds. Gangs stay in one cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from gnn.published.world.fleet import Fleet
from gnn.published.world.jobs import GANG_CPU, GANG_GB, GANG_PODS, Jobs
from prewarm.domain import FloatArray, IntArray, PrewarmError


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """What there is to be placed: shapes (k, 2) cores and GB, and how many pods of each there are (k,).

    The last shape is a gang's pod.
    """

    shapes: IntArray
    count: IntArray


def demand_of(jobs: Jobs, replicas: int, replica: tuple[int, int]) -> Demand:
    """Every job of a run and so many replicas."""
    single = jobs.pods == 1
    shapes, count = np.unique(np.stack([jobs.cpu[single], jobs.memory_gb[single]], axis=1), axis=0, return_counts=True)
    gangs = int((~single).sum()) * GANG_PODS
    return Demand(
        np.vstack([[replica], shapes, [(GANG_CPU, GANG_GB)]]).astype(np.int64),
        np.concatenate([[replicas], count, [gangs]]).astype(np.int64),
    )


def most_allocated(fleet: Fleet, demand: Demand) -> float:
    """Most cores that can be allocated at once, over all cores; the replicas (first shape) are all placed."""
    classes, number = np.unique(
        np.stack([fleet.cluster, fleet.cpu, fleet.memory_gb], axis=1), axis=0, return_counts=True
    )
    kinds, shapes = len(classes), demand.shapes
    each = np.minimum(classes[:, 1:2] // shapes[:, 0], classes[:, 2:3] // shapes[:, 1]) * number[:, None]
    size = kinds * len(shapes)
    gangs = fleet.clusters
    cost = np.concatenate([-np.tile(shapes[:, 0], kinds), np.zeros(gangs)]).astype(np.float64)
    upper = np.concatenate([np.minimum(each, demand.count).ravel(), np.full(gangs, demand.count[-1] // GANG_PODS)])
    rules = [*_room(classes, number, shapes, gangs), _supply(kinds, demand, gangs), _whole_gangs(classes, size, gangs)]
    found = milp(
        cost,
        constraints=rules,
        bounds=Bounds(np.zeros(size + gangs), upper.astype(np.float64)),
        integrality=np.ones(size + gangs, dtype=np.int64),
    )
    if found.x is None:
        raise PrewarmError(f"bound: the integer program has no answer ({found.message})")
    return float(-found.fun / fleet.cores)


def _room(classes: IntArray, number: IntArray, shapes: IntArray, gangs: int) -> list[LinearConstraint]:
    """Cores and GB of each class."""
    kinds = len(classes)
    rows = []
    for resource in range(2):
        use: FloatArray = np.kron(np.eye(kinds), shapes[:, resource].astype(np.float64)).astype(np.float64)
        rows.append(LinearConstraint(_padded(use, gangs), -np.inf, classes[:, 1 + resource] * number))
    return rows


def _supply(kinds: int, demand: Demand, gangs: int) -> LinearConstraint:
    """No more of a shape than there is, and every replica."""
    use = np.tile(np.eye(len(demand.count)), (1, kinds))
    least = np.zeros(len(demand.count))
    least[0] = demand.count[0]
    return LinearConstraint(_padded(use, gangs), least, demand.count.astype(np.float64))


def _whole_gangs(classes: IntArray, size: int, gangs: int) -> LinearConstraint:
    """In each cluster the gangs' pods are four times a whole number."""
    kinds = len(classes)
    use = np.zeros((gangs, size + gangs))
    for kind in range(kinds):
        use[classes[kind, 0], (kind + 1) * (size // kinds) - 1] = 1.0
    use[np.arange(gangs), size + np.arange(gangs)] = -GANG_PODS
    return LinearConstraint(use, 0.0, 0.0)


def _padded(use: FloatArray, gangs: int) -> FloatArray:
    return np.hstack([use, np.zeros((len(use), gangs))])

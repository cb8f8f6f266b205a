"""How many instances fit: counted on nodes, not on sums, since a sum hides that every node is nearly full.

What another decision promised and nobody has seen taken is subtracted in instances of this shape. Where the promised
instances will land is the other scheduler's business, so each is taken to cost what it can cost at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from federation.placement.fleet.compiled import FleetColumns
from federation.placement.fleet.rows import Rows
from federation.placement.workload import GpuNeed, Workload
from federation.snapshot import GPU_WHOLE
from prewarm.domain import BoolArray, IntArray

DECLARED_PODS = 110
"""Pod slots of a declared node that does not say: the kubelet's default."""
GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu")
"""Extended resources that count whole GPUs."""
LARGE = 1 << 40
"""More instances than any cluster holds; keeps sums of them inside 64 bits."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The request of one instance in the fleet's columns: (resource, amount) with amount > 0; names nobody has.

    gpu: what has to be looked for GPU by GPU; nothing where the request names GPUs as a resource, which counts them.
    """

    amounts: tuple[tuple[int, int], ...]
    unknown: tuple[str, ...]
    gpu: GpuNeed


def ask_of(fleet: FleetColumns, workload: Workload) -> Ask:
    """What one instance asks of a node; a pod always takes a pod slot."""
    wanted = {"pods": 1} | {name: amount for name, amount in workload.requests.items() if amount > 0}
    known = tuple((at, wanted[name]) for at, name in enumerate(fleet.resources) if name in wanted)
    counted = any(name in wanted for name in GPU_RESOURCES)
    unknown = tuple(sorted(set(wanted).difference(fleet.resources)))
    return Ask(known, unknown, GpuNeed() if counted else workload.gpu)


def state_room(fleet: FleetColumns, ask: Ask) -> IntArray:
    """Instances that one node of each state takes, (S,), whatever it accepts."""
    return fleet.frame.states.judged(ask, lambda rows: row_room(rows, ask))


def row_room(rows: Rows, ask: Ask) -> IntArray:
    """Instances that one node of each row takes, (g,)."""
    room = np.full(len(rows), LARGE, dtype=np.int64)
    for resource, amount in ask.amounts:
        free = rows.free[resource]
        np.minimum(room, free if amount == 1 else free // amount, out=room)
    if needs_gpu(ask.gpu):
        np.minimum(room, gpu_room(rows, ask.gpu), out=room)
    return room


def needs_gpu(need: GpuNeed) -> bool:
    """Whether an instance needs a GPU or a share of one."""
    return need.count > 0 or need.milli > 0


def gpu_room(rows: Rows, need: GpuNeed) -> IntArray:
    """Instances that the GPUs of one node take, (g,): whole GPUs nobody uses, or shares that fit into single GPUs."""
    if need.count > 0:
        whole: IntArray = rows.whole_gpus.astype(np.int64) // need.count
        return whole
    if need.milli >= GPU_WHOLE:
        return rows.whole_gpus.astype(np.int64)
    if not rows.gpu_free.shape[1]:
        return np.zeros(len(rows), dtype=np.int64)
    shares: IntArray = (rows.gpu_free // np.int16(need.milli)).sum(axis=1, dtype=np.int64)
    return shares


def cluster_room(fleet: FleetColumns, each: IntArray, taking: IntArray | None = None) -> IntArray:
    """Instances that each cluster takes now, (C,), from those that each node takes, at most LARGE.

    taking: (N,) nodes of each row that do, all of them where None.
    """
    return np.minimum(fleet.summed(each * (fleet.count if taking is None else taking)), LARGE)


def apart_room(fleet: FleetColumns, accepting: BoolArray, taking: IntArray | None, occupied: IntArray) -> IntArray:
    """Nodes of each cluster that accept a workload and have no instance of it yet, (C,), where none may hold two.

    accepting: (N,) rows. occupied: (C,) instances that are on nodes already.
    """
    nodes = fleet.summed(np.where(accepting, fleet.count if taking is None else taking, 0))
    left: IntArray = np.maximum(nodes - occupied, 0)
    return left


def declared_room(fleet: FleetColumns, workload: Workload, fits_kind: BoolArray) -> IntArray:
    """Instances that nodes would take which autoscaling could still add, (C,); 0 where no kind of node would do."""
    room = np.zeros(len(fleet), dtype=np.int64)
    for at, cluster in enumerate(fleet.clusters):
        if cluster.headroom is not None and fits_kind[at]:
            each = _on_declared(cluster.headroom.allocatable, workload)
            room[at] = min(each * cluster.headroom.nodes, LARGE)
    return room


def _on_declared(allocatable: Mapping[str, int], workload: Workload) -> int:
    """Instances that one node of the declared shape takes; its GPUs are whole and free."""
    wanted = {"pods": 1} | {name: amount for name, amount in workload.requests.items() if amount > 0}
    offered = {"pods": DECLARED_PODS, **allocatable}
    room = min(offered.get(name, 0) // amount for name, amount in wanted.items())
    if needs_gpu(workload.gpu) and not any(name in wanted for name in GPU_RESOURCES):
        gpus = max((offered.get(name, 0) for name in GPU_RESOURCES), default=0)
        shares = GPU_WHOLE // workload.gpu.milli if 0 < workload.gpu.milli < GPU_WHOLE else 1
        room = min(room, gpus // workload.gpu.count if workload.gpu.count else gpus * shares)
    return room if workload.one_per_node is None else min(room, 1)

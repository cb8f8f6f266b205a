"""One cluster's nodes in the fleet's columns, made once for each version of that cluster's nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.placement.fleet.classes import ClassTable
from federation.snapshot import GPU_WHOLE, Int16Array, Nodes
from prewarm.domain import BoolArray, FloatArray, Int32Array, IntArray


@dataclass(frozen=True, slots=True)
class Block:
    """g rows of one cluster in the order of the fleet's R resources.

    free: (R, g) of one node, 0 where the row takes nothing. gpu_free: (g, D). whole_gpus: (g,) GPUs nobody uses.
    total, room: (R,) allocatable and free summed over the nodes that take work. gpu_total, gpu_room: thousandths of
    GPUs, all that are there and what is free on nodes that take work.
    """

    nodes: Nodes
    class_of: Int32Array
    count: IntArray
    open: BoolArray
    free: IntArray
    gpu_free: Int16Array
    whole_gpus: Int32Array
    total: FloatArray
    room: FloatArray
    gpu_room: float

    def __len__(self) -> int:
        return len(self.count)


def block_of(nodes: Nodes, resources: tuple[str, ...], table: ClassTable) -> Block:
    """The rows of one cluster; a resource that its nodes do not have is 0 everywhere."""
    numbers = table.numbers(nodes.classes)
    open_ = np.asarray(nodes.schedulable, dtype=np.bool_)
    count = np.asarray(nodes.count, dtype=np.int64)
    free = _spread((nodes.free * open_[:, None]).T, nodes.resources, resources)
    allocatable = _spread((nodes.allocatable * open_[:, None]).T, nodes.resources, resources)
    gpu_free = np.asarray(nodes.gpu_free, dtype=np.int16)
    gpu_room = float((gpu_free.sum(axis=1, dtype=np.int64) * open_ * count).sum()) if gpu_free.size else 0.0
    return Block(
        nodes=nodes,
        class_of=numbers[nodes.class_of] if len(numbers) else np.zeros(len(nodes), dtype=np.int32),
        count=count,
        open=open_,
        free=free,
        gpu_free=gpu_free,
        whole_gpus=(gpu_free >= GPU_WHOLE).sum(axis=1).astype(np.int32),
        total=(allocatable * count).sum(axis=1).astype(np.float64),
        room=(free * count).sum(axis=1).astype(np.float64),
        gpu_room=gpu_room,
    )


def _spread(amounts: IntArray, names: tuple[str, ...], resources: tuple[str, ...]) -> IntArray:
    """Rows of (r, g) put where the fleet keeps each resource."""
    wide = np.zeros((len(resources), amounts.shape[1]), dtype=np.int64)
    for position, name in enumerate(names):
        wide[resources.index(name)] = amounts[position]
    return wide

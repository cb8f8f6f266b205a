"""From a cluster's nodes to its columns: its rows, the state that each of them is in, and sums over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.placement.fleet.classes import ClassTable
from federation.placement.fleet.rows import Block, rows_of, spread
from federation.placement.fleet.states import StateTable
from federation.snapshot import CPU, MEMORY, Nodes
from prewarm.domain import IntArray


@dataclass(frozen=True, slots=True)
class Frame:
    """What all columns of a fleet have in common: R resources, D GPUs a node at most, kinds and states of nodes."""

    resources: tuple[str, ...]
    gpus: int
    table: ClassTable
    states: StateTable


def block_of(nodes: Nodes, frame: Frame, last: Block | None = None) -> Block:
    """The columns of one cluster; its kinds of nodes are usually those of its `last` columns in the same frame."""
    alike = last is not None and last.nodes.classes == nodes.classes
    kinds = last.kinds if last is not None and alike else frame.table.numbers(nodes.classes)
    rows = rows_of(nodes, frame.resources, frame.gpus, kinds)
    counted = rows.count * rows.open
    allocatable = spread(nodes.allocatable.T, nodes.resources, frame.resources) @ counted
    gpu_room = rows.gpu_free.sum(axis=1, dtype=np.int64) @ counted
    gpus = [float(gpu_room), float(nodes.gpu_free.shape[1])]
    sums = [*allocatable.tolist(), *(rows.free @ counted).tolist(), *gpus, *_overstepped(nodes, counted)]
    return Block(nodes, kinds, rows, frame.states.numbers(rows), np.array(sums, dtype=np.float64))


def _overstepped(nodes: Nodes, counted: IntArray) -> list[float]:
    """CPU and memory in use beyond requests; nothing of nodes whose use is unknown or stale."""
    if np.isnan(nodes.used).all():
        return [0.0, 0.0]
    here = [CPU, MEMORY]
    more: list[float] = (counted @ (nodes.free[:, here] - nodes.judged_free[:, here])).tolist()
    return more

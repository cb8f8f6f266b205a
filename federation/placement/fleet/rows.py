"""Rows of nodes in columns: of one cluster, made once for each version of its nodes, and of the whole fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from federation.placement.fleet.classes import ClassTable
from federation.snapshot import GPU_WHOLE, Int16Array, Nodes
from prewarm.domain import BoolArray, FloatArray, Int32Array, IntArray


@dataclass(frozen=True, slots=True)
class Frame:
    """What all columns of a fleet have in common: R resources, D GPUs a node at most, and the kinds of nodes."""

    resources: tuple[str, ...]
    gpus: int
    table: ClassTable


@dataclass(frozen=True, slots=True)
class Rows:
    """g rows, each `count` nodes that are alike.

    class_of, count, open: (g,), open for rows that take work. free: (R, g) of one node, 0 where the row takes nothing.
    gpu_free: (g, D) thousandths of each GPU. whole_gpus: (g,) GPUs that nobody uses.
    """

    class_of: Int32Array
    count: IntArray
    open: BoolArray
    free: IntArray
    gpu_free: Int16Array
    whole_gpus: Int32Array

    def __len__(self) -> int:
        return len(self.count)

    def part(self, start: int, stop: int) -> Rows:
        """Rows from `start` to before `stop`, as views."""
        here = slice(start, stop)
        return Rows(
            self.class_of[here],
            self.count[here],
            self.open[here],
            self.free[:, here],
            self.gpu_free[here],
            self.whole_gpus[here],
        )


def joined(pieces: Sequence[Rows], frame: Frame) -> Rows:
    """Pieces one after another."""
    if not pieces:
        return _no_rows(frame)
    return Rows(
        np.concatenate([piece.class_of for piece in pieces]),
        np.concatenate([piece.count for piece in pieces]),
        np.concatenate([piece.open for piece in pieces]),
        np.concatenate([piece.free for piece in pieces], axis=1),
        np.concatenate([piece.gpu_free for piece in pieces]),
        np.concatenate([piece.whole_gpus for piece in pieces]),
    )


@dataclass(frozen=True, slots=True)
class Block:
    """One cluster: its rows, and sums (2 R + 1,) over nodes that take work: allocatable, free, thousandths of GPUs."""

    nodes: Nodes
    rows: Rows
    sums: FloatArray


def block_of(nodes: Nodes, frame: Frame) -> Block:
    """The rows of one cluster; a resource that its nodes do not have is 0 everywhere."""
    numbers = frame.table.numbers(nodes.classes)
    open_ = np.asarray(nodes.schedulable, dtype=np.bool_)
    count = np.asarray(nodes.count, dtype=np.int64)
    free = _spread((nodes.free * open_[:, None]).T, nodes.resources, frame.resources)
    allocatable = _spread((nodes.allocatable * open_[:, None]).T, nodes.resources, frame.resources)
    gpu_free = np.zeros((len(nodes), frame.gpus), dtype=np.int16)
    gpu_free[:, : nodes.gpu_free.shape[1]] = nodes.gpu_free
    rows = Rows(
        class_of=numbers[nodes.class_of] if len(numbers) else np.zeros(len(nodes), dtype=np.int32),
        count=count,
        open=open_,
        free=free,
        gpu_free=gpu_free,
        whole_gpus=(gpu_free >= GPU_WHOLE).sum(axis=1).astype(np.int32),
    )
    gpu_room = (gpu_free.sum(axis=1, dtype=np.int64) * open_) @ count
    return Block(nodes, rows, np.array([*(allocatable @ count), *(free @ count), gpu_room], dtype=np.float64))


def _spread(amounts: IntArray, names: tuple[str, ...], resources: tuple[str, ...]) -> IntArray:
    """Rows of (r, g) put where the fleet keeps each resource."""
    wide = np.zeros((len(resources), amounts.shape[1]), dtype=np.int64)
    for position, name in enumerate(names):
        wide[resources.index(name)] = amounts[position]
    return wide


def _no_rows(frame: Frame) -> Rows:
    none = np.zeros(0, dtype=np.int64)
    few = np.zeros(0, dtype=np.int32)
    free = np.zeros((len(frame.resources), 0), dtype=np.int64)
    return Rows(few, none, none.astype(np.bool_), free, np.zeros((0, frame.gpus), dtype=np.int16), few)

"""Rows of nodes in columns: those of one cluster, made once for each version of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from federation.snapshot import GPU_WHOLE, Int16Array, Nodes
from prewarm.domain import BoolArray, FloatArray, Int32Array, IntArray


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
        return self.chosen(slice(start, stop))

    def chosen(self, here: slice | IntArray) -> Rows:
        """Some of the rows."""
        return Rows(
            self.class_of[here],
            self.count[here],
            self.open[here],
            self.free[:, here],
            self.gpu_free[here],
            self.whole_gpus[here],
        )

    @staticmethod
    def joined(pieces: Sequence[Rows]) -> Rows:
        """Pieces one after another, at least one."""
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
    """One cluster: its rows, and (g,) the number of each row's state. kinds: the numbers of `nodes.classes`.

    sums: (2 R + 4,) over nodes that take work: allocatable, free, thousandths of GPUs; then GPUs of a node at most, and
    CPU and memory that nodes use beyond what is requested of them, as far as they have it.
    """

    nodes: Nodes
    kinds: Int32Array
    rows: Rows
    numbers: IntArray
    sums: FloatArray


def rows_of(nodes: Nodes, resources: tuple[str, ...], gpus: int, kinds: Int32Array) -> Rows:
    """The rows of one cluster, whose classes have the numbers `kinds`; a resource that no node has is 0 everywhere."""
    open_ = np.asarray(nodes.schedulable, dtype=np.bool_)
    gpu_free = np.zeros((len(nodes), gpus), dtype=np.int16)
    gpu_free[:, : nodes.gpu_free.shape[1]] = nodes.gpu_free
    return Rows(
        class_of=kinds[nodes.class_of] if len(kinds) else np.zeros(len(nodes), dtype=np.int32),
        count=np.asarray(nodes.count, dtype=np.int64),
        open=open_,
        free=spread((nodes.free * open_[:, None]).T, nodes.resources, resources),
        gpu_free=gpu_free,
        whole_gpus=(gpu_free >= GPU_WHOLE).sum(axis=1).astype(np.int32),
    )


def spread(amounts: IntArray, names: tuple[str, ...], resources: tuple[str, ...]) -> IntArray:
    """Rows of (r, g) put where the fleet keeps each resource."""
    if names == resources:
        return np.ascontiguousarray(amounts)
    wide = np.zeros((len(resources), amounts.shape[1]), dtype=np.int64)
    for position, name in enumerate(names):
        wide[resources.index(name)] = amounts[position]
    return wide


def no_rows(resources: int, gpus: int) -> Rows:
    """Nothing, with so many resources and GPUs."""
    none, few = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    free = np.zeros((resources, 0), dtype=np.int64)
    return Rows(few, none, none.astype(np.bool_), free, np.zeros((0, gpus), dtype=np.int16), few)

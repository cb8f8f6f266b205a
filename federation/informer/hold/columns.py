"""Nodes that nobody can tell apart as one row: the columns of a snapshot, made of a member's table.

Rows are found by sorting a 64-bit mix of each node's figures, which is an order of magnitude cheaper than sorting the
figures; two rows that the mix confuses are told apart by their figures all the same. Rows, and the names in each, are
in the order of names, so equal clusters give equal snapshots however their events came.

Usage is rounded up (to 10 m and 16 MiB), lest its noise make every node a row of its own. Usage older than allowed is
NaN. Cost, 5,000 nodes of which none are alike: 4 ms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from federation.informer.hold.table import NodeTable
from federation.snapshot import BASE_RESOURCES, GPU_WHOLE, Int16Array, NodeClass, Nodes, frozen
from prewarm.domain import FloatArray, Int32Array, IntArray

GPU = "nvidia.com/gpu"
_GRAIN = np.array([10, 16 << 20], dtype=np.float64)
_UNKNOWN = -1
_PRIME = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Built:
    """Columns, the table's generation that they are of, and the time at which the next sample of usage turns stale."""

    nodes: Nodes
    generation: int
    pods_known: bool
    valid_until: float


class Columns:
    """Makes the columns of one table, and keeps them while nothing changed."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._built: Built | None = None
        self._membership = -1
        self._names: list[str] = []
        self._rows: IntArray = np.zeros(0, dtype=np.int64)

    def nodes(self, now: float, *, usage_stale_s: float, pods_known: bool) -> Nodes:
        """The nodes as of now. pods_known False: what is taken is not known, so no node takes anything."""
        built = self._built
        fresh = built is not None and now < built.valid_until and built.pods_known is pods_known
        if built is None or not fresh or built.generation != self._table.generation:
            built = self._built = self._build(now, usage_stale_s, pods_known)
        return built.nodes

    def _build(self, now: float, usage_stale_s: float, pods_known: bool) -> Built:
        table = self._table
        names, rows = self._in_order()
        allocatable, requested = table.allocatable[rows], table.requested[rows]
        order = _told(table.columns, allocatable, requested)
        picked = [table.columns[name] for name in order]
        allocatable, requested = allocatable[:, picked], requested[:, picked]
        used = _rounded(table.used[rows], table.used_at[rows], now - usage_stale_s)
        schedulable = table.open[rows] & (table.unreadable_pods[rows] == 0) & pods_known
        figures = np.column_stack((table.class_of[rows], schedulable, allocatable, requested, used))
        sorting, starts = _alike(figures)
        first = sorting[starts]
        classes, class_of = _classes(table.class_of[rows[first]], table.classes)
        nodes = Nodes(
            resources=tuple(order),
            classes=classes,
            class_of=class_of,
            count=np.diff(np.append(starts, len(rows))).astype(np.int32),
            allocatable=allocatable[first],
            requested=requested[first],
            used=np.where(used[first] == _UNKNOWN, np.nan, used[first].astype(np.float64)),
            gpu_free=_gpu_free(allocatable[first], requested[first], order),
            schedulable=schedulable[first],
            names=_names(names, sorting, starts),
            hosts=frozen(table.hosts),
        )
        _freeze(nodes)
        return Built(nodes, table.generation, pods_known, _next_stale(table.used_at[rows], now, usage_stale_s))

    def _in_order(self) -> tuple[list[str], IntArray]:
        table = self._table
        if self._membership != table.membership:
            pairs = sorted((name, row) for name, row in table.rows.items() if table.present[row])
            self._names = [name for name, _ in pairs]
            self._rows = np.array([row for _, row in pairs], dtype=np.int64)
            self._membership = table.membership
        return self._names, self._rows


def _rounded(used: FloatArray, at: FloatArray, oldest: float) -> IntArray:
    fresh = (at > oldest)[:, None] & np.isfinite(used)
    grains = np.ceil(np.where(fresh, used, 0.0) / _GRAIN) * _GRAIN
    rounded: IntArray = np.where(fresh, grains, _UNKNOWN).astype(np.int64)
    return rounded


def _next_stale(at: FloatArray, now: float, usage_stale_s: float) -> float:
    fresh = at[at > now - usage_stale_s]
    return float(fresh.min()) + usage_stale_s if len(fresh) else math.inf


def _alike(figures: IntArray) -> tuple[IntArray, IntArray]:
    """An order of the rows of `figures` in which equal ones stand together, and where each run of equals begins.

    Runs are in the order of their first member.
    """
    mix = np.zeros(len(figures), dtype=np.uint64)
    for column in figures.T:
        mix = (mix ^ column.astype(np.uint64)) * _PRIME
        mix ^= mix >> np.uint64(29)
    order = np.argsort(mix, kind="stable")
    lined = figures[order]
    starts = np.flatnonzero(np.append(True, (lined[1:] != lined[:-1]).any(axis=1))) if len(figures) else order
    lengths = np.diff(np.append(starts, len(figures)))
    by_first = np.argsort(order[starts], kind="stable")
    lengths = lengths[by_first]
    moved = np.cumsum(lengths) - lengths
    source = np.repeat(starts[by_first] - moved, lengths) + np.arange(len(figures))
    return order[source], moved


def _told(columns: dict[str, int], allocatable: IntArray, requested: IntArray) -> list[str]:
    """The base resources, then by name those that some node here has or some pod takes."""
    some = np.flatnonzero((allocatable != 0).sum(axis=0) + (requested != 0).sum(axis=0)).tolist()
    return [*BASE_RESOURCES, *sorted(name for name, at in columns.items() if at >= len(BASE_RESOURCES) and at in some)]


def _classes(class_of: Int32Array, classes: dict[NodeClass, int]) -> tuple[tuple[NodeClass, ...], Int32Array]:
    """Classes in the order in which rows first have them, and each row's."""
    by_number = {number: node_class for node_class, number in classes.items()}
    numbers = list(dict.fromkeys(class_of.tolist()))
    place = np.zeros(max(numbers, default=0) + 1, dtype=np.int32)
    place[numbers] = np.arange(len(numbers), dtype=np.int32)
    return tuple(by_number[number] for number in numbers), place[class_of]


def _gpu_free(allocatable: IntArray, requested: IntArray, order: list[str]) -> Int16Array:
    """Whole devices only: how a shared one is divided is told by no standard field."""
    if GPU not in order:
        return np.zeros((len(allocatable), 0), dtype=np.int16)
    column = order.index(GPU)
    devices = int(allocatable[:, column].max(initial=0))
    free = np.clip(allocatable[:, column] - requested[:, column], 0, None)
    return np.where(np.arange(devices) < free[:, None], GPU_WHOLE, 0).astype(np.int16)


def _names(names: list[str], sorting: IntArray, starts: IntArray) -> tuple[tuple[str, ...], ...]:
    ordered = list(map(names.__getitem__, sorting.tolist()))
    edges = [*starts.tolist(), len(ordered)]
    rows = [(ordered[start],) if end - start == 1 else tuple(ordered[start:end]) for start, end in pairwise(edges)]
    return tuple(rows)


def _freeze(nodes: Nodes) -> None:
    for array in (
        nodes.class_of,
        nodes.count,
        nodes.allocatable,
        nodes.requested,
        nodes.used,
        nodes.gpu_free,
        nodes.schedulable,
    ):
        array.setflags(write=False)

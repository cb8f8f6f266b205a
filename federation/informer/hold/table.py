"""The nodes of one member and what their pods take, as arrays that one event changes in one row.

A row exists as long as there is the Node or a pod bound to it, in whatever order the two collections tell of them. A
pod whose requests cannot be read makes its node's sum unknown for as long as it is there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from federation.informer.read.nodes import NodeFacts
from federation.informer.read.pods import PodFacts, Stage
from federation.informer.read.usage import Usage
from federation.snapshot import BASE_RESOURCES, NodeClass
from prewarm.domain import BoolArray, FloatArray, Int32Array, IntArray

_ROWS, _COLUMNS = 64, 8


class NodeTable:
    """Rows by node name. allocatable, requested: (rows, columns), whole numbers, in the order of `columns`."""

    def __init__(self) -> None:
        self.columns: dict[str, int] = {name: at for at, name in enumerate(BASE_RESOURCES)}
        self.rows: dict[str, int] = {}
        self.classes: dict[NodeClass, int] = {}
        self.allocatable: IntArray = np.zeros((_ROWS, _COLUMNS), dtype=np.int64)
        self.requested: IntArray = np.zeros((_ROWS, _COLUMNS), dtype=np.int64)
        self.used: FloatArray = np.full((_ROWS, 2), np.nan)
        self.used_at: FloatArray = np.full(_ROWS, np.nan)
        self.class_of: Int32Array = np.zeros(_ROWS, dtype=np.int32)
        self.present: BoolArray = np.zeros(_ROWS, dtype=np.bool_)
        self.open: BoolArray = np.zeros(_ROWS, dtype=np.bool_)
        self.bound: Int32Array = np.zeros(_ROWS, dtype=np.int32)
        self.unreadable_pods: Int32Array = np.zeros(_ROWS, dtype=np.int32)
        self.unreadable: dict[str, str] = {}
        """Nodes of which a field cannot be read, and which."""
        self.hosts: dict[str, str] = {}
        """Host name labels of nodes for which it is not their name."""
        self.generation = 0
        """Changes whenever anything does."""
        self.membership = 0
        """Changes whenever a node appears or goes."""
        self._samples: dict[str, Usage] = {}
        self._free: list[int] = []
        self._class_uses: dict[int, int] = {}
        self._free_classes: list[int] = []

    def node_changed(self, name: str, before: NodeFacts | None, after: NodeFacts | None) -> None:
        """A Node appeared, changed or went."""
        self.generation += 1
        row = self._row(name)
        if before is not None:
            self._release_class(before.node_class)
        if (before is None) != (after is None):
            self.membership += 1
        self.allocatable[row] = 0
        self.present[row] = after is not None
        self.open[row] = after is not None and after.closed is None
        self.unreadable.pop(name, None)
        self.hosts.pop(name, None)
        if after is not None:
            if after.host is not None and after.host != name:
                self.hosts[name] = after.host
            self.class_of[row] = self._class(after.node_class)
            for resource, amount in after.allocatable:
                column = self._column(resource)
                self.allocatable[row, column] = amount
            if not after.readable:
                self.unreadable[name] = after.closed or ""
        self._tidy(name, row)

    def pod_changed(self, _: str, before: PodFacts | None, after: PodFacts | None) -> None:
        """A Pod appeared, changed, ended or went; only what it takes of its node matters here."""
        if _takes(before) == _takes(after):
            return
        self.generation += 1
        if before is not None and before.stage is Stage.BOUND:
            self._take(before, -1)
        if after is not None and after.stage is Stage.BOUND:
            self._take(after, 1)

    def usage_changed(self, usage: Mapping[str, Usage]) -> None:
        """New samples; nodes that have none keep the last, which grows old. They may be told before their nodes."""
        self.generation += 1
        self._samples = {name: sample for name, sample in self._samples.items() if name in self.rows} | dict(usage)
        for name in usage:
            if (row := self.rows.get(name)) is not None:
                self._use(row, name)

    def _take(self, pod: PodFacts, sign: int) -> None:
        name = pod.node or ""
        row = self._row(name)
        for resource, amount in pod.amounts:
            column = self._column(resource)
            self.requested[row, column] += sign * amount
        self.bound[row] += sign
        self.unreadable_pods[row] += sign * (not pod.readable)
        self._tidy(name, row)

    def _row(self, name: str) -> int:
        row = self.rows.get(name)
        if row is None:
            row = self.rows[name] = self._free.pop() if self._free else len(self.rows)
            if row >= len(self.present):
                self._grow()
            self._use(row, name)
        return row

    def _use(self, row: int, name: str) -> None:
        if (sample := self._samples.get(name)) is not None:
            self.used[row] = (sample.cpu, sample.memory)
            self.used_at[row] = sample.at

    def _tidy(self, name: str, row: int) -> None:
        """Frees a row that nothing speaks of any more."""
        if not self.present[row] and not self.bound[row]:
            del self.rows[name]
            self._free.append(row)
            self.requested[row] = 0
            self.used[row] = np.nan
            self.used_at[row] = np.nan

    def _column(self, resource: str) -> int:
        column = self.columns.setdefault(resource, len(self.columns))
        if column >= self.allocatable.shape[1]:
            wider = ((0, 0), (0, column + _COLUMNS - self.allocatable.shape[1]))
            self.allocatable, self.requested = np.pad(self.allocatable, wider), np.pad(self.requested, wider)
        return column

    def _class(self, node_class: NodeClass) -> int:
        number = self.classes.get(node_class)
        if number is None:
            number = self._free_classes.pop() if self._free_classes else len(self.classes)
            self.classes[node_class] = number
        self._class_uses[number] = self._class_uses.get(number, 0) + 1
        return number

    def _release_class(self, node_class: NodeClass) -> None:
        number = self.classes[node_class]
        self._class_uses[number] -= 1
        if not self._class_uses[number]:
            del self.classes[node_class]
            self._free_classes.append(number)

    def _grow(self) -> None:
        more = len(self.present)
        taller = ((0, more), (0, 0))
        self.allocatable, self.requested = np.pad(self.allocatable, taller), np.pad(self.requested, taller)
        self.used = np.pad(self.used, taller, constant_values=np.nan)
        self.used_at = np.pad(self.used_at, (0, more), constant_values=np.nan)
        self.class_of, self.bound = np.pad(self.class_of, (0, more)), np.pad(self.bound, (0, more))
        self.unreadable_pods = np.pad(self.unreadable_pods, (0, more))
        self.present, self.open = np.pad(self.present, (0, more)), np.pad(self.open, (0, more))


def _takes(pod: PodFacts | None) -> tuple[object, ...]:
    return (pod.node, pod.amounts, pod.readable) if pod is not None and pod.stage is Stage.BOUND else ()

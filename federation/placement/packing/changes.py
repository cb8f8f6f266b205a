"""What one more instance is worth on each node under a forecast mix, remembered by the node's state and by the shape.

Two measures share this: fragmentation and future fill (`federation.nodes`). A fleet has some hundred states in twenty
thousand rows, and a state that was judged for a shape is not judged again. Judging a state costs a tenth of a
millisecond and more, so where decisions must not wait (`patient` False) they use what is judged, and somebody else asks
for `missing`, judges it elsewhere, and hands it back with `learn`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from federation.nodes.change import Measure, gain, shape_row
from federation.nodes.rows import Rows
from federation.placement.fleet.compiled import FleetColumns
from federation.placement.packing.states import StateTable
from federation.placement.workload import GpuNeed, Workload
from prewarm.domain import BoolArray, FloatArray, IntArray

MOST_STATES = 60_000
"""States that are remembered before everything is forgotten and learned anew."""
MOST_FIGURES = 4_000_000
"""Judgements that are remembered, 8 bytes each; the shapes that were not asked for longest go first."""
AT_A_TIME = 512
"""States that are judged in one piece of work."""

Shape = tuple[int, int, GpuNeed]
"""Thousandths of cores, bytes and GPUs of one instance."""


def shape_of(requests: Mapping[str, int], gpu: GpuNeed) -> Shape:
    """What counts of a request for single nodes."""
    return requests.get("cpu", 0), requests.get("memory", 0), gpu


@dataclass(frozen=True, slots=True)
class Task:
    """States that nobody has judged for a shape yet, from number `start` of `table` on. A value: judge it anywhere."""

    table: StateTable
    shape: Shape
    start: int
    rows: Rows
    measure: Measure

    def judged(self) -> FloatArray:
        """The gain on each of them, NaN where it does not fit."""
        return _judged(self.rows, self.shape, self.measure)


@dataclass(slots=True)
class Changes:
    """Gains by row of a fleet. A memo: it holds nothing that a decision could not work out again.

    patient: judge what is missing at once. `behind`: shapes that were asked for while states were missing.
    """

    measure: Measure
    patient: bool = True
    behind: set[Shape] = field(default_factory=set)
    _table: StateTable | None = None
    _frame: object = None
    _gains: dict[Shape, FloatArray] = field(default_factory=dict)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Those that are remembered, the one asked for last at the end."""
        return tuple(self._gains)

    @property
    def states(self) -> int:
        """States that were ever seen since it began anew."""
        return 0 if self._table is None else len(self._table)

    def best(self, fleet: FleetColumns, workload: Workload, able: BoolArray) -> FloatArray | None:
        """The highest gain over the rows of each cluster that take an instance, (C,); -inf where none does.

        None where some cluster has such rows and not one of them is judged: then none can be compared.
        """
        gains = self.of(fleet, workload)
        known = able & ~np.isnan(gains)
        if not np.array_equal(known, able) and (fleet.any_row(able) & ~fleet.any_row(known)).any():
            return None
        return fleet.highest(np.where(known, gains, -np.inf), none=-np.inf)

    def of(self, fleet: FleetColumns, workload: Workload) -> FloatArray:
        """Gain on one node of each row, (N,); NaN where nobody judged it yet or it does not fit."""
        table = self._current(fleet)
        numbers = table.of(fleet.blocks)
        shape = shape_of(workload.requests, workload.gpu)
        known = self._gains.pop(shape, np.zeros(0))
        lacking = len(table) - len(known)
        if lacking and self.patient:
            rows = table.rows(slice(len(known), None), self._models(fleet))
            known = np.concatenate([known, _judged(rows, shape, self.measure)])
        elif lacking:
            self.behind.add(shape)
        self._keep(shape, known)
        if len(known) < len(table):
            known = np.concatenate([known, np.full(len(table) - len(known), np.nan)])
        gains: FloatArray = known[numbers]
        return gains

    def missing(self, fleet: FleetColumns, shapes: Iterable[Shape]) -> Task | None:
        """The next piece of what is not judged for these shapes over this fleet, in their order; None: all is."""
        table = self._current(fleet)
        table.of(fleet.blocks)
        for shape in shapes:
            start = len(self._gains.get(shape, ()))
            if start < len(table):
                span = slice(start, start + AT_A_TIME)
                return Task(table, shape, start, table.rows(span, self._models(fleet)), self.measure)
            self.behind.discard(shape)
        return None

    def learn(self, task: Task, gains: FloatArray) -> None:
        """Remember what a task found; what no longer fits in is dropped."""
        known = self._gains.get(task.shape, np.zeros(0))
        if task.table is self._table and len(known) == task.start:
            self._gains.pop(task.shape, None)
            self._keep(task.shape, np.concatenate([known, gains]))

    def _keep(self, shape: Shape, gains: FloatArray) -> None:
        self._gains[shape] = gains
        total = sum(map(len, self._gains.values()))
        for old in list(self._gains)[:-1]:
            if total <= MOST_FIGURES:
                break
            total -= len(self._gains.pop(old))

    def _models(self, fleet: FleetColumns) -> IntArray:
        """Number of the GPU model of each kind of node among the mix's, one beyond the last for others, (K,)."""
        number = {name: at for at, name in enumerate(self.measure.mix.models)}
        table = fleet.frame.table
        found = [number.get(table.gpu_model(kind) or "", len(number)) for kind in range(len(table))]
        return np.array(found, dtype=np.int64)

    def _current(self, fleet: FleetColumns) -> StateTable:
        """The table for this fleet; a new one where columns changed their meaning or it has grown too large."""
        table = self._table
        if table is None or self._frame is not fleet.frame or len(table) > MOST_STATES:
            table = self._table = StateTable(fleet.frame.gpus)
            self._frame = fleet.frame
            self._gains.clear()
        return table


def _judged(rows: Rows, shape: Shape, measure: Measure) -> FloatArray:
    cpu, memory, gpu = shape
    gains, _ = gain(rows, shape_row({"cpu": cpu, "memory": memory}, gpu, measure.mix), measure)
    return gains

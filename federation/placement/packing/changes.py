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

from federation.nodes.change import Measure, gains, shape_row
from federation.nodes.rows import MIB, Rows
from federation.placement.fleet.blocks import Frame
from federation.placement.fleet.compiled import FleetColumns
from federation.placement.workload import GpuNeed, Workload
from federation.snapshot import CPU, MEMORY
from prewarm.domain import BoolArray, FloatArray, IntArray

MOST_FIGURES = 4_000_000
"""Judgements that are remembered, 8 bytes each; the shapes that were not asked for longest go first."""
AT_A_TIME = 512
"""States that are judged in one piece of work, counted for each shape."""

_NOTHING = np.zeros(0)
Shape = tuple[int, int, GpuNeed]
"""Thousandths of cores, bytes and GPUs of one instance."""


def shape_of(requests: Mapping[str, int], gpu: GpuNeed) -> Shape:
    """What counts of a request for single nodes."""
    return requests.get("cpu", 0), requests.get("memory", 0), gpu


@dataclass(frozen=True, slots=True)
class Question:
    """n states and k shapes that a measure is to judge together. A value: ask it anywhere."""

    rows: Rows
    shapes: tuple[Shape, ...]
    measure: Measure


@dataclass(frozen=True, slots=True)
class Task:
    """A question about states that nobody has judged for some shapes yet, from number `start` of a frame on."""

    frame: Frame
    start: int
    question: Question


@dataclass(slots=True)
class Changes:
    """Gains by row of a fleet. A memo: it holds nothing that a decision could not work out again.

    patient: judge what is missing at once. `behind`: shapes that were asked for while states were missing.
    """

    measure: Measure
    patient: bool = True
    behind: set[Shape] = field(default_factory=set)
    _frame: Frame | None = None
    _gains: dict[Shape, FloatArray] = field(default_factory=dict)
    _figures: int = 0
    """Judgements in all of them."""

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Those that are remembered, the one asked for last at the end."""
        return tuple(self._gains)

    def best(
        self, fleet: FleetColumns, workload: Workload, able: BoolArray, taking: IntArray | None = None
    ) -> FloatArray | None:
        """The highest gain over the rows of each cluster that take an instance, (C,); -inf where none does.

        able: (S,) states that take one. None where some cluster has such rows and not one of them is judged: then none
        can be compared. taking: (N,) nodes of each row that may be used, all of them where None.
        """
        found = self._of_states(fleet, workload)
        lacking = able & np.isnan(found)
        if lacking.any():
            rows = able[fleet.numbers] if taking is None else able[fleet.numbers] & (taking > 0)
            known = rows & ~lacking[fleet.numbers]
            if (fleet.any_row(rows) & ~fleet.any_row(known)).any():
                return None
            able = able & ~lacking
        by_row = np.where(able, found, -np.inf).take(fleet.numbers)
        if taking is not None:
            by_row = np.where(taking > 0, by_row, -np.inf)
        return fleet.highest(by_row, none=-np.inf)

    def of(self, fleet: FleetColumns, workload: Workload) -> FloatArray:
        """Gain on one node of each row, (N,); NaN where nobody judged it yet or it does not fit."""
        by_row: FloatArray = self._of_states(fleet, workload)[fleet.numbers]
        return by_row

    def _of_states(self, fleet: FleetColumns, workload: Workload) -> FloatArray:
        """The same by state, (S,)."""
        states = len(self._followed(fleet).states)
        shape = shape_of(workload.requests, workload.gpu)
        known = self._taken(shape)
        lacking = states - len(known)
        if lacking and self.patient:
            rows = self._nodes(fleet, len(known), states)
            known = np.concatenate([known, judged(Question(rows, (shape,), self.measure))[0]])
        elif lacking:
            self.behind.add(shape)
        self._keep(shape, known)
        if len(known) < states:
            known = np.concatenate([known, np.full(states - len(known), np.nan)])
        return known

    def lacking(self, fleet: FleetColumns, shapes: Iterable[Shape]) -> int:
        """How many judgements of these shapes over this fleet are missing."""
        states = len(self._followed(fleet).states)
        return sum(max(0, states - len(self._gains.get(shape, ()))) for shape in shapes)

    def missing(self, fleet: FleetColumns, shapes: Iterable[Shape], most: int = AT_A_TIME) -> Task | None:
        """The next piece of what is not judged for these shapes over this fleet, in their order; None: all is.

        most: judgements in it, though at least one shape is judged.
        """
        frame, starts = self._followed(fleet), {shape: len(self._gains.get(shape, ())) for shape in shapes}
        lacking = {shape: start for shape, start in starts.items() if start < len(frame.states)}
        self.behind -= starts.keys() - lacking.keys()
        if not lacking:
            return None
        start = next(iter(lacking.values()))
        rows = self._nodes(fleet, start, min(start + most, len(frame.states)))
        alike = [shape for shape, at in lacking.items() if at == start][: max(1, most // len(rows))]
        return Task(frame, start, Question(rows, tuple(alike), self.measure))

    def learn(self, task: Task, found: FloatArray) -> None:
        """Remember what a task found, (k, n); what no longer fits in is dropped."""
        for shape, more in zip(task.question.shapes, found, strict=True):
            known = self._gains.get(shape, np.zeros(0))
            if task.frame is self._frame and len(known) == task.start:
                self._keep(shape, np.concatenate([known, more]))

    def _taken(self, shape: Shape) -> FloatArray:
        """What is known of a shape, let go of, so that it can be kept again as the one asked for last."""
        known = self._gains.pop(shape, _NOTHING)
        self._figures -= len(known)
        return known

    def _keep(self, shape: Shape, figures: FloatArray) -> None:
        self._figures += len(figures) - len(self._gains.get(shape, _NOTHING))
        self._gains[shape] = figures
        while self._figures > MOST_FIGURES and len(self._gains) > 1:
            self._taken(next(iter(self._gains)))

    def _nodes(self, fleet: FleetColumns, start: int, stop: int) -> Rows:
        """States as nodes; their GPU models are those of the mix, one beyond the last for others."""
        number = {name: at for at, name in enumerate(self.measure.mix.models)}
        kinds, states = fleet.frame.table, fleet.frame.states.rows.part(start, stop)
        models = np.array([number.get(kinds.gpu_model(at) or "", len(number)) for at in range(len(kinds))])
        gpu = states.gpu_free.astype(np.int64)
        return Rows(states.free[CPU], states.free[MEMORY] // MIB, models[states.class_of], gpu)

    def _followed(self, fleet: FleetColumns) -> Frame:
        """The frame of this fleet; where it is another one than before, numbers of states mean something else."""
        if self._frame is not fleet.frame:
            self._frame = fleet.frame
            self._gains.clear()
            self._figures = 0
        return self._frame


def judged(question: Question) -> FloatArray:
    """The gain of each shape on each state, (k, n), NaN where it does not fit."""
    mix = question.measure.mix
    asked = [shape_row({"cpu": cpu, "memory": memory}, gpu, mix) for cpu, memory, gpu in question.shapes]
    return gains(question.rows, asked, question.measure)

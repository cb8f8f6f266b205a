"""Values of nodes to the work that is still to come, and what a placement changes of them.

Two measures share this: fragmentation (lower is better, so its negative) and future fill. Each is a function of node
states alone, in thousandths of a GPU; the factor looks at the best node of each cluster that takes the instance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from federation.placement.fleet.compiled import FleetColumns
from federation.placement.packing.states import NodeStates, StateTable
from federation.placement.workload import GpuNeed, Workload
from prewarm.domain import FloatArray

_MOST_STATES = 200_000
"""States that are remembered before everything is forgotten and learned anew."""


class NodeValue(Protocol):
    """What a node in some state is worth to the mix of work that is forecast."""

    def value(self, states: NodeStates) -> FloatArray:
        """(k,) in thousandths of a GPU, higher is better; finite."""
        ...


@dataclass(slots=True)
class Changes:
    """What one more instance changes of each node's value; remembered by state and by shape.

    A memo: it holds nothing that a decision could not work out again.
    """

    measure: NodeValue
    _table: StateTable | None = None
    _frame: object = None
    _changes: dict[object, FloatArray] = field(default_factory=dict)

    def of(self, fleet: FleetColumns, workload: Workload) -> FloatArray:
        """Change of value of one node of each row, (N,), meaningful only where an instance fits."""
        table = self._current(fleet)
        numbers = table.of(fleet.blocks)
        shape = (workload.requests.get("cpu", 0), workload.requests.get("memory", 0), workload.gpu)
        known = self._changes.get(shape, np.zeros(0))
        if len(known) < len(table):
            known = np.concatenate([known, self._judged(table.states(len(known)), shape)])
            self._changes[shape] = known
        changes: FloatArray = known[numbers]
        return changes

    def _judged(self, states: NodeStates, shape: tuple[int, int, GpuNeed]) -> FloatArray:
        cpu, memory, gpu = shape
        changes = np.full(len(states), -np.inf)
        fits = np.flatnonzero(states.fits(cpu, memory, gpu))
        chosen = NodeStates(states.kind[fits], states.cpu[fits], states.memory[fits], states.gpu[fits])
        after = chosen.after(cpu, memory, gpu)
        changes[fits] = self.measure.value(after) - self.measure.value(chosen)
        return changes

    def _current(self, fleet: FleetColumns) -> StateTable:
        """The table for this fleet; a new one where columns changed their meaning or it has grown too large."""
        table = self._table
        if table is None or self._frame is not fleet.frame or len(table) > _MOST_STATES:
            table = self._table = StateTable(fleet.frame.gpus)
            self._frame = fleet.frame
            self._changes.clear()
        return table

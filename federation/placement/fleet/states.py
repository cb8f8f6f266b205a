"""What single nodes are like, each state once: how many instances fit is worked out for states, and rows look it up.

A fleet of summaries has some hundred states in twenty thousand rows, and a fleet that is watched node by node changes
few of them between two decisions; a state that was judged for a request is not judged again. The table only grows, so
the numbers of states stay true while clusters change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from federation.placement.fleet.rows import Rows, no_rows
from prewarm.domain import IntArray

_MOST_FIGURES = 4_000_000
"""Answers that are remembered, 8 bytes each, before all are forgotten."""


def state_table(resources: int, gpus: int) -> StateTable:
    """A table of no states yet."""
    return StateTable(no_rows(resources, gpus))


@dataclass(slots=True)
class StateTable:
    """States by number, and remembered answers about them; a memo, so sharing it changes no decision."""

    _rows: Rows
    _number: dict[bytes, int] = field(default_factory=dict)
    _pieces: list[Rows] = field(default_factory=list)
    _answers: dict[object, IntArray] = field(default_factory=dict)
    _figures: int = 0

    def __len__(self) -> int:
        return len(self._number)

    @property
    def rows(self) -> Rows:
        """The states as rows, in the order of their numbers; their counts mean nothing."""
        if self._pieces:
            self._rows = Rows.joined([self._rows, *self._pieces])
            self._pieces = []
        return self._rows

    def numbers(self, rows: Rows) -> IntArray:
        """The numbers of some rows, (g,), new ones added."""
        table = np.column_stack([rows.class_of, rows.open, rows.free.T, rows.gpu_free]).astype(np.int64)
        width, raw = table.itemsize * table.shape[1], table.tobytes()
        keys = [raw[at : at + width] for at in range(0, width * len(rows), width)]
        found, known = self._number, len(self._number)
        numbers = [found.setdefault(key, len(found)) for key in keys]
        if len(found) > known:
            first = {number: at for at, number in reversed(list(enumerate(numbers))) if number >= known}
            self._pieces.append(rows.chosen(np.array([first[number] for number in range(known, len(found))])))
        return np.array(numbers, dtype=np.int64)

    def judged(self, question: object, judge: Callable[[Rows], IntArray]) -> IntArray:
        """`judge` of every state, (S,), remembered under `question`, which must tell questions apart."""
        known = self._answers.get(question)
        seen = 0 if known is None else len(known)
        if known is None or seen < len(self):
            fresh = judge(self.rows.part(seen, len(self)))
            known = fresh if known is None else np.concatenate([known, fresh])
            self._figures += len(fresh)
            if self._figures > _MOST_FIGURES:
                self._answers.clear()
                self._figures = len(known)
            self._answers[question] = known
        return known

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
        keys = _keys(rows)
        found = list(map(self._number.get, keys))
        if None in found:
            self._add(keys, rows)
            found = list(map(self._number.get, keys))
        return np.array(found, dtype=np.int64)

    def _add(self, keys: list[bytes], rows: Rows) -> None:
        """New states get the next numbers, in the order in which they are met."""
        first: dict[bytes, int] = {}
        for at, key in enumerate(keys):
            if key not in self._number:
                first.setdefault(key, at)
        self._number.update(zip(first, range(len(self), len(self) + len(first)), strict=True))
        self._pieces.append(rows.chosen(np.array(list(first.values()))))

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


def _keys(rows: Rows) -> list[bytes]:
    """All that makes a state, of each row as one word of bytes."""
    table = np.empty((len(rows), 2 + len(rows.free) + rows.gpu_free.shape[1]), dtype=np.int64)
    table[:, 0], table[:, 1] = rows.class_of, rows.open
    table[:, 2 : 2 + len(rows.free)] = rows.free.T
    table[:, 2 + len(rows.free) :] = rows.gpu_free
    keys: list[bytes] = table.view(np.dtype((np.void, table.itemsize * table.shape[1])))[:, 0].tolist()
    return keys

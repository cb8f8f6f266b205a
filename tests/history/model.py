"""The history as it would be with a dictionary per function: slow, plain, and right."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from prewarm.history import MinuteBatch, Retention

Cell = tuple[int, int]


@dataclass
class PlainHistory:
    """Every count by (function, minute), every known minute by (function, minute); nothing is ever forgotten."""

    retention: Retention
    start: int
    count: dict[Cell, float] = field(default_factory=dict)
    known: set[Cell] = field(default_factory=set)
    functions: int = 0

    def observe(self, batch: MinuteBatch, now_minute: int) -> bool:
        """Whether the batch is taken."""
        late = now_minute - int(self.retention.late_s // 60)
        if batch.minute < max(late, self.start) or (batch.minute - now_minute) * 60 > self.retention.future_s:
            return False
        known = range(self.functions) if batch.known is None else batch.known.tolist()
        self.known |= {(row, batch.minute) for row in known}
        for row, count in zip(batch.rows.tolist(), batch.count.tolist(), strict=True):
            had = self.count.get((row, batch.minute), 0.0)
            self.count[row, batch.minute] = had + count if batch.repeat == "sum" else max(had, count)
        return True

    def hits(self, row: int, first: int, until: int) -> list[tuple[int, float]]:
        """(minute, count) of a function's hits in [first, until)."""
        found = sorted((minute, count) for (who, minute), count in self.count.items() if who == row and count > 0)
        return [(minute, count) for minute, count in found if first <= minute < until]

    def step(self, row: int, first: int, until: int) -> float:
        """Count of [first, until), scaled up from its known minutes; NaN when fewer than half are known."""
        known = [minute for minute in range(first, until) if (row, minute) in self.known]
        if 2 * len(known) < until - first:
            return math.nan
        return sum(self.count.get((row, minute), 0.0) for minute in known) * (until - first) / len(known)

"""For which functions each minute is known, as runs of minutes with the same answer.

A minute that nobody observed is unknown for everybody; so is every minute before a function was first seen. Sources
usually speak for all functions for days on end, so one run covers it; a silent source adds a run with one bit a
function. Kept at minute grain for the whole retention: coarse counts need it to tell "quiet" from "not looked".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class KnownSet:
    """Known rows: the first `count`, less those whose bit (packed, one a row) is 0 where `bits` is given."""

    count: int
    bits: NDArray[np.uint8] | None = None

    @classmethod
    def of(cls, known: BoolArray) -> KnownSet:
        """The smallest form of a mask."""
        rows = np.flatnonzero(known)
        if not rows.size:
            return NOBODY
        count = int(rows[-1]) + 1
        return cls(count, None if rows.size == count else np.packbits(known[:count]))

    def mask(self, rows: int) -> BoolArray:
        """One flag for each of the first `rows` rows."""
        out = np.zeros(rows, np.bool_)
        count = min(self.count, rows)
        out[:count] = True if self.bits is None else np.unpackbits(self.bits, count=count).astype(np.bool_)
        return out

    def test(self, rows: IntArray) -> BoolArray:
        """One flag for each index in `rows`."""
        inside = rows < self.count
        if self.bits is None:
            return inside
        safe = np.where(inside, rows, 0)
        found: BoolArray = inside & ((self.bits[safe >> 3] >> (7 - (safe & 7)).astype(np.uint8)) & 1).astype(np.bool_)
        return found

    def same(self, other: KnownSet) -> bool:
        """Whether both know the same rows."""
        if self.count != other.count or (self.bits is None) != (other.bits is None):
            return False
        return self.bits is None or other.bits is None or bool(np.array_equal(self.bits, other.bits))


NOBODY = KnownSet(0)


class KnownRuns:
    """Ascending runs of minutes; run i reaches to the start of run i + 1, the last one to `end`."""

    def __init__(self, start_minute: int) -> None:
        """Nothing is known from `start_minute` on."""
        self._starts: list[int] = []
        self._sets: list[KnownSet] = []
        self.end = start_minute

    def append(self, minute: int, known: KnownSet) -> None:
        """The answer for `minute`, later than all before; minutes left out are known to nobody."""
        if minute > self.end:
            self._push(self.end, NOBODY)
        self._push(minute, known)
        self.end = minute + 1

    def _push(self, minute: int, known: KnownSet) -> None:
        if not self._sets or not self._sets[-1].same(known):
            self._starts.append(minute)
            self._sets.append(known)

    def runs(self, first: int, until: int) -> Iterator[tuple[int, int, KnownSet]]:
        """Runs within [first, until), clipped to it: first minute, end, set. Runs known to nobody are left out."""
        until = min(until, self.end)
        position = max(bisect_right(self._starts, first) - 1, 0)
        while position < len(self._starts) and self._starts[position] < until:
            stop = self._starts[position + 1] if position + 1 < len(self._starts) else self.end
            known, low, high = self._sets[position], max(self._starts[position], first), min(stop, until)
            if known.count and low < high:
                yield low, high, known
            position += 1

    def drop_before(self, minute: int) -> None:
        """Forget what lies wholly before `minute`."""
        keep = max(bisect_right(self._starts, minute) - 1, 0)
        del self._starts[:keep], self._sets[:keep]

    def drop_from(self, minute: int) -> None:
        """Forget `minute` and all after it."""
        keep = bisect_left(self._starts, minute)
        del self._starts[keep:], self._sets[keep:]
        self.end = min(self.end, minute)

    def minutes(self, rows: IntArray, edges: IntArray) -> FloatArray:
        """(rows, steps): known minutes of each row in each step [edges[j], edges[j+1])."""
        out = np.zeros((rows.size, edges.size - 1))
        for low, high, known in self.runs(int(edges[0]), int(edges[-1])):
            begin = int(np.searchsorted(edges, low, "right")) - 1
            stop = int(np.searchsorted(edges, high, "left"))
            overlap = np.minimum(edges[begin + 1 : stop + 1], high) - np.maximum(edges[begin:stop], low)
            out[known.test(rows), begin:stop] += overlap
        return out

    def test(self, rows: IntArray, minutes: IntArray) -> BoolArray:
        """Whether minute `minutes[i]` is known for row `rows[i]`."""
        out = np.zeros(rows.size, np.bool_)
        if not rows.size:
            return out
        for low, high, known in self.runs(int(minutes.min()), int(minutes.max()) + 1):
            within = (minutes >= low) & (minutes < high)
            out[within] = known.test(rows[within])
        return out

"""Counts that gateways push: events in, minutes out.

A push tells of calls; what it leaves out has to be read with care. A source that sends anything for a minute speaks for
every function that it ever named (and for those that nobody named), so these had no calls; a function with a null
count, and every function of a source that is silent, is unknown. A window of several minutes is shared out over them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from prewarm.domain import FunctionKey, Int32Array, PrewarmError
from prewarm.history import History, MinuteBatch

MAX_FUNCTIONS = 200_000
MOST_CONCURRENT = 1e6
"""As much as may be told outright; a product of two mistaken numbers is no more."""


class ClockDoubtError(PrewarmError):
    """Our own clock jumped and is not believed yet: nothing is taken, and the sender should try again."""


@dataclass(frozen=True, slots=True)
class Event:
    """Calls of one function in the window that starts at `at` (s); a count of None says that it is not known."""

    function: FunctionKey
    at: float
    window_s: int
    count: int | None
    concurrency_mean: float | None = None
    duration_ms_mean: float | None = None

    @property
    def concurrency(self) -> float:
        """Mean number of running calls in the window, NaN where neither it nor the duration was told."""
        if self.concurrency_mean is not None:
            return self.concurrency_mean
        if self.duration_ms_mean is not None and self.count is not None:
            return min(self.count * self.duration_ms_mean / 1000 / self.window_s, MOST_CONCURRENT)
        return float("nan") if self.count else 0.0


@dataclass(frozen=True, slots=True)
class Receipt:
    """How many events were taken, and which were not, by index, with the reason."""

    accepted: int
    rejected: tuple[tuple[int, str], ...]
    batches: tuple[MinuteBatch, ...] = ()
    """What was written into the history, for the store to keep."""


@dataclass(slots=True)
class _Minute:
    """What one batch says of one minute: parallel lists, and the events behind them."""

    rows: list[int] = field(default_factory=list)
    counts: list[float] = field(default_factory=list)
    concurrency: list[float] = field(default_factory=list)
    unknown: set[int] = field(default_factory=set)
    events: list[int] = field(default_factory=list)


class PushReceiver:
    """Turns batches of events into minutes of a history; remembers which source speaks for which functions."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._rows = {key: row for row, key in enumerate(history.keys)}
        self._spoken_for: dict[str, set[int]] = defaultdict(set)
        self._claimed: set[int] = set()

    def recall(self, spoken: Mapping[str, Collection[int]]) -> None:
        """Take up which rows each source had named before a restart."""
        for source, rows in spoken.items():
            self._spoken_for[source].update(rows)
            self._claimed.update(rows)

    def accept(self, source: str, events: Sequence[Event], *, now: float) -> Receipt:
        """Take in what can be taken; events that are too late, ahead of time or too many are rejected one by one.

        ClockDoubtError when our own clock is in doubt.
        """
        now_minute = int(now // 60)
        doubt = self._history.advance(now_minute)
        if doubt is not None:
            raise ClockDoubtError(doubt)
        rejected: dict[int, str] = {}
        minutes: dict[int, _Minute] = defaultdict(_Minute)
        for index, event in enumerate(events):
            row = self._row(source, event.function)
            if row is None:
                rejected[index] = f"more than {MAX_FUNCTIONS} functions"
                continue
            _share_out(minutes, index, row, event)
        taken = []
        for minute, said in sorted(minutes.items()):
            for batch in self._batches(source, minute, said):
                refusal = self._history.observe(batch, now_minute=now_minute)
                if refusal is None:
                    taken.append(batch)
                else:
                    rejected |= dict.fromkeys(said.events, refusal)
        return Receipt(len(events) - len(rejected), tuple(sorted(rejected.items())), tuple(taken))

    def _row(self, source: str, key: FunctionKey) -> int | None:
        row = self._rows.get(key)
        if row is None:
            if len(self._history) >= MAX_FUNCTIONS:
                return None
            row = self._rows[key] = self._history.index(key)
        self._spoken_for[source].add(row)
        self._claimed.add(row)
        return row

    def _batches(self, source: str, minute: int, said: _Minute) -> Iterator[MinuteBatch]:
        """The events that told a concurrency, and those that did not, in a batch of their own."""
        known = self._known(source, said.unknown)
        rows = np.array(said.rows, dtype=np.int32)
        counts = np.array(said.counts, dtype=np.float32)
        concurrency = np.array(said.concurrency, dtype=np.float32)
        told = np.isfinite(concurrency)
        if told.any():
            yield MinuteBatch(minute, rows[told], counts[told], concurrency[told], known=known)
        if not told.all():
            yield MinuteBatch(minute, rows[~told], counts[~told], None, known=known)

    def _known(self, source: str, unknown: set[int]) -> Int32Array:
        """The rows that `source` speaks for."""
        mask = np.ones(len(self._history), dtype=np.bool_)
        mask[list(self._claimed - self._spoken_for[source])] = False
        mask[list(unknown)] = False
        return np.flatnonzero(mask).astype(np.int32)


def _share_out(minutes: dict[int, _Minute], index: int, row: int, event: Event) -> None:
    for minute, overlap_s in _overlaps(event.at, event.window_s):
        said = minutes[minute]
        said.rows.append(row)
        said.counts.append((event.count or 0) * overlap_s / event.window_s)
        said.concurrency.append(event.concurrency * overlap_s / 60)
        said.events.append(index)
        if event.count is None:
            said.unknown.add(row)


def _overlaps(at: float, window_s: int) -> Iterator[tuple[int, float]]:
    """The minutes that a window touches, and for how many seconds."""
    end = at + window_s
    for minute in range(int(at // 60), int(-(-end // 60))):
        yield minute, min(end, (minute + 1) * 60) - max(at, minute * 60)

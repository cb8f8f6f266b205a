"""What a forecaster is fed: counts on a regular grid, with what is not known said to be unknown.

Raw rows come unsorted, twice, with gaps and with zone offsets. They are put in order here, once, and everything that
was odd about a series is told in one line, so that a bad source cannot flood the log. A gap becomes NaN: read as zero
it would halve a forecast and let warm instances go.

Rules for rows: the same instant with the same value counts once; the same instant with different values keeps the
larger (a call can be missed, hardly invented, and too few warm instances cost more than one too many); different
instants in one slot are added, since values are counts; an empty or null value says nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray, InputError, parse_time, rfc3339

MAX_SLOTS = 1_000_000  # two years of minutes; beyond it a date is more likely mistyped than meant
FARTHEST_S = 1900 * 365.25 * 86_400.0  # beyond it the calendar ends, or that of a forecast

RawRow = tuple[str, str | float | None]


@dataclass(frozen=True, slots=True)
class Series:
    """One function's counts: values (T,), NaN where unknown, one every `step_s` seconds from `start` on."""

    values: FloatArray
    step_s: int
    start: float
    name: str = "series"

    @property
    def end(self) -> float:
        """The moment the first forecast step begins."""
        return self.start + self.step_s * len(self.values)


@dataclass(frozen=True, slots=True)
class SeriesBatch:
    """Counts of n functions on one grid: values (n, T), NaN where unknown; the last column is the newest."""

    values: FloatArray
    step_s: int
    start: float
    names: tuple[str, ...]

    @classmethod
    def of(cls, all_series: Sequence[Series]) -> SeriesBatch:
        """The series side by side, aligned at their ends; InputError where steps or ends differ."""
        first = all_series[0]
        for one in all_series:
            if one.step_s != first.step_s or one.end != first.end:
                raise InputError(f"{one.name}: step and end must be those of {first.name} to forecast them together")
        longest = max(len(one.values) for one in all_series)
        values = np.full((len(all_series), longest), np.nan)
        for row, one in enumerate(all_series):
            values[row, longest - len(one.values) :] = one.values
        start = first.end - first.step_s * longest
        return cls(values, first.step_s, start, tuple(one.name for one in all_series))

    @property
    def end(self) -> float:
        """The moment the first forecast step begins."""
        return self.start + self.step_s * float(self.values.shape[1])

    def until(self, column: int, window: int | None = None) -> SeriesBatch:
        """What was known before `column` (the last `window` columns of it, where given)."""
        first = 0 if window is None else max(0, column - window)
        return SeriesBatch(self.values[:, first:column], self.step_s, self.start + first * self.step_s, self.names)

    def rows(self, chosen: Sequence[int]) -> SeriesBatch:
        """The functions at the given positions."""
        picked = list(chosen)
        return SeriesBatch(self.values[picked], self.step_s, self.start, tuple(self.names[i] for i in picked))


@dataclass(frozen=True, slots=True)
class Cleaning:
    """A cleaned series and what was done to it; `warning` is one line for the whole series, or None."""

    series: Series
    unknown: int
    duplicates: int
    conflicts: tuple[float, ...]
    rejected: tuple[tuple[int, str], ...]

    @property
    def warning(self) -> str | None:
        """Everything that was odd, in one line."""
        parts: list[str] = []
        if self.rejected:
            line, why = self.rejected[0]
            parts.append(f"{len(self.rejected)} rows rejected (first: line {line}, {why})")
        if self.conflicts:
            parts.append(
                f"{len(self.conflicts)} conflicting values, larger kept (first at {rfc3339(self.conflicts[0])})"
            )
        if self.duplicates:
            parts.append(f"{self.duplicates} rows repeated, counted once")
        if self.unknown:
            parts.append(f"{self.unknown} of {len(self.series.values)} steps unknown")
        return f"{self.series.name}: " + "; ".join(parts) if parts else None


def clean_rows(
    rows: Iterable[RawRow], *, name: str = "series", step_s: int | None = None, first_line: int = 1
) -> Cleaning:
    """Rows of (RFC 3339 time or epoch seconds, value) as a series on a grid; see the module for the rules.

    `step_s` None takes the commonest distance between neighbours. Rows that cannot be read are counted and reported;
    InputError when none is left or when the grid would be longer than MAX_SLOTS.
    """
    instants, duplicates, conflicts, rejected = _gather(rows, first_line)
    if not instants:
        why = f"; line {rejected[0][0]}: {rejected[0][1]}" if rejected else ""
        raise InputError(f"{name}: no row could be used{why}")
    times = np.array(sorted(instants))
    step = step_s if step_s is not None else _commonest_step(times)
    start = math.floor(times[0] / step) * step
    slots = np.floor((times - start) / step).astype(np.int64)
    length = int(slots[-1]) + 1
    if length > MAX_SLOTS:
        raise InputError(f"{name}: spans {length} steps of {step} s, at most {MAX_SLOTS} are taken")
    found = np.array([instants[at] for at in times])
    known = ~np.isnan(found)
    values = np.full(length, np.nan)
    values[slots[known]] = 0.0
    np.add.at(values, slots[known], found[known])
    series = Series(values, step, float(start), name)
    return Cleaning(series, int(np.isnan(values).sum()), duplicates, tuple(sorted(conflicts)), tuple(rejected))


def _gather(
    rows: Iterable[RawRow], first_line: int
) -> tuple[dict[float, float], int, set[float], list[tuple[int, str]]]:
    """Value by instant (NaN for none given), repeats, instants in conflict, rows that cannot be read."""
    instants: dict[float, float] = {}
    duplicates, conflicts, rejected = 0, set[float](), list[tuple[int, str]]()
    for line, (when, what) in enumerate(rows, first_line):
        try:
            at, value = _instant(when), _count(what)
        except InputError as error:
            rejected.append((line, str(error)))
            continue
        before = instants.get(at)
        if before is None or math.isnan(before):
            instants[at] = value
        elif value == before:
            duplicates += 1
        elif not math.isnan(value):
            conflicts.add(at)
            instants[at] = max(before, value)
    return instants, duplicates, conflicts, rejected


def _instant(text: str) -> float:
    try:
        at = float(text)
    except ValueError:
        at = parse_time(text.strip(), "timestamp")
    if not abs(at) < FARTHEST_S:
        raise InputError(f"timestamp: must be RFC 3339 or seconds, within 1,900 years of 1970, is {text[:40]!r}")
    return at


def _count(given: str | float | None) -> float:
    """A count; NaN where none is given."""
    if given is None or (isinstance(given, str) and not given.strip()):
        return math.nan
    try:
        value = float(given)
    except ValueError:
        raise InputError(f"value: must be a number, is {str(given)[:40]!r}") from None
    if math.isnan(value):
        return value
    if not 0 <= value <= 1e15:
        raise InputError(f"value: must be 0 or more and finite, is {value:g}")
    return value


def _commonest_step(times: FloatArray) -> int:
    """The commonest distance of neighbours, the smaller of two equally common; 60 s for a single row."""
    distances = Counter(int(d) for d in np.diff(times) if d >= 1)
    if not distances:
        return 60
    return min(distances, key=lambda d: (-distances[d], d))

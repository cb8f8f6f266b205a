"""Announced events (promotions, launches, maintenance) as values, and the table that holds them.

An announcement is the one thing about the future that a policy may know: what is to happen, when, and since when that
was known. The table is a CSV (`function,name,start,end,announced_at,peak_per_minute`, times in RFC 3339), so that a
person can write one.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prewarm.domain import FunctionKey, InputError, function_key, parse_time, rfc3339
from prewarm.traces.lines import LineFile, named_rows
from prewarm.traces.report import LoadLog

COLUMNS = ("function", "name", "start", "end", "announced_at", "peak_per_minute")
CALENDAR_FILE = "calendar.csv"


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """One announced event of a function; times are minutes since the epoch (UTC), the end is exclusive.

    `peak_per_minute` is the demand that the announcer expects, not what came.
    """

    function: FunctionKey
    name: str
    start_minute: int
    end_minute: int
    announced_minute: int
    peak_per_minute: float


def write_calendar(path: Path, entries: Sequence[CalendarEntry]) -> None:
    """The table of the entries."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for entry in entries:
            times = (entry.start_minute, entry.end_minute, entry.announced_minute)
            stamps = [rfc3339(minute * 60) for minute in times]
            writer.writerow([entry.function, entry.name, *stamps, repr(entry.peak_per_minute)])


def read_calendar(path: Path, log: LoadLog | None = None) -> tuple[CalendarEntry, ...]:
    """The entries of a table; InputError at the first broken row unless a lenient `log` is given."""
    log = log or LoadLog(strict=True)
    entries = []
    with LineFile(path, log) as lines:
        for line, cells in named_rows(lines, log, COLUMNS):
            try:
                entries.append(_entry(cells))
            except InputError as error:
                log.reject(path, line, str(error))
            else:
                log.accept()
    return tuple(entries)


def _entry(cells: Sequence[str]) -> CalendarEntry:
    start, end, announced = (
        int(parse_time(cell, name) // 60) for cell, name in zip(cells[2:5], COLUMNS[2:5], strict=True)
    )
    if end <= start:
        raise InputError(f"end: must be after start, is {cells[3][:40]!r}")
    try:
        peak = float(cells[5])
    except ValueError:
        peak = math.nan
    if not 0 <= peak <= 1e9:
        raise InputError(f"peak_per_minute: must be 0 to 1e9, is {cells[5][:40]!r}")
    return CalendarEntry(function_key(cells[0]), cells[1], start, end, announced, peak)

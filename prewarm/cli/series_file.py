"""Reads the series that `prewarm forecast` and `prewarm backtest` are given: a CSV, or a request as the API takes it.

A CSV is read line by line; columns are found by name (`timestamp`, `value`, and `function` where there are several).
What was odd about a series is one line on the standard error, for the first few series.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click
import orjson

from prewarm.domain import InputError
from prewarm.forecast.series import Cleaning, RawRow, Series, clean_rows

MOST_ROWS = 5_000_000
WARNINGS_SHOWN = 20


def read_series(path: Path, step_s: int | None) -> tuple[Series, ...]:
    """The series of a CSV ("-": standard input), by function in order of their names; oddities are told on stderr."""
    with _opened(path) as lines:
        rows = _rows_by_function(lines, str(path))
    cleanings = [clean_rows(found, name=name, step_s=step_s, first_line=2) for name, found in sorted(rows.items())]
    _tell(cleanings)
    return tuple(cleaning.series for cleaning in cleanings)


def read_json(path: Path) -> object:
    """The decoded JSON of a file; InputError naming it when it is none (NaN is not JSON)."""
    try:
        with _opened(path) as lines:
            return orjson.loads(lines.read())
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: is not JSON: {error}") from None


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    if str(path) == "-":
        yield sys.stdin
        return
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield lines
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None


def _rows_by_function(lines: TextIO, place: str) -> dict[str, list[RawRow]]:
    reader = csv.reader(lines)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        for needed in ("timestamp", "value"):
            if needed not in header:
                raise InputError(f"{place}: line 1 must name a column {needed!r}, has {', '.join(header)[:80]!r}")
        at, value = header.index("timestamp"), header.index("value")
        who = header.index("function") if "function" in header else None
        rows: dict[str, list[RawRow]] = {}
        for count, row in enumerate(reader):
            if count >= MOST_ROWS:
                raise InputError(f"{place}: more than {MOST_ROWS} rows; split the file by function")
            if not row:
                continue
            name = "series" if who is None else _cell(row, who).strip() or "series"
            rows.setdefault(name, []).append((_cell(row, at), _cell(row, value)))
    except csv.Error as error:
        raise InputError(f"{place}: line {reader.line_num}: {error}") from None
    if not rows:
        raise InputError(f"{place}: has no rows below its header")
    return rows


def _cell(row: list[str], column: int) -> str:
    return row[column] if column < len(row) else ""


def _tell(cleanings: list[Cleaning]) -> None:
    warnings = [c.warning for c in cleanings if c.warning is not None]
    for warning in warnings[:WARNINGS_SHOWN]:
        click.echo(f"prewarm: {warning}", err=True)
    if len(warnings) > WARNINGS_SHOWN:
        click.echo(f"prewarm: and {len(warnings) - WARNINGS_SHOWN} more series with remarks", err=True)

"""Streams files whose columns are minutes: a few named cells, then hundreds of numbers in any column order.

This is the inner loop of every minute format, so a regular line (digits and commas only among its numbers) goes
through numpy's text parser in one call; anything else is read cell by cell, to say which cell broke which rule. An
empty cell is unknown (NaN), never zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from prewarm.domain import Float32Array, FloatArray, InputError, IntArray
from prewarm.traces.lines import LineFile, cell_count_reason, column_positions, header_cells, split_cells
from prewarm.traces.report import LoadLog

LARGEST_CELL = 1e9  # a count above this in one minute is a broken row
LARGEST_COLUMN = 1440
_MINUTE_NAME = re.compile(r"\d{1,4}")


@dataclass(frozen=True, slots=True, eq=False)
class MatrixRow:
    """One line: its number, the named cells, and its non-zero cells as rising minutes with values (NaN: empty)."""

    line: int
    cells: list[str]
    minute: IntArray
    value: Float32Array
    digest: int


def minute_columns(header: Sequence[str]) -> list[int]:
    """Positions of the columns whose name is a minute number 0..1440."""
    return [at for at, name in enumerate(header) if _MINUTE_NAME.fullmatch(name) and int(name) <= LARGEST_COLUMN]


class MatrixFile:
    """Reads rows of one open file; `minutes` are the column names as numbers, sorted.

    InputError where a named column or every minute column is missing, or a minute stands twice.
    """

    def __init__(self, lines: LineFile, log: LoadLog, wanted: Sequence[str], *, whole: bool) -> None:
        self._log = log
        self._path = lines.path
        self._rows = iter(lines)
        self._whole = whole
        header = header_cells(next(self._rows, (1, b""))[1])
        self._width = len(header)
        self._wanted = column_positions(header, wanted, lines.path)
        self._columns = minute_columns(header)
        names = np.array([int(header[at]) for at in self._columns], dtype=np.int64)
        if not len(names):
            raise InputError(f"{lines.path}: has no minute columns")
        if len(np.unique(names)) != len(names):
            raise InputError(f"{lines.path}: a minute column stands there twice")
        self._order = np.argsort(names)
        self._in_order = bool((np.diff(names) > 0).all())
        self.minutes: IntArray = names[self._order]
        self._first, last = self._columns[0], self._columns[-1]
        self._together = last - self._first + 1 == len(self._columns)
        self._behind = self._width - last - 1
        # where the named cells stand when a block of minutes is taken out
        self._outside = [at if at < self._first else at - len(names) for at in self._wanted]

    def rows(self) -> Iterator[MatrixRow]:
        """Every usable row; the others are rejected with line and reason."""
        for number, line in self._rows:
            parsed = self._fast(line) or self._slow(number, line)
            if parsed is None:
                continue
            cells, numbers = parsed
            if not self._in_order:
                numbers = numbers[self._order]
            used = np.flatnonzero(numbers)
            yield MatrixRow(number, cells, self.minutes[used], numbers[used].astype(np.float32), hash(line))

    def _fast(self, line: bytes) -> tuple[list[str], FloatArray | IntArray] | None:
        """Named cells and numbers of a regular line; None where it needs the slow way."""
        if not self._together or b'"' in line:
            return None
        front = line.split(b",", self._first)
        tail = front.pop().rsplit(b",", self._behind)
        numbers = _whole_numbers(tail[0]) if self._whole else _numbers(tail[0])
        if (
            numbers is None
            or len(front) != self._first
            or len(tail) != self._behind + 1
            or len(numbers) != len(self._columns)
            or not 0 <= numbers.min() <= numbers.max() <= LARGEST_CELL
        ):
            return None
        named = front + tail[1:]
        return [named[at].decode("utf-8", "replace").strip() for at in self._outside], numbers

    def _slow(self, number: int, line: bytes) -> tuple[list[str], FloatArray | IntArray] | None:
        cells = split_cells(line)
        if cells is None or len(cells) != self._width:
            self._log.reject(self._path, number, cell_count_reason(cells, self._width))
            return None
        numbers = np.empty(len(self._columns))
        for at, column in enumerate(self._columns):
            value = _cell_value(cells[column].strip(), whole=self._whole)
            if isinstance(value, str):
                self._log.reject(self._path, number, f"minute {self._name(at)}: {value}")
                return None
            numbers[at] = value
        self._log.count("empty cells (unknown minutes)", int(np.isnan(numbers).sum()))
        return [cells[at].strip() for at in self._wanted], numbers

    def _name(self, at: int) -> int:
        return int(self.minutes[np.flatnonzero(self._order == at)[0]])


def _whole_numbers(block: bytes) -> IntArray | None:
    """Numbers of a block of digits and commas; None where it holds anything else or an empty cell."""
    if block.translate(None, b"0123456789,") or b",," in block or not block[:1].isdigit() or not block[-1:].isdigit():
        return None
    return np.fromstring(block, dtype=np.int64, sep=",")


def _numbers(block: bytes) -> FloatArray | None:
    """Numbers of a block of decimals; None where a cell is not one."""
    if b"_" in block:
        return None
    try:
        return np.array([float(cell) for cell in block.split(b",")])
    except ValueError:
        return None


def _cell_value(text: str, *, whole: bool) -> float | str:
    """The number of a cell, NaN if it is empty, or the rule that it breaks."""
    if not text:
        return float("nan")
    try:
        value = float(text.replace("_", "?"))
    except ValueError:
        return f"must be a number, is {text[:40]!r}"
    if not 0 <= value <= LARGEST_CELL:
        return f"must be 0 to {LARGEST_CELL:.0f}, is {text[:40]!r}"
    if whole and value != int(value):
        return f"must be a whole number, is {text[:40]!r}"
    return value

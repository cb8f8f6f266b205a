"""What happened while a trace was read: rows read, rows rejected and why, rows merged, values replaced.

A reader that drops a row in silence makes every later figure wrong without a trace of it, so each one hands its losses
to a `LoadLog`, and the `Trace` carries the result. Rejections are kept up to `KEPT` and counted in full, so a file that
is broken throughout cannot fill the memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prewarm.domain import InputError

KEPT = 100


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that was left out: file, line (the header is line 1) and the rule it broke."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Merged:
    """A key that stood on several rows of one file; `rows` is how many became one."""

    file: str
    key: str
    rows: int

    def __str__(self) -> str:
        return f"{self.file}: {self.rows} rows of {self.key} merged into one"


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The account of one load. `counters` names what was replaced or left aside, for example `no duration`."""

    rows_read: int = 0
    rejected_rows: int = 0
    rejected: tuple[Rejected, ...] = ()
    merged: tuple[Merged, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)

    def warnings(self) -> tuple[str, ...]:
        """One line for people per rejected row (up to `KEPT`), merged key and counter."""
        lines = [str(row) for row in self.rejected]
        if self.rejected_rows > len(self.rejected):
            lines.append(f"and {self.rejected_rows - len(self.rejected)} more rejected rows")
        lines += [str(key) for key in self.merged]
        lines += [f"{name}: {count}" for name, count in self.counters.items()]
        return tuple(lines)


@dataclass(slots=True)
class LoadLog:
    """Collects the report while a reader runs; with `strict`, the first rejection raises InputError instead."""

    strict: bool = False
    rows_read: int = 0
    rejected_rows: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    merged: Counter[tuple[str, str]] = field(default_factory=Counter)
    counters: Counter[str] = field(default_factory=Counter)

    def accept(self) -> None:
        """One more row was used."""
        self.rows_read += 1

    def reject(self, file: Path, line: int, reason: str) -> None:
        """Leave a row out; InputError in strict mode."""
        row = Rejected(str(file), line, reason)
        if self.strict:
            raise InputError(str(row))
        self.rejected_rows += 1
        if len(self.rejected) < KEPT:
            self.rejected.append(row)

    def merge(self, file: Path, key: str) -> None:
        """A further row of a key that the file already held."""
        self.merged[str(file), key] += 1

    def count(self, name: str, by: int = 1) -> None:
        """Add to a named counter; zero leaves no counter behind."""
        self.counters[name] += by
        if not self.counters[name]:
            del self.counters[name]

    def require_rows(self, place: Path | str) -> None:
        """InputError when nothing was left to use, with the first reason if there is one."""
        if self.rows_read == 0:
            why = f"; {self.rejected[0]}" if self.rejected else ""
            raise InputError(f"{place}: no usable row in it{why}")

    def result(self) -> LoadReport:
        """The frozen report."""
        merged = tuple(Merged(file, key, 1 + more) for (file, key), more in self.merged.items())
        return LoadReport(self.rows_read, self.rejected_rows, tuple(self.rejected), merged, dict(self.counters))

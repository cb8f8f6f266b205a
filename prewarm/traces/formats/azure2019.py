"""Reader of the Azure Functions 2019 schema: invocations per minute, durations and memory (Shahrad et al., ATC'20).

Columns are named 1 to 1440 and column m is minute m-1 of its day; a sample may hold only some (480 to 959). Any number
of days in any order make one series per function. Rules for what the files leave open:

- a function without a row on a day had no invocations then; before its first day it is not yet seen (`first_seen`);
- a day (or minute) that no file covers is unknown; an empty cell is unknown for that function;
- rows of one key in one day become one: byte-identical rows count once, different ones are added up;
- the trigger is that of the latest day; memory is per app and stands at each of its functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from prewarm.domain import BoolArray, InputError
from prewarm.traces.formats.azure2019_files import Kind, SchemaFile, origin_minute, schema_files
from prewarm.traces.formats.azure2019_stats import WeightedMeans
from prewarm.traces.formats.matrix import MatrixFile, MatrixRow
from prewarm.traces.keys import unique_keys
from prewarm.traces.lines import LineFile, Progress, SourceFile, combined_digest
from prewarm.traces.model import Trace, derive_concurrency
from prewarm.traces.report import LoadLog
from prewarm.traces.sparse import SparseGrower

DAY = 1440
Level = Literal["function", "app"]


@dataclass(slots=True)
class _Rows:
    """What the invocation files told: identities in order of appearance, and the growing sparse rows."""

    level: Level
    index: dict[tuple[str, str, str], int] = field(default_factory=dict)
    trigger: list[str] = field(default_factory=list)
    first_seen: list[int] = field(default_factory=list)
    covered: list[tuple[int, int]] = field(default_factory=list)
    by_app: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    counts: SparseGrower = field(default_factory=SparseGrower)

    def place(self, identity: tuple[str, str, str], trigger: str, minute: int) -> int:
        """The index of a function (or app), new or known; notes its trigger and first minute."""
        if self.level == "app":
            identity = (*identity[:2], "")
        at = self.index.get(identity)
        if at is None:
            at = self.index[identity] = len(self.trigger)
            self.trigger.append(trigger)
            self.first_seen.append(minute)
            self.by_app.setdefault(identity[:2], []).append(at)
        elif self.level == "app" and trigger not in self.trigger[at].split("+"):
            self.trigger[at] = "+".join(sorted([*self.trigger[at].split("+"), trigger]))
        elif self.level == "function":
            self.trigger[at] = trigger
        self.first_seen[at] = min(self.first_seen[at], minute)
        return at

    def owners(self, key: Sequence[str]) -> Sequence[int]:
        """Functions that a row of a statistics file speaks of: one function, or all of an app."""
        if len(key) == 2 or self.level == "app":
            return self.by_app.get((key[0], key[1]), [])
        at = self.index.get((key[0], key[1], key[2]))
        return [] if at is None else [at]


def read_azure2019(
    paths: Sequence[Path], *, level: Level = "function", strict: bool = False, progress: Progress | None = None
) -> Trace:
    """One trace of the schema's files among `paths`; `level="app"` adds up the functions of each app.

    InputError where no invocation file is among them, or no row is usable; in strict mode for the first broken row.
    """
    log = LoadLog(strict)
    files = schema_files(paths)
    by_kind = {kind: [file for file in files if file.kind is kind] for kind in Kind}
    if not by_kind[Kind.INVOCATIONS]:
        raise InputError(f"{', '.join(map(str, paths)) or 'no file'}: no invocations file of the Azure 2019 schema")
    rows = _Rows(level)
    sources = _read_invocations(by_kind[Kind.INVOCATIONS], rows, log, progress)
    log.require_rows(by_kind[Kind.INVOCATIONS][0].path)
    return _finish(rows, by_kind, sources, log, progress)


def _read_invocations(
    files: Sequence[SchemaFile], rows: _Rows, log: LoadLog, progress: Progress | None
) -> list[SourceFile]:
    sources = []
    seen: dict[tuple[str, ...], set[int]] = {}
    for file, before in zip(files, [None, *files[:-1]], strict=True):
        if before is None or before.day != file.day:
            seen = {}
        with LineFile(file.path, log, progress) as lines:
            names = ["HashOwner", "HashApp", "HashFunction"] + (["Trigger"] if "Trigger" in file.header else [])
            matrix = MatrixFile(lines, log, names, whole=True)
            first_column = int(matrix.minutes[0])
            base = (file.day - 1) * DAY - (1 if first_column else 0)  # a file that names them 0 to 1439 counts from 0
            first = base + first_column
            rows.covered += [(base + int(minute), base + int(minute) + 1) for minute in matrix.minutes]
            for row in matrix.rows():
                _take_row(row, rows, seen, log, (file.path, base, first))
            sources.append(lines.source())
    return sources


def _take_row(
    row: MatrixRow, rows: _Rows, seen: dict[tuple[str, ...], set[int]], log: LoadLog, place: tuple[Path, int, int]
) -> None:
    path, base, first = place
    owner, app, function = row.cells[:3]
    if not (owner and app and function):
        log.reject(path, row.line, "HashOwner, HashApp and HashFunction must not be empty")
        return
    log.accept()
    identity = (owner, app, function)
    at = rows.place(identity, row.cells[3] if len(row.cells) > 3 else "", first)
    if identity in seen:
        log.merge(path, "/".join(identity))
        if row.digest in seen[identity]:
            return
    seen.setdefault(identity, set()).add(row.digest)
    rows.counts.add(at, row.minute + base, row.value)


def _finish(
    rows: _Rows,
    by_kind: dict[Kind, list[SchemaFile]],
    sources: list[SourceFile],
    log: LoadLog,
    progress: Progress | None,
) -> Trace:
    functions = len(rows.trigger)
    means = {kind: WeightedMeans(kind, functions) for kind in (Kind.DURATIONS, Kind.MEMORY)}
    for kind, reader in means.items():
        sources += [reader.read(file, rows.owners, log, progress) for file in by_kind[kind]]
    duration_ms, duration_imputed = means[Kind.DURATIONS].result(log)
    memory_mb, memory_imputed = means[Kind.MEMORY].result(log)
    start, known = _coverage(rows.covered)
    counts = rows.counts.finish(functions, start)
    identities = list(rows.index)
    parts = [(owner, app, name) if name else ("", owner, app) for owner, app, name in identities]
    return Trace(
        format="azure2019" if rows.level == "function" else "azure2019-app",
        keys=unique_keys(parts),
        labels=tuple(name or app for _, app, name in identities),
        start_minute=start + origin_minute(file.path for file in by_kind[Kind.INVOCATIONS]),
        minutes=len(known),
        step_s=60,
        indptr=counts.indptr,
        minute=counts.minute,
        count=counts.value,
        concurrency=derive_concurrency(counts.value, counts.indptr, duration_ms),
        concurrency_given=False,
        memory_mb=memory_mb,
        duration_ms=duration_ms,
        memory_imputed=memory_imputed,
        duration_imputed=duration_imputed,
        first_seen=np.array(rows.first_seen, dtype=np.int32) - np.int32(start),
        trigger=tuple(rows.trigger),
        known=known,
        sources=tuple(sources),
        sha256=combined_digest(sources),
        report=log.result(),
    )


def _coverage(covered: Sequence[tuple[int, int]]) -> tuple[int, BoolArray]:
    """(first minute, which minutes from there on a file covers)."""
    start = min(begin for begin, _ in covered)
    known = np.zeros(max(end for _, end in covered) - start, dtype=bool)
    for begin, end in covered:
        known[begin - start : end - start] = True
    return start, known

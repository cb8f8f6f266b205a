"""Builders of small trace files, in the shapes that the public ones have."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

INVOCATIONS = "invocations_per_function_md.anon.d{day:02d}.csv"
DURATIONS = "function_durations_percentiles.anon.d{day:02d}.csv"
MEMORY = "app_memory_percentiles.anon.d{day:02d}.csv"
DURATION_COLUMNS = ("HashOwner", "HashApp", "HashFunction", "Average", "Count", "percentile_Average_50")
MEMORY_COLUMNS = ("HashOwner", "HashApp", "SampleCount", "AverageAllocatedMb", "AverageAllocatedMb_pct50")

Cells = Mapping[int, object]


def write_lines(path: Path, lines: Sequence[str], *, end: str = "\n", bom: bool = False) -> Path:
    """A text file, packed with gzip when its name ends in .gz."""
    data = ("\ufeff" if bom else "").encode() + "".join(line + end for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def matrix_line(names: Sequence[str], minutes: Sequence[int], cells: Cells) -> str:
    """One row of a minute matrix: the named cells, then 0 but for `cells`."""
    return ",".join([*names, *(str(cells.get(minute, 0)) for minute in minutes)])


def write_invocations(
    folder: Path, rows: Sequence[tuple[str, str, str, str, Cells]], *, day: int = 1, minutes: Sequence[int] = ()
) -> Path:
    """An invocations file of the Azure 2019 schema: rows of (owner, app, function, trigger, counts)."""
    columns = minutes or range(1, 1441)
    header = ",".join(["HashOwner", "HashApp", "HashFunction", "Trigger", *map(str, columns)])
    lines = [header, *(matrix_line(row[:4], columns, row[4]) for row in rows)]
    return write_lines(folder / INVOCATIONS.format(day=day), lines)


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    """A CSV of named columns."""
    return write_lines(path, [",".join(columns), *(",".join(map(str, row)) for row in rows)])

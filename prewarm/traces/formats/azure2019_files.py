"""Which files of a folder belong to the Azure Functions 2019 schema, and which day each one holds.

The release comes as three files a day (`invocations_per_function_md.anon.d01.csv`, and the same for
`function_durations_percentiles` and `app_memory_percentiles`); samples of it are called `NAME_invocations.csv`,
`NAME_durations.csv`, `NAME_memory.csv`. So the kind is told by the columns and only the day by the name; a name without
a day is day 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import orjson

from prewarm.domain import InputError
from prewarm.traces.formats.matrix import minute_columns
from prewarm.traces.lines import first_header

ORIGIN_FILE = "trace.json"  # written beside synthetic traces: when the trace begins
SHAPES_FILE = "shapes.csv"  # written beside synthetic traces: the shape of each function
LAST_DAY = 366

_DAY = re.compile(r"(?:^|[._-])d0*(\d{1,3})(?=[._-])")
_COMPANIONS = (
    ("invocations_per_function_md", ("function_durations_percentiles", "app_memory_percentiles")),
    ("invocations", ("durations", "memory")),
)
_OWN_COLUMNS = {"HashOwner", "HashApp"}


class Kind(StrEnum):
    """What a file of the schema holds."""

    INVOCATIONS = "invocations"
    DURATIONS = "durations"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """A file of the schema: its kind, its day (from 1) and its column names."""

    path: Path
    kind: Kind
    day: int
    header: tuple[str, ...]


def file_kind(header: Iterable[str]) -> Kind | None:
    """The kind that the columns tell, None where they are not of this schema."""
    names = set(header)
    if not names >= _OWN_COLUMNS:
        return None
    if {"AverageAllocatedMb", "SampleCount"} <= names:
        return Kind.MEMORY
    if "HashFunction" not in names:
        return None
    if {"Average", "Count"} <= names:
        return Kind.DURATIONS
    return Kind.INVOCATIONS if minute_columns(list(header)) else None


def file_day(path: Path) -> int:
    """The day in the name (`d01`), 1 where there is none; InputError outside 1..366."""
    found = _DAY.search(path.name)
    day = int(found.group(1)) if found else 1
    if not 1 <= day <= LAST_DAY:
        raise InputError(f"{path}: the day in the name must be 1 to {LAST_DAY}, is {day}")
    return day


def schema_files(paths: Iterable[Path]) -> tuple[SchemaFile, ...]:
    """The files of the schema among `paths`, sorted by day, kind and name; others are left out."""
    files = []
    for path in paths:
        header = tuple(first_header(path))
        kind = file_kind(header)
        if kind is not None:
            files.append(SchemaFile(path, kind, file_day(path), header))
    return tuple(sorted(files, key=lambda file: (file.day, file.kind, file.path.name, str(file.path))))


def companions(invocations: Path) -> tuple[Path, ...]:
    """Durations and memory files that lie beside an invocations file under the matching names."""
    for own, others in _COMPANIONS:
        if own in invocations.name:
            beside = (invocations.with_name(invocations.name.replace(own, other)) for other in others)
            return tuple(path for path in beside if path.is_file())
    return ()


def origin_minute(paths: Iterable[Path]) -> int:
    """Minute since the epoch of midnight of day 1, from `trace.json` beside the files; 0 where there is none."""
    for folder in sorted({path.parent for path in paths}):
        note = folder / ORIGIN_FILE
        if note.is_file():
            return _read_origin(note)
    return 0


def _read_origin(note: Path) -> int:
    try:
        values = orjson.loads(note.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise InputError(f"{note}: is not JSON: {error}") from None
    start = values.get("start_minute") if isinstance(values, dict) else None
    if not isinstance(start, int) or not 0 <= start < 2**31:
        raise InputError(f"{note}: start_minute must be a whole number of minutes since the epoch")
    return start

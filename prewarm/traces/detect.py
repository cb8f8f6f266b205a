"""Reads a trace whatever its format: the columns tell which reader it needs, never the file's name.

One file, a folder, or several files of one data set; gzip is seen by its first bytes. In a folder, the format with the
most telling columns wins in the order of `_Format`, and what does not belong to it is left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from prewarm.domain import InputError
from prewarm.traces.calendar_entries import CALENDAR_FILE
from prewarm.traces.call_graph import GRAPH_FILE
from prewarm.traces.formats.azure2019 import read_azure2019
from prewarm.traces.formats.azure2019_files import SHAPES_FILE, companions, file_kind
from prewarm.traces.formats.azure2021 import COLUMNS as AZURE2021_COLUMNS
from prewarm.traces.formats.azure2021 import read_azure2021
from prewarm.traces.formats.concurrency import ID_COLUMN as APP_COLUMN
from prewarm.traces.formats.concurrency import read_concurrency
from prewarm.traces.formats.exemplars import ID_COLUMN as SERIES_COLUMN
from prewarm.traces.formats.exemplars import read_exemplars
from prewarm.traces.formats.matrix import minute_columns
from prewarm.traces.formats.regions import is_region_table, read_regions
from prewarm.traces.formats.requestlog import is_request_log, read_request_log
from prewarm.traces.lines import Progress, first_header
from prewarm.traces.model import Trace
from prewarm.traces.report import LoadReport


class _Format(StrEnum):
    AZURE2019 = "azure2019"
    AZURE2021 = "azure2021"
    CONCURRENCY = "concurrency"
    EXEMPLARS = "exemplars"
    REGIONS = "regions"
    REQUEST_LOG = "requestlog"


FORMATS = tuple(form.value for form in _Format)


def read_trace(
    path: Path | str | Sequence[Path | str],
    *,
    apps: Path | str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Trace:
    """The trace in a file, a folder, or several files of the Azure 2019 schema.

    `apps` is the table with each app's memory for a concurrency matrix. An invocations file of the Azure schema takes
    the durations and memory files beside it along, if they bear the matching names. InputError, in one line naming the
    place and the rule, where the format is unknown, nothing usable is left, or (strict) at the first rejected row.
    """
    files = _files(path)
    kinds = {file: detect_format(file) for file in files}
    found = next((form for form in _Format if form in kinds.values()), None)
    place = path if isinstance(path, (str, Path)) else ", ".join(map(str, path))
    if found is None:
        raise InputError(f"{place}: not a trace that prewarm can read; it reads {', '.join(FORMATS)}")
    chosen = [file for file in files if kinds[file] is found]
    if apps is not None and found is not _Format.CONCURRENCY:
        raise InputError(f"{place}: a table of apps belongs to a concurrency matrix, this is {found}")
    if found is _Format.AZURE2019:
        if len(files) == 1:
            chosen += companions(files[0])
        trace = read_azure2019(chosen, strict=strict, progress=progress)
    else:
        trace = _read_single(found, chosen, Path(apps) if apps else None, strict=strict, progress=progress)
    unused = len(set(files) - set(chosen))
    return replace(trace, report=_with_counter(trace.report, "other files left out", unused)) if unused else trace


def detect_format(path: Path) -> _Format | None:
    """The format that a file's columns tell; None where it is none of ours."""
    header = first_header(path)
    names = set(header)
    if file_kind(header) is not None:
        return _Format.AZURE2019
    if set(AZURE2021_COLUMNS) <= names:
        return _Format.AZURE2021
    if minute_columns(header):
        if SERIES_COLUMN in names:
            return _Format.EXEMPLARS
        return _Format.CONCURRENCY if APP_COLUMN in names else None
    if is_region_table(header):
        return _Format.REGIONS
    return _Format.REQUEST_LOG if is_request_log(header) else None


def _files(path: Path | str | Sequence[Path | str]) -> list[Path]:
    """The files meant by a path; of a folder, its own CSV files (packed or not), sorted by name."""
    given = [Path(path)] if isinstance(path, (str, Path)) else [Path(one) for one in path]
    files = []
    for one in given:
        if one.is_dir():
            files += sorted(file for file in one.iterdir() if _may_be_trace(file.name))
        elif one.exists():
            files.append(one)
        else:
            raise InputError(f"{one}: there is no such file or folder")
    if not files:
        raise InputError(f"{', '.join(map(str, given)) or 'trace'}: holds no CSV file")
    return files


def _may_be_trace(name: str) -> bool:
    """A CSV file (Azure 2021 is a .txt) other than those that stand beside a synthetic trace."""
    return name.endswith((".csv", ".csv.gz", ".txt", ".txt.gz")) and name not in {
        GRAPH_FILE,
        CALENDAR_FILE,
        SHAPES_FILE,
    }


def _read_single(
    form: _Format, files: Sequence[Path], apps: Path | None, *, strict: bool, progress: Progress | None
) -> Trace:
    if len(files) > 1:
        raise InputError(f"{files[0].parent}: holds {len(files)} traces of the format {form}; name one of them")
    path = files[0]
    if form is _Format.CONCURRENCY:
        return read_concurrency(path, apps, strict=strict, progress=progress)
    readers = {
        _Format.AZURE2021: read_azure2021,
        _Format.REGIONS: read_regions,
        _Format.REQUEST_LOG: read_request_log,
    }
    if form is _Format.EXEMPLARS:
        return read_exemplars(path, strict=strict, progress=progress)
    return readers[form](path, strict=strict, progress=progress)


def _with_counter(report: LoadReport, name: str, count: int) -> LoadReport:
    return replace(report, counters={**report.counters, name: count})

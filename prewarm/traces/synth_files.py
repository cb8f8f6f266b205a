"""Writes a synthetic trace as a folder of the Azure 2019 schema, and reads it back with the truth behind it.

Three files a day, as the public release has them, so that every tool for that release reads the folder; beside them the
service graph, the calendar, the shape of each function, and `trace.json` with the seed and the first minute, which the
schema has no place for. A function has a row on every day from its first, also where that row is all zeros.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import orjson

from prewarm.domain import InputError
from prewarm.traces.calendar_entries import CALENDAR_FILE, read_calendar, write_calendar
from prewarm.traces.call_graph import GRAPH_FILE, read_graph, write_graph
from prewarm.traces.detect import read_trace
from prewarm.traces.formats.azure2019_files import ORIGIN_FILE, SHAPES_FILE
from prewarm.traces.generate.clock import DAY
from prewarm.traces.lines import LineFile, Progress, named_rows
from prewarm.traces.model import Trace
from prewarm.traces.report import LoadLog
from prewarm.traces.synth import SyntheticTrace

OWNER = "synthetic"
_DURATION_COLUMNS = ["HashOwner", "HashApp", "HashFunction", "Average", "Count", "percentile_Average_50"]
_MEMORY_COLUMNS = ["HashOwner", "HashApp", "SampleCount", "AverageAllocatedMb", "AverageAllocatedMb_pct50"]

Told = Callable[[int, int], None]  # days written, days in all


def claim_folder(folder: Path) -> None:
    """Make the folder; InputError where it cannot be made or holds anything, so that nothing is overwritten."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from error
    if any(folder.iterdir()):
        raise InputError(f"{folder}: must be empty or absent")


def write_synthetic(folder: Path, synthetic: SyntheticTrace, told: Told | None = None) -> None:
    """The files of the trace in an empty or absent folder (see `claim_folder`)."""
    claim_folder(folder)
    trace = synthetic.trace
    days = trace.minutes // DAY
    for day in range(days):
        _write_day(folder, trace, day)
        if told is not None:
            told(day + 1, days)
    write_graph(folder / GRAPH_FILE, synthetic.graph)
    write_calendar(folder / CALENDAR_FILE, synthetic.calendar)
    _write_rows(folder / SHAPES_FILE, [("function", "shape"), *zip(trace.keys, synthetic.shapes, strict=True)])
    note = {
        "format": "Azure Functions 2019 schema, synthetic",
        "start_minute": trace.start_minute,
        "timezone": synthetic.timezone,
        "seed": synthetic.seed,
        "functions": trace.functions,
        "days": days,
        "counts_sha256": trace.sha256,
    }
    (folder / ORIGIN_FILE).write_bytes(orjson.dumps(note, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def read_synthetic(folder: Path, progress: Progress | None = None) -> SyntheticTrace:
    """A folder that `write_synthetic` made; InputError where a part is missing or broken."""
    trace = read_trace(folder, strict=True, progress=progress)
    try:
        note = orjson.loads((folder / ORIGIN_FILE).read_bytes())
        timezone, seed = str(note["timezone"]), int(note["seed"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder / ORIGIN_FILE}: must be a synthetic trace's note with timezone and seed") from None
    log = LoadLog(strict=True)
    with LineFile(folder / SHAPES_FILE, log) as lines:
        shape_of = {cells[0]: cells[1] for _, cells in named_rows(lines, log, ["function", "shape"])}
    shapes = tuple(shape_of.get(key, "") for key in trace.keys)
    return SyntheticTrace(
        trace, read_graph(folder / GRAPH_FILE), read_calendar(folder / CALENDAR_FILE), shapes, timezone, seed
    )


def _write_day(folder: Path, trace: Trace, day: int) -> None:
    part = trace.window(day * DAY, (day + 1) * DAY)
    present = [i for i in range(trace.functions) if trace.first_seen[i] < (day + 1) * DAY]
    names = [key.split("/", 1) for key in trace.keys]
    calls = part.totals()
    suffix = f"anon.d{day + 1:02d}.csv"
    with (folder / f"invocations_per_function_md.{suffix}").open("w", encoding="ascii", newline="") as file:
        file.write(",".join(["HashOwner", "HashApp", "HashFunction", "Trigger", *map(str, range(1, DAY + 1))]) + "\n")
        for i in present:
            counts = np.zeros(DAY, dtype=np.int64)
            entries = slice(part.indptr[i], part.indptr[i + 1])
            counts[part.minute[entries]] = part.count[entries]
            file.write(",".join([OWNER, *names[i], trace.trigger[i], *map(str, counts.tolist())]) + "\n")
    durations = [int(value) for value in trace.duration_ms]
    rows = [[OWNER, *names[i], durations[i], int(calls[i]), durations[i]] for i in present]
    _write_rows(folder / f"function_durations_percentiles.{suffix}", [_DURATION_COLUMNS, *rows])
    samples: dict[str, list[int]] = {}
    for i in present:
        app = samples.setdefault(names[i][0], [0, int(trace.memory_mb[i])])
        app[0] += int(calls[i])
    rows = [[OWNER, app, count, memory, memory] for app, (count, memory) in samples.items()]
    _write_rows(folder / f"app_memory_percentiles.{suffix}", [_MEMORY_COLUMNS, *rows])


def _write_rows(path: Path, rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)

"""The table of a service graph: who calls whom, how often, and how much later (`graph.csv`).

The edges are the configuration's own `Call` values, so a graph that came with a trace and one that a user wrote in the
configuration are the same thing to the cascade.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from prewarm.domain import InputError, function_key
from prewarm.settings import Call
from prewarm.traces.lines import LineFile, named_rows
from prewarm.traces.report import LoadLog

COLUMNS = ("caller", "callee", "calls_per_invocation", "delay_s")
GRAPH_FILE = "graph.csv"
_LARGEST = {"calls_per_invocation": 10_000.0, "delay_s": 86_400.0}


def write_graph(path: Path, calls: Sequence[Call]) -> None:
    """The table of the edges."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for call in calls:
            writer.writerow([call.caller, call.callee, repr(call.calls_per_invocation), repr(call.delay_s)])


def read_graph(path: Path, log: LoadLog | None = None) -> tuple[Call, ...]:
    """The edges of a table; InputError at the first broken row unless a lenient `log` is given."""
    log = log or LoadLog(strict=True)
    calls = []
    with LineFile(path, log) as lines:
        for line, cells in named_rows(lines, log, COLUMNS):
            try:
                rate, delay_s = (_number(cell, name) for cell, name in zip(cells[2:], COLUMNS[2:], strict=True))
                calls.append(Call(function_key(cells[0], "caller"), function_key(cells[1], "callee"), rate, delay_s))
            except InputError as error:
                log.reject(path, line, str(error))
            else:
                log.accept()
    return tuple(calls)


def _number(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= _LARGEST[name]:
        raise InputError(f"{name}: must be 0 to {_LARGEST[name]:.0f}, is {text[:40]!r}")
    return value

"""Mean duration and memory per function from the percentile files of the Azure 2019 schema.

The files hold several rows of one key (over days, and by mistake within one), negative averages from a counter that
wrapped, and zeros from rounding. Rules: rows of a key become one mean weighted by Count or SampleCount; an average of
zero or less is replaced by its row's median if that is positive; a duration of zero with a median of zero is half a
millisecond; what is left without a value takes the documented default and is marked imputed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from prewarm.domain import BoolArray, FloatArray
from prewarm.traces.formats.azure2019_files import Kind, SchemaFile
from prewarm.traces.lines import LineFile, Progress, SourceFile, named_rows
from prewarm.traces.model import DEFAULT_DURATION_MS, DEFAULT_MEMORY_MB, SUB_MILLISECOND_MS
from prewarm.traces.report import LoadLog

LARGEST_VALUE = 1e9  # ms or MB; anything above is a broken row

Owners = Callable[[Sequence[str]], Sequence[int]]  # (owner, app[, function]) -> functions of the trace


@dataclass(frozen=True, slots=True)
class _Columns:
    average: str
    weight: str
    median: str
    noun: str


_COLUMNS = {
    Kind.DURATIONS: _Columns("Average", "Count", "percentile_Average_50", "duration"),
    Kind.MEMORY: _Columns("AverageAllocatedMb", "SampleCount", "AverageAllocatedMb_pct50", "memory"),
}


class WeightedMeans:
    """Sum and weight per function of the trace, fed row by row from any number of files of one kind."""

    def __init__(self, kind: Kind, functions: int) -> None:
        self._columns = _COLUMNS[kind]
        self._kind = kind
        self._sum = np.zeros(functions)
        self._weight = np.zeros(functions)
        self._imputed = np.zeros(functions, dtype=bool)

    def read(self, file: SchemaFile, owners: Owners, log: LoadLog, progress: Progress | None = None) -> SourceFile:
        """Add one file; `owners` tells which functions a key's value belongs to."""
        names = ["HashOwner", "HashApp"] + (["HashFunction"] if "HashFunction" in file.header else [])
        columns = self._columns
        median = [columns.median] if columns.median in file.header else []
        seen: set[tuple[str, ...]] = set()
        with LineFile(file.path, log, progress) as lines:
            for line, cells in named_rows(lines, log, [*names, columns.average, columns.weight, *median]):
                key = tuple(cells[: len(names)])
                average, weight = _number(cells[len(names)]), _number(cells[len(names) + 1])
                middle = _number(cells[-1]) if median else None
                if average is None or weight is None or weight < 0:
                    log.reject(file.path, line, f"{columns.average} and {columns.weight} must be numbers below 1e9")
                    continue
                if key in seen:
                    log.merge(file.path, "/".join(key))
                seen.add(key)
                self._add(owners(key), self._usable(average, middle, log), max(weight, 1.0), log)
            return lines.source()

    def _usable(self, average: float, median: float | None, log: LoadLog) -> float | None:
        """The row's value by the rules above, None where it has none; negative marks a rounded zero."""
        if average > 0:
            return average
        noun = "" if self._kind is Kind.DURATIONS else " memory"
        log.count(("negative" if average < 0 else "zero") + noun)
        if median is not None and median > 0:
            return median
        return -SUB_MILLISECOND_MS if average == 0 and median == 0 and self._kind is Kind.DURATIONS else None

    def _add(self, functions: Sequence[int], value: float | None, weight: float, log: LoadLog) -> None:
        if not functions:
            log.count(f"{self._columns.noun} rows without invocations")
        if value is None:
            return
        for function in functions:
            self._sum[function] += abs(value) * weight
            self._weight[function] += weight
            self._imputed[function] |= value < 0

    def result(self, log: LoadLog) -> tuple[FloatArray, BoolArray]:
        """(value, imputed) per function; the ones without a value are counted as `no duration` or `no memory`."""
        absent = self._weight == 0
        log.count(f"no {self._columns.noun}", int(absent.sum()))
        default = DEFAULT_DURATION_MS if self._kind is Kind.DURATIONS else DEFAULT_MEMORY_MB
        means = np.where(absent, default, self._sum / np.where(absent, 1.0, self._weight))
        return means, absent | self._imputed


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) <= LARGEST_VALUE else None

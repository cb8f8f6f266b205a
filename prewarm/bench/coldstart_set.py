"""The hundred public applications with the published results of Knative's default and FeMux (EuroSys'26 artefact)."""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prewarm.bench.result import Row
from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S, InputError
from prewarm.sim.minute import MinuteWorkload
from prewarm.sim.workloads import minute_workload
from prewarm.traces.formats.concurrency import read_concurrency

MATRIX = "femux-azure2019/knative100_avg_concurrency.csv"
APPS = "femux-azure2019/knative100_apps.csv"


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """The workload of all applications, which rows the published result covers, its totals, and the files' sums.

    totals: policy -> (cold starts, GB s allocated and not used) over the covered applications.
    """

    workload: MinuteWorkload
    covered: np.ndarray[tuple[int], np.dtype[np.intp]]
    totals: dict[str, tuple[float, float]]
    sha256: dict[str, str]

    def rows(self) -> list[Row]:
        """The published rows of the first table; what was not published is null."""
        return [_published_row(name, cold, waste) for name, (cold, waste) in self.totals.items()]


def read_set(data_dir: Path) -> PublishedSet:
    """Set A from the folder of public traces; InputError where a file is missing."""
    paths = [data_dir / MATRIX, data_dir / APPS]
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path}: is missing; --data or PREWARM_TRACES must name the public traces")
    trace = read_concurrency(*paths)
    with paths[1].open(newline="") as file:
        table = {row["app_id"]: row for row in csv.DictReader(file)}
    entries = [table[label] for label in trace.labels]
    covered = np.array([row for row, entry in enumerate(entries) if entry["in_femux_result"] == "1"], np.intp)
    totals = {
        name: _total([entries[row] for row in covered], column)
        for name, column in (("Knative default (published)", "knative"), ("FeMux (published)", "femux"))
    }
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    return PublishedSet(minute_workload(trace), covered, totals, sums)


def _total(entries: list[dict[str, str]], column: str) -> tuple[float, float]:
    cold = sum(float(entry[f"{column}_cold"]) for entry in entries)
    waste = sum(float(entry[f"{column}_alloc_gbs"]) - float(entry["used_gbs"]) for entry in entries)
    return cold, waste


def _published_row(name: str, cold: float, waste: float) -> Row:
    unknown = dict.fromkeys(("cold %", "P50", "P75", "P90", "always cold"))
    rum = COLD_COST * cold + IDLE_COST_PER_GB_S * waste
    return {"policy": name, "cold": cold, **unknown, "waste GB s": waste, "waste / KA-10": None, "RUM": rum}

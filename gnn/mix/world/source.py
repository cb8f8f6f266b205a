"""The public tables that worlds are drawn from, and their division into training and evaluation.

An exemplar stands for many functions, so a division by function would put the same day on both sides. It goes by the
series instead: a seeded hash of its id orders each band of daily totals, and every other one is kept for evaluation.
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from prewarm.domain import Float32Array, FloatArray, InputError, IntArray
from prewarm.traces.formats.exemplars import read_exemplars

EXEMPLARS = "azure2019-invitro/day_series_exemplars_1440.csv.gz"
DURATIONS = "azure2019-invitro/durations_count_marginal.csv"
MEMORY = "azure2019-invitro/memory_marginal.csv"
NODES = "alibaba-gpu-v2023/openb_node_list_all_node.csv"
FILES = (EXEMPLARS, DURATIONS, MEMORY, NODES)
SPLIT_SEED = 2026
BANDS_PER_DECADE = 2  # of daily totals


class Side(StrEnum):
    """Which exemplars a world is drawn from."""

    TRAINING = "training"
    EVALUATION = "evaluation"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What the public files say.

    counts: (s, 1440) calls of each exemplar; labels: its id; weight: (s,) functions like it; side: (s,) True where it
    is kept for evaluation. duration_ms, duration_calls: (d,) rows of the duration marginal, rising by calls.
    memory_mb: (m,); node_mib: (k,). sha256: file name -> sum.
    """

    labels: tuple[str, ...]
    counts: Float32Array
    weight: IntArray
    kept_apart: np.ndarray[tuple[int], np.dtype[np.bool_]]
    duration_ms: FloatArray
    duration_calls: FloatArray
    memory_mb: FloatArray
    node_mib: FloatArray
    sha256: dict[str, str]

    def rows(self, side: Side) -> IntArray:
        """Exemplars of one side, rising."""
        wanted = self.kept_apart if side is Side.EVALUATION else ~self.kept_apart
        return np.flatnonzero(wanted)


def read_source(folder: Path) -> Source:
    """All tables from the folder of public traces; InputError where one is missing."""
    for name in FILES:
        if not (folder / name).is_file():
            raise InputError(f"{folder / name}: is missing; --data or PREWARM_TRACES must name the public traces")
    trace = read_exemplars(folder / EXEMPLARS)
    counts = np.zeros((trace.functions, trace.minutes), np.float32)
    counts[np.repeat(np.arange(trace.functions), np.diff(trace.indptr)), trace.minute] = trace.count
    assert trace.multiplicity is not None, "the public table of multiplicities stands beside the exemplars"
    labels = tuple(key.removeprefix("series/") for key in trace.labels)
    durations = _columns(folder / DURATIONS, "Average", "Count")
    durations = durations[np.lexsort((durations[:, 0], durations[:, 1]))]
    return Source(
        labels,
        counts,
        np.where(trace.multiplicity > 0, trace.multiplicity, 1),
        kept_apart(labels, counts.sum(axis=1, dtype=np.float64)),
        np.maximum(durations[:, 0], 1.0),
        durations[:, 1],
        _columns(folder / MEMORY, "AverageAllocatedMb")[:, 0],
        _columns(folder / NODES, "memory_mib")[:, 0],
        {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES},
    )


def kept_apart(
    labels: tuple[str, ...], totals: FloatArray, seed: int = SPLIT_SEED
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """True for the series kept for evaluation, (s,): every other one by hash inside each band of daily totals."""
    band = np.floor(np.log10(np.maximum(totals, 1.0)) * BANDS_PER_DECADE).astype(int)
    apart = np.zeros(len(labels), np.bool_)
    for one in np.unique(band):
        inside = sorted(np.flatnonzero(band == one), key=lambda row: _hash(seed, labels[row]))
        apart[inside[1::2]] = True
    return apart


def _hash(seed: int, label: str) -> bytes:
    return hashlib.sha256(f"{seed}:{label}".encode()).digest()


def _columns(path: Path, *names: str) -> FloatArray:
    with path.open(newline="") as file:
        return np.array([[float(row[name]) for name in names] for row in csv.DictReader(file)])

"""The openb trace as the FGD simulator runs it (benchmarks B5): nodes, pods, and arrivals of one seed.

Pods are shuffled; random pods are then added, or taken away, until the GPUs asked for are `ratio` times those there.
Nodes are put in a random order, which decides ties. Facts of the protocol are those of the public simulator
(hkust-adsl/kubernetes-scheduler-simulator); random streams differ, so rows agree in the mean only.
"""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from federation.nodes.kernels import MOST_GPUS
from federation.nodes.mix import MILLI, Mix
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray, InputError, IntArray

FOLDER = Path("alibaba-gpu-v2023")
NODES = FOLDER / "openb_node_list_gpu_node.csv"
TYPICAL_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Trace:
    """One variant. nodes: (n, 4), gpus: (n, 8) all free; mix: of its pods; pods: (p,) row of the mix of each pod."""

    nodes: IntArray
    gpus: IntArray
    mix: Mix
    pods: IntArray

    @property
    def capacity(self) -> int:
        """Thousandths of GPUs there are."""
        return int(self.gpus.sum())


@dataclass(frozen=True, slots=True)
class Arrivals:
    """One seed. shape: (a,) row of the mix of each arrival; order: (n,) of the nodes."""

    shape: IntArray
    order: IntArray


def pod_file(variant: str) -> Path:
    """Where the pods of a variant lie below the folder of traces."""
    return FOLDER / f"openb_pod_list_{variant}.csv"


def read_trace(data_dir: Path, variant: str) -> Trace:
    """Nodes with GPUs and the pods of `variant`; pods of one shape are one row of the mix."""
    machines = _rows(data_dir / NODES)
    models = tuple(sorted({row["model"] for row in machines}))
    nodes = np.array(
        [[int(r["cpu_milli"]), int(r["memory_mib"]), models.index(r["model"]), int(r["gpu"])] for r in machines]
    )
    gpus = np.where(np.arange(MOST_GPUS)[None, :] < nodes[:, 3:], GPU_WHOLE, 0).astype(np.int64)
    rows = np.array([_pod(row, models) for row in _rows(data_dir / pod_file(variant))])
    shapes, pods, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    allowed = (shapes[:, 4:] >> np.arange(len(models) + 1)) & 1 == 1
    mix = Mix(shapes[:, :4], counts / len(rows), allowed, models)
    return Trace(nodes, gpus, mix, pods.ravel().astype(np.int64))


def draw_arrivals(trace: Trace, seed: int, ratio: float) -> Arrivals:
    """The arrivals of a seed until pods worth `ratio` of the GPUs have come."""
    rng = np.random.default_rng(seed)
    demand = trace.mix.demand[trace.pods]
    order = rng.permutation(len(trace.pods)).tolist()
    asked, target = int(demand.sum()), ratio * trace.capacity
    while asked > target:
        asked -= int(demand[order.pop(int(rng.integers(len(order))))])
    while len(order) >= len(trace.pods):
        more = int(rng.integers(len(trace.pods)))
        if asked + trace.mix.shapes[trace.pods[more], MILLI] > target:
            break
        asked += int(demand[more])
        order.append(more)
    return Arrivals(trace.pods[np.array(order)], rng.permutation(len(trace.nodes)))


def typical_shapes(mix: Mix, counts: IntArray) -> tuple[IntArray, FloatArray]:
    """FGD's typical pods: the most frequent shapes, memory left out, that cover 95 % of the list; and their weights."""
    seen: Counter[tuple[int, ...]] = Counter()
    for row, count in zip(mix.table.tolist(), counts.tolist(), strict=True):
        seen[row[0], row[3], row[2], row[4]] += count
    ranked = sorted(seen.items(), key=lambda item: (item[1], item[0]), reverse=True)
    total, covered, kept = int(counts.sum()), 0, []
    for (cpu, milli, count, bits), number in ranked:
        if covered >= TYPICAL_SHARE * total:
            break
        kept.append((cpu, 0, count, milli, bits, number))
        covered += number
    table = np.array(kept, dtype=np.int64)
    return table, table[:, 5] / covered


def checksums(data_dir: Path, variants: tuple[str, ...]) -> dict[str, str]:
    """sha256 of every file that is read."""
    files = (NODES, *map(pod_file, variants))
    return {path.name: hashlib.sha256((data_dir / path).read_bytes()).hexdigest() for path in files}


def _pod(row: dict[str, str], models: tuple[str, ...]) -> tuple[int, ...]:
    count = int(row["num_gpu"])
    named = [models.index(name) for name in (row.get("gpu_spec") or "").split("|") if name in models]
    bits = sum(1 << at for at in set(named)) if named else (1 << (len(models) + 1)) - 1
    return int(row["cpu_milli"]), int(row["memory_mib"]), count, int(row["gpu_milli"]) if count else 0, bits


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        raise InputError(f"{path}: not found; --data or PREWARM_TRACES names the folder of the public traces")
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))

"""The public openb trace as what placement reads: kinds of nodes, and pods as requests.

1,213 nodes with up to eight GPUs and 8,152 pods (Alibaba, 2023; Apache-2.0). Nodes of one shape and model are one kind.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from federation.nodes.mix import Mix
from federation.nodes.outlook import Wanted, mix_of
from federation.placement.fleet.classes import GPU_MODEL_LABELS
from federation.placement.workload import GpuNeed
from federation.snapshot import ARCH_LABEL, GPU_WHOLE, NodeClass
from prewarm.domain import InputError

NODES = Path("alibaba-gpu-v2023/openb_node_list_all_node.csv")
PODS = Path("alibaba-gpu-v2023/openb_pod_list_default.csv")
MIB = 1 << 20


@dataclass(frozen=True, slots=True, order=True)
class NodeKind:
    """A kind of node: thousandths of cores, MiB, GPUs and their model ("" for none)."""

    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str

    @property
    def node_class(self) -> NodeClass:
        """Its labels."""
        labels = {ARCH_LABEL: "amd64"} | ({GPU_MODEL_LABELS[0]: self.model} if self.model else {})
        return NodeClass(tuple(sorted(labels.items())))


@dataclass(frozen=True, slots=True)
class PodShape:
    """What one pod asks for."""

    cpu_milli: int
    memory_mib: int
    gpu: GpuNeed


def read_nodes(data_dir: Path) -> tuple[tuple[NodeKind, int], ...]:
    """The kinds of nodes, sorted, and how many there are of each."""
    rows = _rows(data_dir / NODES)
    kinds = Counter(NodeKind(int(r["cpu_milli"]), int(r["memory_mib"]), int(r["gpu"]), r["model"]) for r in rows)
    return tuple(sorted(kinds.items()))


def read_pods(data_dir: Path) -> tuple[PodShape, ...]:
    """Every pod's request, in the file's order."""
    return tuple(
        PodShape(int(row["cpu_milli"]), int(row["memory_mib"]), _gpu(int(row["num_gpu"]), int(row["gpu_milli"]), row))
        for row in _rows(data_dir / PODS)
    )


def typical_mix(pods: tuple[PodShape, ...], share: float = 0.95) -> Mix:
    """The most frequent shapes that cover `share` of the pods, as FGD's typical pods."""
    ranked = Counter(pods).most_common()
    covered = np.cumsum([count for _, count in ranked]) - [count for _, count in ranked]
    kept = [one for one, before in zip(ranked, covered.tolist(), strict=True) if before < share * len(pods)]
    typical = [
        Wanted({"cpu": pod.cpu_milli, "memory": pod.memory_mib * MIB}, pod.gpu, there=0, wanted=count)
        for pod, count in kept
    ]
    return mix_of(typical, tuple(sorted({name for pod, _ in kept for name in pod.gpu.models})))


def _gpu(number: int, milli: int, row: dict[str, str]) -> GpuNeed:
    models = tuple(filter(None, (row.get("gpu_spec") or "").split("|")))
    if number == 0:
        return GpuNeed()
    return GpuNeed(number, GPU_WHOLE, models) if milli >= GPU_WHOLE else GpuNeed(0, milli, models)


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        raise InputError(f"{path}: not found; --data or PREWARM_TRACES names the folder of the public traces")
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))

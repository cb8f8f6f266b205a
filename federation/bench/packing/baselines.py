"""The six published rules of the FGD simulator, as its sources score nodes: whole numbers from 0 to 100.

Whole numbers matter: they make ties, and ties go to a random order of nodes. Shares take the fullest GPU that has room,
except for Random (any) and FGD (its own choice). Facts: the plugins' score functions; MaxSpecCpu 128 cores, 8 GPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import numba
import numpy as np

from federation.bench.packing.fleet import Fleet, best_node, whole
from federation.nodes.kernels import fragment, has_room, tightest, use
from federation.nodes.mix import MILLI
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray, IntArray

_compile = numba.njit(cache=True)
_MOST_CPU, _MOST_GPU = 128_000.0, 8_000.0
Score = Callable[[IntArray, IntArray, IntArray, IntArray], float]


def _best_fit(node: IntArray, gpu: IntArray, shape: IntArray, _kinds: IntArray) -> float:
    """Least room left, CPU and GPU alike."""
    left = (node[0] - shape[0]) / _MOST_CPU * 0.5 + (gpu.sum() - shape[2] * shape[3]) / _MOST_GPU * 0.5
    return float(np.floor((1.0 - left) * 100.0))


def _dot_product(node: IntArray, gpu: IntArray, shape: IntArray, _kinds: IntArray) -> float:
    """Small product of free and asked (Tetris, turned as there)."""
    product = node[0] / _MOST_CPU * (shape[0] / _MOST_CPU) + gpu.sum() / _MOST_GPU * (shape[2] * shape[3] / _MOST_GPU)
    return float(np.floor(100.0 * (1.0 - product / 2.0)))


def _clustering(_node: IntArray, gpu: IntArray, shape: IntArray, kinds: IntArray) -> float:
    """Beside pods of the same number of GPUs; kinds: (9,) pods on the node, shares first."""
    if shape[2] == 0:
        return 0.0
    base = float(np.floor(25 * (8000 - gpu.sum()) / 8000))
    same, different = kinds[0 if shape[3] < GPU_WHOLE else shape[2]] > 0, (kinds > 0).sum()
    if same:
        return base + (75.0 if different == 1 else 50.0)
    return base + (25.0 if different == 0 else 0.0)


def _packing(node: IntArray, gpu: IntArray, shape: IntArray, _kinds: IntArray) -> float:
    """Shared GPUs first, then free GPUs of used nodes, then the smallest free node."""
    if shape[2] == 0:
        return 0.0
    free = (gpu == GPU_WHOLE).sum()
    if free == node[3]:
        return float(max(33 - free, free))
    if shape[3] == GPU_WHOLE:
        return float(max(50 - shape[2], 33))
    left = gpu[tightest(gpu, shape[3])]
    return 49.0 if left == GPU_WHOLE else float(max(100 - (left * 100 // GPU_WHOLE) // 10, 50))


def _scorer(score: Score) -> Callable[..., None]:
    compiled = _compile(score)

    def rows(
        nodes: IntArray, gpus: IntArray, shape: IntArray, kinds: IntArray, chosen: IntArray, out: FloatArray
    ) -> None:
        for node in chosen:
            out[node] = -np.inf
            if has_room(nodes[node], gpus[node], shape):
                out[node] = compiled(nodes[node], gpus[node], shape, kinds[node])

    return cast("Callable[..., None]", numba.njit(rows))


def _gradient(
    node: IntArray, gpu: IntArray, shape: IntArray, typical: IntArray, weight: FloatArray
) -> tuple[float, int]:
    """FGD: 100 x sigmoid of the fall of the fragment, and the GPU for which it is highest."""
    before = fragment(node, gpu, typical, weight)
    after, free = node.copy(), gpu.copy()
    after[0] -= shape[0]
    best, device = -1.0, -1
    share = shape[2] == 1 and shape[3] < GPU_WHOLE
    for at in range(node[3] if share else 1):
        if share and gpu[at] < shape[3]:
            continue
        free[:] = gpu
        use(free, shape, at)
        fall = before - fragment(after, free, typical, weight)
        score = np.floor(100.0 / (1.0 + np.exp(-fall / 1000.0)))
        if score > best:
            best, device = score, at
    return best, device


gradient = cast("Callable[..., tuple[float, int]]", _compile(_gradient))


def _gradient_rows(
    nodes: IntArray,
    gpus: IntArray,
    shape: IntArray,
    typical: IntArray,
    weight: FloatArray,
    out: tuple[FloatArray, IntArray, IntArray],
) -> None:
    score, device, chosen = out
    for node in chosen:
        score[node] = -np.inf
        if has_room(nodes[node], gpus[node], shape):
            score[node], device[node] = gradient(nodes[node], gpus[node], shape, typical, weight)


gradient_rows = cast("Callable[..., None]", _compile(_gradient_rows))
SCORES = {
    "BestFit": _scorer(_best_fit),
    "DotProd": _scorer(_dot_product),
    "Clustering": _scorer(_clustering),
    "Packing": _scorer(_packing),
}


@dataclass(slots=True)
class Scored:
    """BestFit, DotProd, Clustering or Packing."""

    name: str
    kinds: IntArray = field(default_factory=lambda: np.zeros((0, 9), dtype=np.int64))

    def begin(self, fleet: Fleet, came: int) -> bool:
        """Scores stay true."""
        if came == 0:
            self.kinds = np.zeros((len(fleet.nodes), 9), dtype=np.int64)
        return False

    def judge(self, fleet: Fleet, shape: int, nodes: IntArray) -> None:
        """By the rule's function."""
        SCORES[self.name](fleet.nodes, fleet.gpus, fleet.table[shape], self.kinds, nodes, fleet.score[shape])

    def choose(self, fleet: Fleet, shape: int) -> int:
        """The best; a share on its fullest GPU with room."""
        node, row = best_node(fleet, shape), fleet.table[shape]
        if node >= 0 and row[2] > 0:
            fleet.device[shape, node] = tightest(fleet.gpus[node], int(row[MILLI]))
            self.kinds[node, 0 if row[MILLI] < GPU_WHOLE else row[2]] += 1
        return node


@dataclass(frozen=True, slots=True)
class Gradient:
    """FGD with its typical pods, (t, 6), and their weights, (t,)."""

    typical: IntArray
    weight: FloatArray

    def begin(self, _fleet: Fleet, _came: int) -> bool:
        """Scores stay true."""
        return False

    def judge(self, fleet: Fleet, shape: int, nodes: IntArray) -> None:
        """By the fall of the fragment."""
        out = (fleet.score[shape], fleet.device[shape], nodes)
        gradient_rows(fleet.nodes, fleet.gpus, fleet.table[shape], self.typical, self.weight, out)

    def choose(self, fleet: Fleet, shape: int) -> int:
        """The best."""
        return best_node(fleet, shape)


@dataclass(frozen=True, slots=True)
class AnyNode:
    """Random: any node with room, any GPU with room."""

    rng: np.random.Generator

    def begin(self, _fleet: Fleet, _came: int) -> bool:
        """Scores stay true."""
        return False

    def judge(self, fleet: Fleet, shape: int, nodes: IntArray) -> None:
        """Room is all that counts."""
        SCORES["BestFit"](
            fleet.nodes,
            fleet.gpus,
            fleet.table[shape],
            np.zeros((len(fleet.nodes), 9), dtype=np.int64),
            nodes,
            fleet.score[shape],
        )

    def choose(self, fleet: Fleet, shape: int) -> int:
        """One of those with room."""
        able, row = np.flatnonzero(np.isfinite(fleet.score[shape])), fleet.table[shape]
        if not len(able):
            return -1
        node = int(self.rng.choice(able))
        if not whole(row):
            fleet.device[shape, node] = self.rng.choice(np.flatnonzero(fleet.gpus[node] >= row[MILLI]))
        return node

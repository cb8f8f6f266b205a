"""The compiled rule: how much each node gains by one more instance, and arrivals placed one after another by it.

The same as `change.gain` under `fill.FutureFill`, some hundred times faster; a test holds the two together. Callers are
simulations, benchmarks and the process that foresees, never the service: numba is not imported there. Layouts are those
of `federation.nodes.kernels`. Values are remembered by the mark of a state: memo = (marks (2^k,), values (2^k,)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numba
import numpy as np

from federation.nodes.kernels import fill_value, has_room, mark, use
from federation.nodes.offers import Offers
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray, IntArray

_compile = numba.njit(cache=True)
Memo = tuple[IntArray, FloatArray]
Packed = tuple[IntArray, IntArray, FloatArray]
"""Offers: table, spans, and the share and price of GPUs that are kept open."""


def new_memo(bits: int) -> Memo:
    """Room for 2^bits states."""
    return np.zeros(1 << bits, dtype=np.int64), np.zeros(1 << bits)


def packed(offers: Offers) -> Packed:
    """For the compiled loops."""
    return offers.table, offers.spans, np.array([offers.keeping.share, offers.keeping.price], dtype=np.float64)


def _remembered(node: IntArray, gpu: IntArray, offers: Packed, least_cpu: int, memo: Memo) -> float:
    """The value of a state, looked up by its mark first."""
    marks, values = memo
    own = mark(node, gpu)
    at = own & (len(marks) - 1)
    if marks[at] != own:
        value = fill_value(node, gpu, offers[0], offers[1], least_cpu)
        for one in range(node[3]):
            if gpu[one] >= offers[2][0]:
                value -= offers[2][1]
        values[at] = value
        marks[at] = own
    return float(values[at])


remembered = cast("Callable[..., float]", _compile(_remembered))


def _judge_node(
    node: IntArray, gpu: IntArray, shape: IntArray, offers: Packed, least_cpu: int, memo: Memo
) -> tuple[float, int]:
    """The gain of one of a shape on a node, and the GPU for which it is highest."""
    before = remembered(node, gpu, offers, least_cpu, memo)
    after, free = node.copy(), gpu.copy()
    after[0] -= shape[0]
    after[1] -= shape[1]
    best, device = -np.inf, -1
    share = shape[2] == 1 and shape[3] < GPU_WHOLE
    for at in range(node[3] if share else 1):
        if share and (gpu[at] < shape[3] or (at > 0 and gpu[at] == gpu[at - 1])):
            continue
        free[:] = gpu
        use(free, shape, at)
        value = remembered(after, free, offers, least_cpu, memo)
        if value > best:
            best, device = value, at
    fuller = after[0] / 128_000 * 0.5 + (gpu.sum() - shape[2] * shape[3]) / 8_000 * 0.5
    return best - before + shape[2] * shape[3] - fuller, device


judge_node = cast("Callable[..., tuple[float, int]]", _compile(_judge_node))


def _judge_rows(
    fleet: tuple[IntArray, IntArray],
    shape: IntArray,
    offers: Packed,
    least_cpu: int,
    memo: Memo,
    out: tuple[FloatArray, IntArray, IntArray],
) -> None:
    """Scores (-inf: no room) and the GPU of a share for the nodes out[2]."""
    nodes, gpus = fleet
    score, device, chosen = out
    for node in chosen:
        score[node] = -np.inf
        if has_room(nodes[node], gpus[node], shape):
            score[node], device[node] = judge_node(nodes[node], gpus[node], shape, offers, least_cpu, memo)


judge_rows = cast("Callable[..., None]", _compile(_judge_rows))


def _place_all(
    fleet: tuple[IntArray, IntArray],
    table: IntArray,
    arrivals: IntArray,
    offers: Packed,
    least_cpu: int,
    memo: Memo,
) -> int:
    """Put each arrival, a row of the table, where it gains most, if anywhere; changes the fleet; what was taken."""
    nodes, gpus = fleet
    score, device = np.full((len(table), len(nodes)), -np.inf), np.full((len(table), len(nodes)), -1)
    seen, changed = np.full(len(table), -1), np.empty(len(arrivals), dtype=np.int64)
    everyone, placed, taken = np.arange(len(nodes)), 0, 0
    for one in arrivals:
        stale = everyone if seen[one] < 0 else changed[seen[one] : placed]
        judge_rows(fleet, table[one], offers, least_cpu, memo, (score[one], device[one], stale))
        seen[one] = placed
        node = int(score[one].argmax())
        if score[one, node] == -np.inf:
            continue
        nodes[node, 0] -= table[one, 0]
        nodes[node, 1] -= table[one, 1]
        use(gpus[node], table[one], device[one, node])
        changed[placed] = node
        placed += 1
        taken += table[one, 2] * table[one, 3]
    return taken


place_all = cast("Callable[..., int]", _compile(_place_all))

"""The compiled inner loops of simulations and benchmarks: fit, take, fragment and fill of single nodes.

Callers are benchmarks, simulations and the process that foresees, never the service: numba is not imported there.
Layouts are those of `federation.nodes.mix`: node (4,) = [cpu, memory, model, GPUs], gpu (D,) free thousandths with 0
beyond the last one, shape (6,) a row of `Mix.table`. Scores are gains, higher is better; -inf where nothing fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numba
import numpy as np

from federation.nodes.offers import CUTS
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray, IntArray

_compile = numba.njit(cache=True)
MOST_GPUS = 8
_CUTS = CUTS


def _able(node: IntArray, gpu: IntArray, milli: int) -> int:
    """GPUs of a node with `milli` free."""
    found = 0
    for at in range(node[3]):
        found += gpu[at] >= milli
    return found


able = cast("Callable[[IntArray, IntArray, int], int]", _compile(_able))


def _has_room(node: IntArray, gpu: IntArray, shape: IntArray) -> bool:
    """Whether one of a shape fits."""
    if node[0] < shape[0] or node[1] < shape[1]:
        return False
    if shape[2] == 0:
        return True
    if not (shape[4] >> node[2]) & 1:
        return False
    return bool(able(node, gpu, shape[3]) >= shape[2])


has_room = cast("Callable[[IntArray, IntArray, IntArray], bool]", _compile(_has_room))


def _tightest(gpu: IntArray, milli: int) -> int:
    """The fullest GPU with `milli` free, -1 where none has it."""
    chosen, least = -1, GPU_WHOLE + 1
    for at in range(len(gpu)):
        if milli <= gpu[at] < least:
            chosen, least = at, gpu[at]
    return chosen


tightest = cast("Callable[[IntArray, int], int]", _compile(_tightest))


def _use(gpu: IntArray, shape: IntArray, device: int) -> None:
    """Take the GPUs of one of a shape; a share goes to `device`."""
    if shape[2] == 0:
        return
    if shape[3] < GPU_WHOLE:
        gpu[device] -= shape[3]
        return
    left = shape[2]
    for at in range(len(gpu)):
        if left > 0 and gpu[at] >= GPU_WHOLE:
            gpu[at] = 0
            left -= 1


use = cast("Callable[[IntArray, IntArray, int], None]", _compile(_use))


def _fragment(node: IntArray, gpu: IntArray, typical: IntArray, weight: FloatArray) -> float:
    """F of one node under typical shapes (FGD, eq. 2-4), memory left out as the authors do; node[0] is its CPU."""
    free = gpu.sum()
    if free == 0:
        return 0.0
    total = 0.0
    for at in range(len(typical)):
        shape = typical[at]
        waste = free
        if shape[2] > 0 and node[0] >= shape[0] and (shape[4] >> node[2]) & 1:
            able, small = 0, 0
            for one in range(node[3]):
                if gpu[one] >= shape[3]:
                    able += 1
                else:
                    small += gpu[one]
            if able >= shape[2]:
                waste = small
        total += weight[at] * waste
    return total


fragment = cast("Callable[[IntArray, IntArray, IntArray, FloatArray], float]", _compile(_fragment))


def _most(gpu: IntArray) -> int:
    """What is free on the emptiest GPU."""
    found = 0
    for at in range(len(gpu)):
        found = max(found, gpu[at])
    return found


most = cast("Callable[[IntArray], int]", _compile(_most))


def _fill_once(node: IntArray, gpu: IntArray, offers: IntArray, least_cpu: int) -> int:
    """Place a sequence of offers, whatever fits; changes gpu; returns what the offers taken count.

    Most offers find no GPU that is empty enough, so that is asked first, of a number that is kept.
    """
    worth, left, emptiest = 0, gpu.sum(), most(gpu)
    cpu, memory = node[0], node[1]
    for at in range(len(offers)):
        if offers[at, 0] > cpu or offers[at, 1] > memory:
            continue
        count, milli = offers[at, 2], offers[at, 3]
        if count > 0:
            if milli > emptiest or not (offers[at, 4] >> node[2]) & 1:
                continue
            if count > 1 and able(node, gpu, milli) < count:
                continue
            use(gpu, offers[at], tightest(gpu, milli))
            worth += offers[at, 5]
            left -= count * milli
            emptiest = most(gpu)
        cpu -= offers[at, 0]
        memory -= offers[at, 1]
        if left == 0 or cpu < least_cpu:
            break
    return worth


fill_once = cast("Callable[[IntArray, IntArray, IntArray, int], int]", _compile(_fill_once))


def _fill(node: IntArray, gpu: IntArray, offers: IntArray, spans: IntArray, least_cpu: int) -> float:
    """Mean over the sequences of what the offers count that a node would still take."""
    emptiest = most(gpu)
    if emptiest == 0 or node[0] < least_cpu:
        return 0.0
    cut = 0
    while _CUTS[cut] < emptiest:
        cut += 1
    total = 0
    free = gpu[: node[3]].copy()
    for one in range(spans.shape[1]):
        free[:] = gpu[: node[3]]
        total += fill_once(node, free, offers[spans[cut, one, 0] : spans[cut, one, 1]], least_cpu)
    return float(total / spans.shape[1])


fill_value = cast("Callable[[IntArray, IntArray, IntArray, IntArray, int], float]", _compile(_fill))


def _mark(node: IntArray, gpu: IntArray) -> np.int64:
    """A 64-bit mark of a node's state in which the order of its GPUs does not count."""
    gpus = np.uint64(0)
    for at in range(node[3]):
        one = np.uint64(gpu[at] + 1) * np.uint64(0x9E3779B97F4A7C15)
        one ^= one >> np.uint64(29)
        one *= np.uint64(0xBF58476D1CE4E5B9)
        gpus += one ^ (one >> np.uint64(32))
    own = np.uint64(0xCBF29CE484222325) ^ gpus
    for value in (node[0], node[1], node[2] * 16 + node[3]):
        own = (own ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
        own ^= own >> np.uint64(31)
    return np.int64(own)


mark = cast("Callable[[IntArray, IntArray], np.int64]", _compile(_mark))


def _count_fitting(nodes: IntArray, gpus: IntArray, table: IntArray) -> IntArray:
    """Nodes that have room for each shape, (s,)."""
    counts = np.zeros(len(table), dtype=np.int64)
    for shape in range(len(table)):
        for node in range(len(nodes)):
            counts[shape] += has_room(nodes[node], gpus[node], table[shape])
    return counts


count_fitting = cast("Callable[[IntArray, IntArray, IntArray], IntArray]", _compile(_count_fitting))

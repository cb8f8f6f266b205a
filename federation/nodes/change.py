"""What placing one instance changes of each row of a cluster: fragmentation, future fill, and the GPU it should take.

NaN where it does not fit. Lower is better for both changes. A share is tried on every GPU that has room for it and
judged by the best one. Costs for 100 rows of 8 GPUs under the 151 shapes of openb, one core: fragmentation 8 ms, for a
share 40 ms; future fill 60 ms, for a share 280 ms. It is for states that are remembered, not for every decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from federation.nodes.fill import fill
from federation.nodes.mix import COUNT, GAIN, MILLI, Mix
from federation.nodes.offers import draw_offers, expected_offers
from federation.nodes.rows import MIB, Rows, rows_of
from federation.placement.workload import GpuNeed
from federation.snapshot import GPU_WHOLE, Nodes
from prewarm.domain import FloatArray, IntArray

Value = Callable[[Rows], FloatArray]
SEED = 7
FEW_SEQUENCES = 8
"""A quarter of those of a simulation: a decision waits for them."""


def fragmentation_change(nodes: Nodes, requests: Mapping[str, int], gpu: GpuNeed, mix: Mix) -> FloatArray:
    """Rise of the expected fragment of one node of each row, (g,) thousandths of a GPU (FGD, ATC'23, eq. 2-4)."""
    rows, shape = rows_of(nodes, mix.models), _shape(requests, gpu, mix)
    return _best(rows, shape, lambda some: -expected_fragment(some, mix))[0]


def future_fill_change(
    nodes: Nodes, requests: Mapping[str, int], gpu: GpuNeed, mix: Mix, arrivals: float
) -> FloatArray:
    """V(before) - V(after) - demand for one node of each row, (g,) thousandths: what others lose by the placement.

    arrivals: of the whole fleet of which these are the nodes, still to come.
    """
    rows, shape = rows_of(nodes, mix.models), _shape(requests, gpu, mix)
    fitting = np.array([(rows.fits(one) * nodes.count * nodes.schedulable).sum() for one in mix.table], dtype=float)
    rates = expected_offers(mix, np.array([arrivals]), fitting, float((nodes.count * nodes.schedulable).sum()))
    offers = draw_offers(mix, rates, SEED, FEW_SEQUENCES)
    lost: FloatArray = _best(rows, shape, lambda some: fill(some, offers))[0] - float(shape[GAIN])
    return lost


def best_gpu(nodes: Nodes, requests: Mapping[str, int], gpu: GpuNeed, mix: Mix) -> IntArray:
    """The GPU of each row whose use raises the fragment least, (g,); -1 where nothing fits or no share is asked."""
    rows, shape = rows_of(nodes, mix.models), _shape(requests, gpu, mix)
    return _best(rows, shape, lambda some: -expected_fragment(some, mix))[1]


def expected_fragment(rows: Rows, mix: Mix) -> FloatArray:
    """F of each row under the mix, (g,): a shape that does not fit, or needs no GPU, wastes all free shares; else those
    GPUs' that are too small for it. Memory is looked at as well.
    """
    free = rows.gpu.sum(axis=1).astype(np.float64)
    wasted = np.zeros(len(rows))
    for shape, weight in zip(mix.table, mix.probability.tolist(), strict=True):
        small = np.where(rows.gpu < shape[MILLI], rows.gpu, 0).sum(axis=1)
        wasted += weight * np.where(rows.fits(shape), small, free) if shape[COUNT] else weight * free
    return wasted


def _best(rows: Rows, shape: IntArray, value: Value) -> tuple[FloatArray, IntArray]:
    """Least loss of value over the GPUs that a share may take, (g,), and that GPU or -1."""
    loss, device = np.full(len(rows), np.nan), np.full(len(rows), -1, dtype=np.int64)
    fitting = np.flatnonzero(rows.fits(shape))
    if not len(fitting):
        return loss, device
    some = rows.take(fitting)
    before = value(some)
    if not shape[COUNT] or shape[MILLI] >= GPU_WHOLE:
        loss[fitting] = before - value(some.after(shape, np.zeros(len(some), dtype=np.int64)))
        return loss, device
    for at in range(some.gpu.shape[1]):
        able = np.flatnonzero(some.gpu[:, at] >= shape[MILLI])
        if len(able):
            chosen = some.take(able)
            lost = before[able] - value(chosen.after(shape, np.full(len(able), at)))
            better = ~(lost >= loss[fitting[able]])
            loss[fitting[able[better]]], device[fitting[able[better]]] = lost[better], at
    return loss, device


def _shape(requests: Mapping[str, int], gpu: GpuNeed, mix: Mix) -> IntArray:
    """One instance as a row of a mix's table."""
    count, milli = (gpu.count, GPU_WHOLE) if gpu.count else (1 if gpu.milli else 0, gpu.milli)
    bits = (1 << (len(mix.models) + 1)) - 1
    if gpu.models:
        bits = sum(1 << at for at, name in enumerate(mix.models) if name in gpu.models)
    cpu, memory = requests.get("cpu", 0), -(-requests.get("memory", 0) // MIB)
    gain = count * milli if mix.demand.any() else cpu
    return np.array([cpu, memory, count, milli, bits, gain], dtype=np.int64)

"""What placing one instance changes of each node, and the GPU that it should take.

Higher is better; NaN where it does not fit. A share is tried on every GPU that has room for it and judged by the best,
since that is the one it should get. Numpy alone, for a service that remembers the answers by state; `bench openb` does
the same with compiled loops, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from federation.nodes.mix import COUNT, MILLI, Mix
from federation.nodes.rows import MIB, Rows
from federation.placement.workload import GpuNeed
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray, IntArray


class Measure(Protocol):
    """What a node in some state is worth to the work that is forecast, in thousandths of a GPU (or of a core)."""

    @property
    def mix(self) -> Mix:
        """The forecast; its models give the numbers in `Rows.model`."""
        ...

    def value(self, rows: Rows) -> FloatArray:
        """(g,), higher is better, finite."""
        ...

    def beside(self, after: Rows, shape: IntArray) -> FloatArray:
        """What a placement is worth besides the change of value, (g,), given what the nodes are like after it."""
        ...


def gain(rows: Rows, shape: IntArray, measure: Measure) -> tuple[FloatArray, IntArray]:
    """value(after) - value(before) + beside, for one of a shape on each row, (g,), and the GPU of a share, else -1."""
    best, device = np.full(len(rows), np.nan), np.full(len(rows), -1, dtype=np.int64)
    fitting = np.flatnonzero(rows.fits(shape))
    if not len(fitting):
        return best, device
    origin, at, after = _outcomes(rows, shape, fitting)
    values = measure.value(Rows.joined((rows.take(fitting), after)))
    before = np.zeros(len(rows))
    before[fitting] = values[: len(fitting)]
    gains = values[len(fitting) :] - before[origin] + measure.beside(after, shape)
    order = np.lexsort((at, -gains, origin))
    first = order[np.flatnonzero(np.diff(origin[order], prepend=-1))]
    best[origin[first]], device[origin[first]] = gains[first], at[first]
    return best, device


def gains(rows: Rows, shapes: Sequence[IntArray], measure: Measure) -> FloatArray:
    """The same for several shapes at once, (k, g): valued together, which costs little more than one shape alone."""
    ways = [_outcomes(rows, shape, np.flatnonzero(rows.fits(shape))) for shape in shapes]
    values = measure.value(Rows.joined([rows, *(after for _, _, after in ways)]))
    found, start = np.full((len(shapes), len(rows)), np.nan), len(rows)
    for best, shape, (origin, _, after) in zip(found, shapes, ways, strict=True):
        stop = start + len(after)
        np.fmax.at(best, origin, values[start:stop] - values[origin] + measure.beside(after, shape))
        start = stop
    return found


def shape_row(requests: Mapping[str, int], gpu: GpuNeed, mix: Mix) -> IntArray:
    """One instance as a row of `Mix.table`, (6,). Memory is rounded down, so what fits by the byte still fits."""
    count, milli = gpus_of(gpu)
    cpu, memory = requests.get("cpu", 0), requests.get("memory", 0) // MIB
    taken = count * milli if mix.demand.any() else cpu
    return np.array([cpu, memory, count, milli, model_bits(gpu, mix.models), taken], dtype=np.int64)


def gpus_of(gpu: GpuNeed) -> tuple[int, int]:
    """GPUs that an instance touches, and thousandths of each; a share of a whole one is one."""
    if gpu.count:
        return gpu.count, GPU_WHOLE
    return (1, min(gpu.milli, GPU_WHOLE)) if gpu.milli else (0, 0)


def model_bits(gpu: GpuNeed, models: tuple[str, ...]) -> int:
    """The models that an instance may use as bits; the last one stands for GPUs of a model that nobody named."""
    if not gpu.models:
        return (1 << (len(models) + 1)) - 1
    return sum(1 << at for at, name in enumerate(models) if name in gpu.models)


def _outcomes(rows: Rows, shape: IntArray, fitting: IntArray) -> tuple[IntArray, IntArray, Rows]:
    """Every way to place one: the row, (w,), the GPU or -1, (w,), and what the row is like then.

    Of several GPUs with the same room only the first is tried.
    """
    if not shape[COUNT] or shape[MILLI] >= GPU_WHOLE:
        none = np.full(len(fitting), -1, dtype=np.int64)
        return fitting, none, rows.take(fitting).after(shape, none)
    gpu = rows.gpu[fitting]
    able = gpu >= shape[MILLI]
    able[:, 1:] &= gpu[:, 1:] != gpu[:, :-1]
    at, device = np.nonzero(able)
    origin = fitting[at]
    return origin, device, rows.take(origin).after(shape, device)

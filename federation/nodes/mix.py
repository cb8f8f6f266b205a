"""The forecast mix of work: which shapes will be asked for, how often, and on which models of GPU they may run.

Shapes are whole numbers, [thousandths of cores, MiB, GPUs, thousandths of each GPU]; a shape without GPUs has 0, 0.
Nodes are the same in columns, [free thousandths of cores, free MiB, model, GPUs], with the free share of each GPU
beside them, so that numpy and the compiled kernels read one layout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import BoolArray, FloatArray, InputError, IntArray

CPU, MEMORY, COUNT, MILLI = 0, 1, 2, 3
"""Columns of a shape."""
MASK, GAIN = 4, 5
"""Columns that `Mix.table` adds: allowed models as bits, and what placing one is worth."""
MODEL, GPUS = 2, 3
"""Columns of a node after CPU and MEMORY."""


@dataclass(frozen=True, slots=True)
class Mix:
    """What will arrive. shapes: (s, 4). probability: (s,), sums to 1. allowed: (s, m + 1) which shape may run on which
    model, the last column for nodes without a known one. models: the m names.
    """

    shapes: IntArray
    probability: FloatArray
    allowed: BoolArray
    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.shapes) == 0 or self.shapes.shape != (len(self.probability), 4):
            raise InputError(f"mix: shapes must be (s, 4) with s > 0, is {self.shapes.shape}")
        if self.allowed.shape != (len(self.shapes), len(self.models) + 1):
            raise InputError(
                f"mix: allowed must be {(len(self.shapes), len(self.models) + 1)}, is {self.allowed.shape}"
            )
        if abs(float(self.probability.sum()) - 1.0) > 1e-6 or (self.probability < 0).any():
            raise InputError("mix: probabilities must be 0 or more and sum to 1")

    @property
    def demand(self) -> IntArray:
        """Thousandths of GPUs that each shape takes, (s,)."""
        taken: IntArray = self.shapes[:, COUNT] * self.shapes[:, MILLI]
        return taken

    @property
    def gain(self) -> IntArray:
        """What placing one is worth, (s,): its GPUs; its CPU where nobody asks for a GPU."""
        return self.demand if self.demand.any() else self.shapes[:, CPU]

    @property
    def table(self) -> IntArray:
        """(s, 6): the shape, its allowed models as bits, its gain."""
        bits = (self.allowed.astype(np.int64) << np.arange(self.allowed.shape[1])).sum(axis=1)
        return np.column_stack([self.shapes, bits, self.gain]).astype(np.int64)


def any_model(shapes: IntArray, models: int = 0) -> BoolArray:
    """`allowed` of a mix whose shapes run everywhere."""
    return np.ones((len(shapes), models + 1), dtype=bool)

"""Fragmentation of GPUs under a mix of work, after FGD ("Beware of Fragmentation", Weng et al., ATC'23, section 3).

For a shape m, a node wastes all its free GPU share if m does not fit (or needs none), and otherwise the shares of those
GPUs that are too small for m (eq. 2-3); F is the mean over the mix by popularity (eq. 4). Memory is looked at as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.placement.packing.states import NodeStates
from federation.placement.workload import GpuNeed
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray


@dataclass(frozen=True, slots=True)
class MixShape:
    """One shape of the forecast mix: thousandths of cores, bytes, GPUs, and its weight among the others."""

    cpu: int
    memory: int
    gpu: GpuNeed
    weight: float


@dataclass(frozen=True, slots=True)
class Unfragmented:
    """Minus the expected fragment of a node under a mix: the nearer to 0, the more of its free GPUs is of use."""

    mix: tuple[MixShape, ...]

    def value(self, states: NodeStates) -> FloatArray:
        """-F of each state, (k,), in thousandths of a GPU."""
        free = states.gpu.sum(axis=1).astype(np.float64)
        total = sum(shape.weight for shape in self.mix)
        wasted = np.zeros(len(states))
        for shape in self.mix:
            fragment = free
            if shape.gpu.count or shape.gpu.milli:
                least = GPU_WHOLE if shape.gpu.count else shape.gpu.milli
                small = np.where(states.gpu < least, states.gpu, 0).sum(axis=1)
                fragment = np.where(states.fits(shape.cpu, shape.memory, shape.gpu), small, free)
            wasted += shape.weight / total * fragment
        return -wasted

"""Fragmentation of GPUs under a mix of work, after FGD ("Beware of Fragmentation", Weng et al., ATC'23, section 3).

For a shape m, a node wastes all its free GPU share if m does not fit (or needs none), and otherwise the shares of those
GPUs that are too small for m (eq. 2-3); F is the mean over the mix by popularity (eq. 4). Memory is looked at as well;
the authors' typical shapes ask for none. The one other copy is the compiled `kernels.fragment`, held to this by a test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.nodes.mix import COUNT, MILLI, Mix
from federation.nodes.rows import Rows
from prewarm.domain import FloatArray, IntArray


def expected_fragment(rows: Rows, mix: Mix) -> FloatArray:
    """F of each row under the mix, (g,), thousandths of a GPU."""
    free = rows.gpu.sum(axis=1).astype(np.float64)
    wasted = np.zeros(len(rows))
    for shape, weight in zip(mix.table, mix.probability.tolist(), strict=True):
        small = np.where(rows.gpu < shape[MILLI], rows.gpu, 0).sum(axis=1)
        wasted += weight * np.where(rows.fits(shape), small, free) if shape[COUNT] else weight * free
    return wasted


@dataclass(frozen=True, slots=True)
class Unfragmented:
    """A measure of nodes: minus F, so the nearer to 0, the more of a node's free GPUs is of use."""

    mix: Mix

    def value(self, rows: Rows) -> FloatArray:
        """-F of each row, (g,)."""
        return -expected_fragment(rows, self.mix)

    def beside(self, after: Rows, shape: IntArray) -> FloatArray:
        """Nothing: the gradient is the change of F alone, (g,)."""
        del shape
        return np.zeros(len(after))

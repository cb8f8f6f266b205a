"""Who gets the room of one cluster when more is asked of it than there is.

The first instance of every pool comes first; after that, the pool that has the smallest part of what it wants. In
numbers: the k-th further instance (from 0) of a pool that has s of d ranks at (s + k) / d, and instances are taken in
that order while they fit. A pool that wants one instance is therefore never starved by one that wants a thousand.

Counting the instances below a rank is arithmetic on columns, so the cut is found by bisection and the cost does not
grow with the number of instances.
"""

from __future__ import annotations

import numpy as np

from prewarm.domain import FloatArray, IntArray

STEPS = 32


def fair_part(
    asked: IntArray, size: IntArray, *, has: IntArray, wants: IntArray, tie: FloatArray, room: int
) -> IntArray:
    """Instances that each of the m askers gets of `asked`, (m,), their memory not above `room`.

    has, wants: (m,) instances placed so far anywhere, and wanted in all. tie: (m,) decides between equal ranks.
    """
    if int(asked @ size) <= room:
        return asked
    scale = np.maximum(wants, 1).astype(np.float64)
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        cut = (low + high) / 2
        if int(_below(cut, asked, has, scale) @ size) <= room:
            low = cut
        else:
            high = cut
    got = _below(low, asked, has, scale)
    return got + _next_ones(asked - got, size, rank=(has + got) / scale, tie=tie, room=room - int(got @ size))


def _below(cut: float, asked: IntArray, has: IntArray, scale: FloatArray) -> IntArray:
    """How many of the instances asked for rank below `cut`, (m,)."""
    counted: IntArray = np.clip(np.ceil(cut * scale).astype(np.int64) - has, 0, asked)
    return counted


def _next_ones(left: IntArray, size: IntArray, *, rank: FloatArray, tie: FloatArray, room: int) -> IntArray:
    """One more instance for those who come next in rank, while they fit, (m,) of 0 and 1."""
    order = np.lexsort((tie, rank))
    order = order[left[order] > 0]
    fits: IntArray = np.cumsum(size[order])
    more = np.zeros(len(left), dtype=np.int64)
    more[order[fits <= room]] = 1
    return more

"""What the level model reads and what it returns, as plain arrays.

A history is sparse: only minutes with a need are listed, so 50,000 functions cost what their calls cost. A minute
before `since` is unknown, not zero. The view is stateless: whoever restarts builds the same view from the store and
gets the same probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import Float32Array, InputError, Int32Array


@dataclass(frozen=True, slots=True)
class SparseHistory:
    """Minutes with a need, row by row (compressed rows), as known before `now_minute`.

    hit_minute: int32 [hits], ascending inside a row; hit_need: [hits], instances needed in that minute (>= 1);
    indptr: int64 [rows + 1]; since: int32 [rows], first minute whose count is known; now_minute: the minute to decide.
    hit_mark: float [hits] or None, how much was asked of the function in that minute: the mean concurrency where it is
    known, else the count of calls. It tells the components of an app apart and says how near the next level is.
    Hits at `now_minute` or later are never read.
    """

    hit_minute: NDArray[np.int32]
    hit_need: NDArray[np.int16] | NDArray[np.float32]
    indptr: NDArray[np.int64]
    since: NDArray[np.int32]
    now_minute: int
    hit_mark: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        hits = self.hit_minute.shape
        if self.hit_need.shape != hits or (self.hit_mark is not None and self.hit_mark.shape != hits):
            raise InputError("history: hit_minute, hit_need and hit_mark must have one length")
        if self.indptr.size != self.since.size + 1 or int(self.indptr[-1]) > self.hit_minute.size:
            raise InputError("history: indptr must have one entry more than since and end within the hits")

    @property
    def rows(self) -> int:
        """Number of functions."""
        return int(self.since.size)

    @property
    def marks(self) -> NDArray[np.float32]:
        """The marks, or the needs where none are known."""
        return (self.hit_need if self.hit_mark is None else self.hit_mark).astype(np.float32, copy=False)


@dataclass(frozen=True, slots=True)
class LevelProbabilities:
    """P(N >= level) per (row, level), sorted by row, then level; never rising with the level.

    row: int32 [n] index of the function; level: int16 [n], from 1; p: float32 [n].
    """

    row: NDArray[np.int32]
    level: NDArray[np.int16]
    p: NDArray[np.float32]


def never_rising(level: Int32Array, p: Float32Array) -> Float32Array:
    """p made non-rising with the level, each the smallest so far; a function's levels stand together, from 1 on."""
    result, above_first = p.copy(), level > 1
    while True:
        above = above_first & (result > np.r_[np.float32(np.inf), result[:-1]])
        if not above.any():
            return result
        result[above] = result[np.flatnonzero(above) - 1]

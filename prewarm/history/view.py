"""What a forecaster is handed: the recent hits of all functions in one compressed block."""

from __future__ import annotations

from dataclasses import dataclass

from prewarm.domain import Float32Array, Int32Array, IntArray


@dataclass(frozen=True, slots=True)
class HitView:
    """Hits before `now_minute`, row by row in compressed sparse rows (CSR).

    hit_minute: (hits,) int32, ascending within a row; hit_count: (hits,) float32; hit_concurrency: (hits,) float32 mean
    number of running calls, NaN where no source said; indptr: (functions + 1,) int64; since: (functions,) int32, first
    minute that was known of the function, `now_minute` where none was. A hit of a partial answer is a lower bound.
    """

    hit_minute: Int32Array
    hit_count: Float32Array
    hit_concurrency: Float32Array
    indptr: IntArray
    since: Int32Array
    now_minute: int

    def __len__(self) -> int:
        """Number of functions."""
        return self.since.size

"""A block of functions with its three grains, and how hits move from one to the next as they age.

Each block ages on its own turn, so a tick moves the hits of one or two blocks, not of the whole fleet. Until then a
block simply keeps more detail than it must; readers cut at the ages that `Retention` names, not at what is there.
"""

from __future__ import annotations

import numpy as np

from prewarm.domain import Float32Array, IntArray
from prewarm.history.arena import RowArena
from prewarm.history.known import KnownRuns
from prewarm.history.ragged import group_sums, row_numbers

BLOCK_ROWS = 1024
STEPS = (1, 5, 60)
AGE_EVERY = 120
"""Minutes between two turns of a block."""
_SLACK = (24, 6, 2)


class Block:
    """`BLOCK_ROWS` functions from `first_row` on; `tiers` are their arenas at the grains `STEPS`."""

    def __init__(self, first_row: int, start_minute: int) -> None:
        """An empty block; its first turn comes within AGE_EVERY minutes, later for later blocks."""
        self.first_row = first_row
        self.tiers = tuple(RowArena(BLOCK_ROWS, slack) for slack in _SLACK)
        self._turn = first_row // BLOCK_ROWS % AGE_EVERY
        self._next_turn = start_minute + self._turn

    def is_due(self, minute: int) -> bool:
        """Whether it is this block's turn to age."""
        return minute >= self._next_turn

    def age(self, minute: int, borders: tuple[int, int, int], known: KnownRuns) -> None:
        """Coarsen hits older than `borders` (first minutes at each grain) and drop the oldest.

        Hits of minutes that are not known (partial answers) are left out of coarse sums: they would make a sum look
        complete that is not.
        """
        for finer, coarser, border in ((0, 1, borders[0]), (1, 2, borders[1])):
            lengths, buckets, count, concurrency = self.tiers[finer].take_before(border // STEPS[finer])
            if not buckets.size:
                continue
            rows = row_numbers(lengths)
            if finer == 0:
                sure = known.test(rows + self.first_row, buckets)
                rows, buckets, count, concurrency = rows[sure], buckets[sure], count[sure], concurrency[sure]
            factor = STEPS[coarser] // STEPS[finer]
            self.tiers[coarser].extend(*coarsen(rows, buckets // factor, count, concurrency))
        self.tiers[2].take_before(borders[2] // STEPS[2])
        self._next_turn = minute + AGE_EVERY - (minute - self._turn) % AGE_EVERY


def coarsen(
    rows: IntArray, buckets: IntArray, count: Float32Array, concurrency: Float32Array
) -> tuple[IntArray, IntArray, Float32Array, Float32Array]:
    """Sum equal neighbours of (row, bucket); the result is in the form that `RowArena.extend` takes."""
    origin = int(buckets.min(initial=0))
    span = int(buckets.max(initial=0)) - origin + 1
    firsts, (counts, concurrencies) = group_sums(rows * span + (buckets - origin), count, concurrency)
    lengths = np.bincount(rows[firsts], minlength=BLOCK_ROWS).astype(np.int64)
    return lengths, buckets[firsts], counts, concurrencies

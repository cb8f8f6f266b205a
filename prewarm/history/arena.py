"""Storage of one block of functions at one grain: each row a run of hits in shared flat arrays, with room to grow.

A hit is a bucket (minute, five minutes or hour) with a count above 0 or something running; buckets without one are
not stored. Ten bytes a hit: a 16-bit bucket offset, the count and the concurrency. Appending a minute touches only the
rows that were hit; a block that runs out of room is laid out anew alone, so no tick pays for all functions at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import Float32Array, IntArray
from prewarm.history.ragged import first_at_least, flat_index, pointers

_OFFSET_LIMIT = 1 << 16


class RowArena:
    """Hits of `rows` functions in buckets of one length; the bucket of a minute is minute // step.

    `count` is the sum over the bucket; `concurrency` the sum over its minutes of the mean concurrency (NaN: not known).
    Within a row buckets ascend strictly.
    """

    def __init__(self, rows: int, slack: int) -> None:
        """An empty arena; `slack` is the room that each row gets beyond its hits."""
        self._slack = slack
        self._origin = 0
        self.start = np.zeros(rows, np.int64)
        self.end = np.zeros(rows, np.int64)
        self._room = np.zeros(rows + 1, np.int64)
        self._allocate(0)

    def _allocate(self, size: int) -> None:
        self.offset: NDArray[np.uint16] = np.zeros(size, np.uint16)
        self.count: Float32Array = np.zeros(size, np.float32)
        self.concurrency: Float32Array = np.zeros(size, np.float32)

    @property
    def origin(self) -> int:
        """Bucket of offset 0."""
        return self._origin

    @property
    def nbytes(self) -> int:
        """Bytes of the flat arrays, room included."""
        return self.offset.nbytes + self.count.nbytes + self.concurrency.nbytes

    def position(self, bucket: int) -> IntArray:
        """Per row, the position of the first hit at `bucket` or later."""
        return first_at_least(self.offset, self.start, self.end, bucket - self._origin)

    def _reserve(self, extra: IntArray, first_bucket: int, last_bucket: int) -> None:
        """Room for `extra` more hits a row between these buckets; the block is laid out anew where there is none."""
        full = (self.end + extra > self._room[1:]).any()
        if full or first_bucket < self._origin or last_bucket - self._origin >= _OFFSET_LIMIT:
            self._lay_out(extra, first_bucket)
            if last_bucket - self._origin >= _OFFSET_LIMIT:
                raise AssertionError("hits older than the retention must be taken out first")

    def _lay_out(self, extra: IntArray, first_bucket: int) -> None:
        lengths = self.end - self.start
        index = flat_index(self.start, lengths)
        held = self.start[lengths > 0]
        origin = min(int(self.offset[held].min()) + self._origin, first_bucket) if held.size else first_bucket
        room = pointers(lengths + extra + self._slack + (lengths >> 4))
        offset, count, concurrency = self.offset, self.count, self.concurrency
        target = flat_index(room[:-1], lengths)
        shift = self._origin - origin
        self._allocate(int(room[-1]))
        self.offset[target] = (offset[index].astype(np.int64) + shift).astype(np.uint16)
        self.count[target] = count[index]
        self.concurrency[target] = concurrency[index]
        self._origin, self._room = origin, room
        self.start, self.end = room[:-1].copy(), room[:-1] + lengths

    def append(self, rows: IntArray, bucket: int, count: Float32Array, concurrency: Float32Array) -> None:
        """One bucket later than all others; `rows` are distinct."""
        extra = np.zeros(self.start.size, np.int64)
        extra[rows] = 1
        self._reserve(extra, bucket, bucket)
        place = self.end[rows]
        self._write(place, np.full(rows.size, bucket, np.int64), count, concurrency)
        self.end[rows] += 1

    def extend(self, lengths: IntArray, buckets: IntArray, count: Float32Array, concurrency: Float32Array) -> None:
        """Many buckets at each row's end: `lengths` per row, values row by row, all later than what a row holds."""
        self.write_ahead(lengths, buckets, count, concurrency)
        self.end += lengths

    def write_ahead(self, lengths: IntArray, buckets: IntArray, count: Float32Array, concurrency: Float32Array) -> None:
        """Write hits behind each row's end without counting them in; the next append overwrites them."""
        if buckets.size:
            self._reserve(lengths, int(buckets.min()), int(buckets.max()))
        self._write(flat_index(self.end, lengths), buckets, count, concurrency)

    def _write(self, place: IntArray, buckets: IntArray, count: Float32Array, concurrency: Float32Array) -> None:
        self.offset[place] = (buckets - self._origin).astype(np.uint16)
        self.count[place] = count
        self.concurrency[place] = concurrency

    def drop_from(self, bucket: int) -> None:
        """Forget hits at `bucket` or later."""
        self.end = self.position(bucket)

    def take_before(self, bucket: int) -> tuple[IntArray, IntArray, Float32Array, Float32Array]:
        """Take out the hits before `bucket`: lengths per row, then buckets, counts and concurrencies row by row."""
        until = self.position(bucket)
        taken = self.read(self.start, until)
        self.start = until
        return taken

    def read(self, first: IntArray, until: IntArray) -> tuple[IntArray, IntArray, Float32Array, Float32Array]:
        """Copies of the hits at positions first..until of each row, in the form of `take_before`."""
        lengths = until - first
        index = flat_index(first, lengths)
        buckets = self.offset[index].astype(np.int64) + self._origin
        return lengths, buckets, self.count[index], self.concurrency[index]

"""Closed counts on their way to and from the store: some hours of all functions at one grain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from prewarm.domain import Float32Array, IntArray
from prewarm.history.batch import MinuteBatch
from prewarm.history.block import BLOCK_ROWS, STEPS, Block
from prewarm.history.known import KnownRuns, KnownSet
from prewarm.history.minute import OpenMinute
from prewarm.history.ragged import group_sums, pointers, row_numbers


@dataclass(frozen=True, slots=True)
class Segment:
    """Hits of minutes [start_minute, start_minute + minutes) in CSR: indptr (functions + 1,), the rest (hits,).

    `bucket` is minute // step, ascending within a row; `count` and `concurrency` are sums over the bucket as in
    `RowArena`. `known` says for each minute who is known: (first minute, end, set), ascending.
    """

    start_minute: int
    minutes: int
    step: int
    indptr: IntArray
    bucket: IntArray
    count: Float32Array
    concurrency: Float32Array
    known: tuple[tuple[int, int, KnownSet], ...]

    def __post_init__(self) -> None:
        """Whole hours at a grain of the history, so that segments can coarsen without being cut."""
        assert self.step in STEPS and self.start_minute % 60 == 0 and self.minutes % 60 == 0

    def coarsened(self, step: int) -> Segment:
        """The same hours at a coarser grain; hits of minutes that are not known are left out."""
        rows = row_numbers(np.diff(self.indptr))
        bucket, count, concurrency = self.bucket, self.count, self.concurrency
        if self.step == 1:
            sure = self.known_runs().test(rows, bucket)
            rows, bucket, count, concurrency = rows[sure], bucket[sure], count[sure], concurrency[sure]
        bucket = bucket // (step // self.step)
        span = self.minutes // step
        keys = rows * span + (bucket - self.start_minute // step)
        firsts, (counts, concurrencies) = group_sums(keys, count, concurrency)
        lengths = np.bincount(rows[firsts], minlength=self.indptr.size - 1).astype(np.int64)
        hits = (pointers(lengths), bucket[firsts], counts, concurrencies)
        return Segment(self.start_minute, self.minutes, step, *hits, self.known)

    def batches(self) -> list[MinuteBatch]:
        """The minutes of a segment at minute grain again, one batch each."""
        assert self.step == 1
        rows, runs = row_numbers(np.diff(self.indptr)).astype(np.int32), self.known_runs()
        batches = []
        for minute in range(self.start_minute, self.start_minute + self.minutes):
            at = self.bucket == minute
            known = [answer.mask(self.indptr.size - 1) for _, _, answer in runs.runs(minute, minute + 1)]
            who = np.flatnonzero(known[0] if known else np.zeros(0, np.bool_)).astype(np.int32)
            batches.append(MinuteBatch(minute, rows[at], self.count[at], self.concurrency[at], who))
        return batches

    def known_runs(self) -> KnownRuns:
        """The known sets as runs that can be asked."""
        runs = KnownRuns(self.start_minute)
        for first, until, known in self.known:
            runs.append(first, known)
            runs.end = until
        return runs


def hour_segment(start_minute: int, functions: int, batches: Iterable[MinuteBatch]) -> Segment:
    """One hour at minute grain from the batches that were accepted for it; `known=None` speaks for all `functions`."""
    minutes: dict[int, OpenMinute] = {}
    for batch in batches:
        minutes.setdefault(batch.minute, OpenMinute(functions)).merge(batch, functions)
    runs = KnownRuns(start_minute)
    for minute in sorted(minutes):
        runs.append(minute, KnownSet.of(minutes[minute].known[:functions]))
    known = tuple(runs.runs(start_minute, start_minute + 60))
    return Segment(start_minute, 60, 1, *by_row(minutes, functions), known)


def load_segments(blocks: Sequence[Block], known: KnownRuns, segments: Sequence[Segment]) -> None:
    """Append segments of one grain, ascending in time and later than what the blocks hold."""
    arena = STEPS.index(segments[0].step)
    for block in blocks:
        parts = [_rows_of(segment, block.first_row) for segment in segments]
        rows = np.concatenate([row_numbers(lengths) for lengths, _ in parts]).astype(np.uint16)
        place = np.argsort(rows, kind="stable")
        lengths = np.sum([lengths for lengths, _ in parts], axis=0)
        columns = (
            np.concatenate([getattr(segment, name)[part] for segment, (_, part) in zip(segments, parts, strict=True)])
            for name in ("bucket", "count", "concurrency")
        )
        block.tiers[arena].extend(lengths, *(column[place] for column in columns))
    for segment in segments:
        for first, until, answer in segment.known:
            known.append(first, answer)
            known.end = until


def _rows_of(segment: Segment, first_row: int) -> tuple[IntArray, slice]:
    """Lengths of a block's rows in a segment (0 for rows it does not have) and where its hits lie."""
    pointer = segment.indptr[np.minimum(np.arange(first_row, first_row + BLOCK_ROWS + 1), segment.indptr.size - 1)]
    return np.diff(pointer), slice(int(pointer[0]), int(pointer[-1]))


def by_row(minutes: dict[int, OpenMinute], functions: int) -> tuple[IntArray, IntArray, Float32Array, Float32Array]:
    """Hits of several minutes in CSR: indptr, minute, count, concurrency; minutes ascend within a row."""
    order = sorted(minutes)
    found = [(minutes[minute], minutes[minute].hits()) for minute in order]
    rows = np.concatenate([np.zeros(0, np.int64), *(hits for _, hits in found)])
    place = np.argsort(rows, kind="stable")
    bucket = np.repeat(np.array(order, np.int64), [hits.size for _, hits in found])
    none = np.zeros(0, np.float32)
    count = np.concatenate([none, *(minute.count[hits] for minute, hits in found)])
    concurrency = np.concatenate([none, *(minute.concurrency[hits] for minute, hits in found)])
    lengths = np.bincount(rows, minlength=functions).astype(np.int64)
    return pointers(lengths), bucket[place], count[place], concurrency[place]

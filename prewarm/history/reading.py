"""Reading the closed and open counts: recent hits of everybody at once, and dense windows of some functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from prewarm.domain import Float32Array, FloatArray, Int32Array, IntArray
from prewarm.history.arena import RowArena
from prewarm.history.block import BLOCK_ROWS, STEPS, Block
from prewarm.history.known import KnownRuns
from prewarm.history.minute import OpenMinute
from prewarm.history.ragged import flat_index, row_numbers
from prewarm.history.segment import by_row
from prewarm.history.view import HitView

Quantity = Literal["count", "concurrency"]


@dataclass(frozen=True, slots=True)
class Counts:
    """The parts of a History that reading needs."""

    blocks: Sequence[Block]
    known: KnownRuns
    open: dict[int, OpenMinute]
    functions: int


def read_hits(counts: Counts, since: Int32Array, now_minute: int, window_minutes: int) -> HitView:
    """Hits in [now - window, now) of all functions.

    The hits of open minutes are first written behind the closed ones of their row, uncounted, so that each row is one
    run and the whole is three gathers a block.
    """
    first = now_minute - window_minutes
    tail = _tail(counts, first, now_minute)
    starts, lengths = _runs(counts, tail, first, now_minute)
    indptr = np.zeros(counts.functions + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    total = int(indptr[-1])
    minute, count, concurrency = np.empty(total, np.int32), np.empty(total, np.float32), np.empty(total, np.float32)
    for block in counts.blocks:
        rows = slice(block.first_row, min(block.first_row + BLOCK_ROWS, counts.functions))
        out = slice(int(indptr[rows.start]), int(indptr[rows.stop]))
        _gather(block.tiers[0], flat_index(starts[rows], lengths[rows]), minute[out], count[out], concurrency[out])
    return HitView(minute, count, concurrency, indptr, since, now_minute)


_Tail = tuple[IntArray, IntArray, Float32Array, Float32Array]


def _tail(counts: Counts, first: int, until: int) -> _Tail:
    chosen = {minute: values for minute, values in counts.open.items() if first <= minute < until}
    return by_row(chosen, len(counts.blocks) * BLOCK_ROWS)


def _runs(counts: Counts, tail: _Tail, first: int, until: int) -> tuple[IntArray, IntArray]:
    """Position and length of each function's run in its block's arena, the tail written behind it."""
    indptr, minute, count, concurrency = tail
    starts, lengths = np.zeros((2, counts.functions), np.int64)
    for block in counts.blocks:
        arena, low = block.tiers[0], block.first_row
        part = slice(int(indptr[low]), int(indptr[low + BLOCK_ROWS]))
        more = np.diff(indptr[low : low + BLOCK_ROWS + 1])
        arena.write_ahead(more, minute[part], count[part], concurrency[part])
        begin, rows = arena.position(first), min(BLOCK_ROWS, counts.functions - low)
        starts[low : low + rows] = begin[:rows]
        lengths[low : low + rows] = (arena.position(until) - begin + more)[:rows]
    return starts, lengths


def _gather(
    arena: RowArena, index: IntArray, minute: Int32Array, count: Float32Array, concurrency: Float32Array
) -> None:
    np.add(arena.offset.take(index), np.int32(arena.origin), out=minute)
    # mode "clip" writes straight into `out`; every index is in range
    arena.count.take(index, out=count, mode="clip")
    arena.concurrency.take(index, out=concurrency, mode="clip")


def read_dense(counts: Counts, rows: IntArray, edges: IntArray, quantity: Quantity) -> FloatArray:
    """(rows, steps) values of steps [edges[j], edges[j+1]), all of one length.

    A step counts as known when at least half its minutes are; its count is then scaled up from the known minutes to the
    step's length, its concurrency is their mean. Other steps are NaN.
    """
    step = int(edges[1] - edges[0])
    sums = np.zeros((rows.size, edges.size - 1))
    for block in counts.blocks:
        chosen = np.flatnonzero(rows // BLOCK_ROWS == block.first_row // BLOCK_ROWS)
        if chosen.size:
            sums[chosen] = _block_sums(block, counts.known, rows[chosen], edges, quantity)
    known = counts.known.minutes(rows, edges)
    for minute, values in counts.open.items():
        if edges[0] <= minute < edges[-1]:
            column = int(minute - edges[0]) // step
            sure = values.known[rows]
            sums[:, column] += np.where(sure, _quantity(values, quantity)[rows], 0)
            known[:, column] += sure
    scale = step if quantity == "count" else 1
    enough = known * 2 >= step
    return np.where(enough, sums * scale / np.where(enough, known, 1), np.nan)


def _quantity(values: OpenMinute | RowArena, quantity: Quantity) -> Float32Array:
    return values.count if quantity == "count" else values.concurrency


def _block_sums(block: Block, known: KnownRuns, rows: IntArray, edges: IntArray, quantity: Quantity) -> FloatArray:
    step, columns = int(edges[1] - edges[0]), edges.size - 1
    sums = np.zeros(rows.size * columns)
    local = rows - block.first_row
    for grain, arena in zip(STEPS, block.tiers, strict=True):
        if step % grain:
            continue
        first = arena.position(int(edges[0]) // grain)[local]
        lengths = arena.position(int(edges[-1]) // grain)[local] - first
        index, row = flat_index(first, lengths), row_numbers(lengths)
        minute = (arena.offset[index].astype(np.int64) + arena.origin) * grain
        weight = _quantity(arena, quantity)[index].astype(np.float64)
        if grain == 1:
            weight[~known.test(rows[row], minute)] = 0
        sums += np.bincount(row * columns + (minute - edges[0]) // step, weight, sums.size)
    return sums.reshape(rows.size, columns)

"""A day of one level as a bitmap, and the day held against itself.

Bit (a - 1) is a hit a minutes ago. A shift by L and an AND compare all minutes with those L minutes earlier; the
exclusive or of two 64-minute pasts says how alike they are. Whether a minute like this one brought a hit is read from
all earlier minutes whose past was like the present one: the nearest neighbours and the context trees (Willems et al.,
1995) of the day. Imports numba: worker processes, training and simulations only.
"""

import math
from typing import Final

import numba
import numpy as np
from numpy.typing import NDArray

from prewarm.domain import Float32Array, FloatArray, Int32Array, IntArray

WORDS: Final = 23  # of 64 minutes: a day
_RECENT_WORDS: Final = 4
_DECAY: Final = np.exp(-np.arange(130) / 2.0)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def count_ones(word: np.uint64) -> np.int64:
    """Number of set bits of a word (the usual sum over halves)."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def fill_bitmap(hits: Int32Array, now: int, bits: NDArray[np.uint64], near: NDArray[np.uint64]) -> None:
    """bits: hits by age; near: the same spread by one minute to both sides."""
    bits[:] = np.uint64(0)
    for hit in hits:
        b = now - hit - 1
        bits[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    one, top = np.uint64(1), np.uint64(63)
    for k in range(WORDS):
        near[k] = bits[k] | (bits[k] << one) | (bits[k] >> one)
        if k > 0:
            near[k] |= bits[k - 1] >> top
        if k + 1 < WORDS:
            near[k] |= bits[k + 1] << top


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def count_lag(bits: NDArray[np.uint64], near: NDArray[np.uint64], lag: int, out: IntArray) -> None:
    """out: hits whose minute `lag` later is past, those met, met within a minute; the first two of the last 256 min."""
    out[:] = 0
    step, shift = lag >> 6, np.uint64(lag & 63)
    for k in range(WORDS - step):
        expected = bits[k + step] >> shift
        if shift > 0 and k + step + 1 < WORDS:
            expected |= bits[k + step + 1] << (np.uint64(64) - shift)
        if expected == 0:
            continue
        n, met = count_ones(expected), count_ones(expected & bits[k])
        out[0] += n
        out[1] += met
        out[2] += count_ones(expected & near[k])
        if k < _RECENT_WORDS:
            out[3] += n
            out[4] += met


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _suffix_length(difference: np.uint64, known: int) -> np.int64:
    """Latest minutes that two pasts have in common, at most 64 and at most those known."""
    if difference == 0:
        return np.int64(min(64, known))
    below = (difference & (~difference + np.uint64(1))) - np.uint64(1)
    return np.int64(min(count_ones(below), known))


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _weigh_analogs(bits: NDArray[np.uint64], seen: int, sums: FloatArray, after: IntArray) -> None:
    """Every past minute, weighted by the likeness of the 64 minutes before it to the last 64.

    sums[0:5] weights and sums[5:10] weights of hits, by five likenesses: exp(-distance) over 16 and 32 minutes,
    exp(-distance / 2) over 64, and with a tolerance of one minute over 32 and 64. after[0:65] minutes and
    after[65:130] hits by length of the common suffix.
    """
    one, low16, low32 = np.uint64(1), np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)
    present = bits[0]
    spread = present | (present << one) | (present >> one)
    past = np.uint64(0)
    distances = np.zeros(5, dtype=np.int64)
    for b in range(seen - 1, -1, -1):
        hit = np.int64((bits[b >> 6] >> np.uint64(b & 63)) & one)
        other = past ^ present
        apart = (past & ~spread) | (present & ~(past | (past << one) | (past >> one)))
        length = _suffix_length(other, seen - 1 - b)
        after[length] += 1
        after[65 + length] += hit
        distances[0], distances[1] = count_ones(other & low16) * 2, count_ones(other & low32) * 2
        distances[2], distances[3] = count_ones(other), count_ones(apart & low32) * 2
        distances[4] = count_ones(apart) * 2
        for k in range(5):
            weight = _DECAY[distances[k]]
            sums[k] += weight
            sums[5 + k] += weight * hit
        past = (past << one) | np.uint64(hit)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def fill_analogs(bits: NDArray[np.uint64], seen: int, n: int, x: Float32Array) -> None:
    """x[0:18]: how often a hit followed a past like the present one, by likeness and by length of the common suffix."""
    sums, after = np.zeros(10), np.zeros(130, dtype=np.int64)
    _weigh_analogs(bits, seen, sums, after)
    rate = (n + 0.1) / (seen + 1.0)
    for k in range(5):
        p = (sums[5 + k] + 0.5 * rate) / (sums[k] + 0.5)
        x[k] = math.log(p / (1.0001 - p)) / 4.0
        x[5 + k] = math.log1p(sums[k]) / 4.0
    for length in range(63, -1, -1):
        after[length] += after[length + 1]
        after[65 + length] += after[66 + length]
    blend, longest = rate, 0
    for length in range(65):
        if after[length] == 0:
            break
        longest = length
        if length == 0 or after[length] != after[length - 1]:
            blend = (after[65 + length] + 2.0 * blend) / (after[length] + 2.0)
    x[10] = math.log(max(blend, 1e-4) / (1.0001 - blend)) / 4.0
    x[11] = longest / 32.0
    for k in range(3):
        length = 4 << k
        p = (after[65 + length] + rate) / (after[length] + 1.0)
        x[12 + k] = math.log(p / (1.0001 - p)) / 4.0
        x[15 + k] = math.log1p(after[length]) / 4.0

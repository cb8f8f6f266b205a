"""What the sequence model reads: past hits of one level as tokens, and scalars of the series.

A query is (row, level, minute). Its hits are the earlier minutes whose need reached the level; the last TOKENS of them
become tokens of relative facts: how long ago; how often a hit at this lag was followed by a hit; what came after that
hit, held against the present idle age; how alike the gaps before it are to the present ones; how large its need was.
Everything is a pure function of the sparse history of the last DAY minutes and of the minute, so a restart loses
nothing. Imports numba: worker processes, training and simulations only.
"""

import math
from typing import Final

import numba
import numpy as np

from prewarm.domain import Float32Array, Int32Array, IntArray
from prewarm.forecast.levels.neural_bits import WORDS, count_lag, fill_analogs, fill_bitmap

TOKENS: Final = 48
FEATURES: Final = 21
SCALARS: Final = 114
DAY: Final = 1440
HEADS: Final = 4  # of the network's attention, here because training and serving share it
EXACT: Final = 8  # column of the tokens: the gap after this hit ended at the present age
AT_RISK: Final = 10  # column: that gap got as old as this

_WINDOWS: Final = np.array([2, 5, 10, 15, 30, 60, 120, 240, 480, 1440], dtype=np.int64)
_BITS: Final = 32
_MARK_WINDOWS: Final = np.array([15, 60, 240], dtype=np.int64)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _signed_log(value: float) -> float:
    return math.log1p(value) if value >= 0 else -math.log1p(-value)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _log_odds(met: int, n: int) -> float:
    return math.log((met + 0.3) / (n - met + 0.7)) / 4.0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill_match(hits: Int32Array, j: int, row: Float32Array) -> None:
    """Likeness of the gaps before the hit j back to the latest gaps.

    row[12:14] one by one, row[14:16] length of the match, exact and within a minute.
    """
    last = len(hits) - 1
    same, alike = 0, 0
    exact, rough = True, True
    for m in range(min(8, last - j)):
        then = hits[last - j - m] - hits[last - j - m - 1]
        d = abs(then - (hits[last - m] - hits[last - m - 1]))
        if m < 2:
            row[12 + m] = 1.0 - math.log1p(d) / 3.5
        elif not rough:
            break
        exact = exact and d == 0
        rough = rough and d <= 1
        same += exact
        alike += rough
    row[14] = same / 4.0
    row[15] = alike / 4.0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill_token(hits: Int32Array, j: int, now: int, counts: IntArray, row: Float32Array) -> None:
    """Token of the hit j back (0 = the latest); counts as of `count_lag` for its lag."""
    last = len(hits) - 1
    lag, age = now - hits[last - j], now - hits[last]
    row[0] = math.log(lag) / 7.0
    row[1] = math.log1p(j) / 4.0
    row[2] = _log_odds(counts[1], counts[0])
    row[3] = _log_odds(counts[2], counts[0])
    row[4] = math.log1p(counts[0]) / 4.0
    row[5] = _log_odds(counts[4], counts[3])
    row[6] = math.log1p(counts[3]) / 4.0
    row[7] = _log_odds(counts[1], max(last, counts[1]))
    if j == 0:
        row[16] = 1.0
        return
    after = lag - (now - hits[last - j + 1])
    row[8] = 1.0 if after == age else 0.0
    row[9] = 1.0 if abs(after - age) == 1 else 0.0
    row[10] = 1.0 if after >= age else 0.0
    row[11] = _signed_log(after - age) / 6.0
    _fill_match(hits, j, row)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill_hazard(hits: Int32Array, age: int, x: Float32Array) -> None:
    """x[0:5]: hazard at this idle age over all gaps, exact, within a minute, in a band of +-20 %, and its support."""
    events, near, risk, band, exposure = 0, 0, 0, 0, 0.0
    low, high = age * 0.8, age * 1.25
    for i in range(1, len(hits)):
        gap = hits[i] - hits[i - 1]
        risk += gap >= age
        events += gap == age
        near += abs(gap - age) <= 1
        if gap >= low:
            exposure += min(gap, high) - low + 1.0
            band += gap <= high
    x[0] = math.log((events + 0.2) / (risk + 1.0)) / 3.0
    x[1] = math.log((near + 0.2) / (risk + 1.0)) / 3.0
    x[2] = math.log1p(risk) / 3.0
    x[3] = math.log((band + 0.1) / (exposure + 1.0)) / 3.0
    x[4] = risk / max(len(hits) - 1, 1)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill_gap_law(hits: Int32Array, age: int, x: Float32Array) -> None:
    """x[0:5]: mean and spread of log gaps, longest gap and mean gap against this age, number of gaps."""
    total, squares, longest = 0.0, 0.0, 0
    n = max(len(hits) - 1, 1)
    for i in range(1, len(hits)):
        gap = hits[i] - hits[i - 1]
        log_gap = math.log(gap)
        total += log_gap
        squares += log_gap * log_gap
        longest = max(longest, gap)
    mean = total / n
    x[0] = mean / 3.0
    x[1] = math.sqrt(max(squares / n - mean * mean, 0.0))
    x[2] = (math.log1p(longest) - math.log(age)) / 3.0
    x[3] = (mean - math.log(age)) / 3.0
    x[4] = math.log1p(len(hits) - 1) / 4.0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill_runs(hits: Int32Array, age: int, x: Float32Array) -> None:
    """x[0:5]: the latest run of consecutive minutes, and how earlier runs that got as long went on."""
    i, run = len(hits) - 1, 1
    while i > 0 and hits[i] - hits[i - 1] == 1:
        run += 1
        i -= 1
    runs, ended, longer, total, length = 0, 0, 0, 0, 1
    for k in range(i - 1, -1, -1):
        if k > 0 and hits[k] - hits[k - 1] == 1:
            length += 1
            continue
        runs += 1
        total += length
        ended += length == run
        longer += length > run
        length = 1
    x[0] = math.log(run) / 3.0 if age == 1 else 0.0
    x[1] = math.log(run) / 3.0
    x[2] = math.log((total + 1.0) / (runs + 1.0)) / 3.0
    x[3] = math.log((longer + 0.3) / (ended + 0.3)) / 3.0
    x[4] = math.log1p(ended + longer) / 3.0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill_recent(hits: Int32Array, age: int, bit: np.uint64, x: Float32Array) -> None:
    """x[0:32] the last minutes as bits; x[32:48] the last gaps and their distance from the age; x[48:54] small ages."""
    for b in range(_BITS):
        x[b] = np.float32((bit >> np.uint64(b)) & np.uint64(1))
    last = len(hits) - 1
    for m in range(8):
        if last - m >= 1:
            gap = hits[last - m] - hits[last - m - 1]
            x[32 + m] = math.log(gap) / 3.0
            x[40 + m] = _signed_log(gap - age) / 3.0
        else:
            x[32 + m] = -0.5
    for m in range(1, 7):
        x[47 + m] = 1.0 if age == m else 0.0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill_windows(hits: Int32Array, now: int, seen: int, x: Float32Array) -> None:
    """x[0:10]: log rate of hits in growing windows."""
    k, n = len(hits) - 1, 0
    for w in range(len(_WINDOWS)):
        while k >= 0 and now - hits[k] <= _WINDOWS[w]:
            n += 1
            k -= 1
        x[w] = math.log((n + 0.1) / (min(seen, _WINDOWS[w]) + 1.0)) / 3.0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill_needs(minutes: Int32Array, needs: Float32Array, now: int, level: int, x: Float32Array) -> None:
    """x[0:12]: need against the level in 6 minutes, its peaks, the level, the last hit of any level, share of hits."""
    reached = 0
    for i in range(len(minutes) - 1, -1, -1):
        lag = now - minutes[i]
        share = math.log1p(needs[i] / level)
        reached += needs[i] >= level
        if lag <= 6:
            x[lag - 1] = share
        for w in range(len(_MARK_WINDOWS)):
            if lag <= _MARK_WINDOWS[w]:
                x[6 + w] = max(x[6 + w], share)
    x[9] = math.log(level)
    n = len(minutes)
    x[10] = math.log(now - minutes[n - 1]) / 3.0 if n else 2.4
    x[11] = reached / n if n else 0.0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill_marks(marks: Float32Array, tokens: Float32Array, x: Float32Array) -> None:
    """tokens[:, 18:21]: mark of each hit against the latest one and the mean; x[0:2]: the latest, spread of log marks.

    Marks tell the parts of an app apart; only their ratios are read, so their unit does not matter.
    """
    n = len(marks)
    logs = np.log(np.maximum(marks, np.float32(1e-6)))
    mean = logs.mean()
    for j in range(len(tokens)):
        apart = logs[n - 1 - j] - logs[n - 1]
        tokens[j, 18] = min(max(apart / 3.0, -1.5), 1.5)
        tokens[j, 19] = math.exp(-4.0 * abs(apart))
        tokens[j, 20] = min(max((logs[n - 1 - j] - mean) / 3.0, -1.5), 1.5)
    x[0] = min(max((logs[n - 1] - mean) / 3.0, -1.5), 1.5)
    x[1] = logs.std()


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill_scalars(hits: Int32Array, now: int, seen: int, bit: np.uint64, x: Float32Array) -> None:
    """x[0:82]: the series as a whole."""
    age = now - hits[-1] if len(hits) else seen
    x[0] = math.log(age) / 3.0
    x[1] = 1.0 if len(hits) else 0.0
    x[2] = math.log(seen) / 3.0 - 1.5
    _fill_windows(hits, now, seen, x[3:13])
    _fill_recent(hits, age, bit, x[13:67])
    if len(hits):
        _fill_hazard(hits, age, x[67:72])
        _fill_gap_law(hits, age, x[72:77])
        _fill_runs(hits, age, x[77:82])


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _first_of_day(minutes: Int32Array, now: int) -> tuple[np.intp, np.intp]:
    """Range of hits that a query reads: those of the DAY minutes before `now`."""
    return np.searchsorted(minutes, now - DAY), np.searchsorted(minutes, now)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def count_tokens(minute: Int32Array, size: Float32Array, indptr: IntArray, queries: IntArray) -> IntArray:
    """int64[Q]: tokens of each query (row, level, minute), at most TOKENS."""
    out = np.zeros(len(queries), dtype=np.int64)
    for q in range(len(queries)):
        row, level, now = queries[q]
        first, end = indptr[row], indptr[row + 1]
        low, high = _first_of_day(minute[first:end], now)
        i = first + high - 1
        while i >= first + low and out[q] < TOKENS:
            out[q] += size[i, 0] >= level
            i -= 1
    return out


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def describe(
    minute: Int32Array, size: Float32Array, indptr: IntArray, since: IntArray, queries: IntArray, count: IntArray
) -> tuple[Float32Array, Float32Array]:
    """Tokens of all queries one after another, float32[sum(count), FEATURES], and float32[Q, SCALARS].

    CSR history: hit minutes ascending in a row, size float32[hits, 2] = need >= 1 and mark > 0 of each; since[row]
    first known minute; queries int64[Q, 3] (row, level, minute); count from `count_tokens`. Only hits before the
    query's minute are read.
    """
    tokens = np.zeros((count.sum(), FEATURES), dtype=np.float32)
    scalars = np.zeros((len(queries), SCALARS), dtype=np.float32)
    bits, near = np.zeros(WORDS, dtype=np.uint64), np.zeros(WORDS, dtype=np.uint64)
    counts = np.zeros(5, dtype=np.int64)
    at = 0
    for q in range(len(queries)):
        row, level, now = queries[q]
        low, high = _first_of_day(minute[indptr[row] : indptr[row + 1]], now)
        minutes, sizes = minute[indptr[row] + low : indptr[row] + high], size[indptr[row] + low : indptr[row] + high]
        reached = sizes[:, 0] >= level
        hits, large = minutes[reached], sizes[reached]
        fill_bitmap(hits, now, bits, near)
        for j in range(count[q]):
            count_lag(bits, near, now - hits[len(hits) - 1 - j], counts)
            _fill_token(hits, j, now, counts, tokens[at])
            tokens[at, 17] = math.log(large[len(large) - 1 - j, 0] / level)
            at += 1
        seen = min(max(now - since[row], 1), DAY)
        _fill_scalars(hits, now, seen, bits[0], scalars[q, :82])
        _fill_needs(minutes, sizes[:, 0], now, level, scalars[q, 82:94])
        if len(hits) >= 2:
            _fill_marks(large[:, 1], tokens[at - count[q] : at], scalars[q, 94:96])
            fill_analogs(bits, seen, len(hits), scalars[q, 96:])
    return tokens, scalars

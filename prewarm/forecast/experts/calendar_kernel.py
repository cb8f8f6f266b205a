"""What the same time on earlier days says of the coming minute, for every function at once.

The learned level model sees one day; a job that runs every night at 03:00, office hours, or a weekly promotion it
cannot know. Here each earlier day in the window is asked how often level k was reached around the same minute of the
day, with three widths (the very minute, a few minutes, most of an hour) and over three choices of days (all, the same
kind, the same weekday). Which of the nine is worth anything differs by function; `mixture` learns it.

Imports numba: worker processes and simulations only.
"""

from __future__ import annotations

import numba
import numpy as np

from prewarm.domain import Float32Array, FloatArray, Int32Array, IntArray
from prewarm.forecast.experts.opinions import HALF_WIDTHS

DAY = 1440
DAY_DECAY = 0.9  # weight of a day against the one after it
SHRINK = 0.4  # days' worth of the function's plain rate that each opinion is mixed with


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _reached_around(minutes: Int32Array, needs: Int32Array, level: int, centre: int) -> FloatArray:
    """Share of the minutes within each half width of `centre` at which the level was reached, (3,)."""
    counts = np.zeros(3)
    widest = HALF_WIDTHS[2]
    position = np.searchsorted(minutes, centre - widest)
    while position < len(minutes) and minutes[position] <= centre + widest:
        if needs[position] >= level:
            away = abs(minutes[position] - centre)
            counts[2] += 1.0
            if away <= HALF_WIDTHS[1]:
                counts[1] += 1.0
            if away == 0:
                counts[0] += 1.0
        position += 1
    for width in range(3):
        counts[width] /= 2 * HALF_WIDTHS[width] + 1
    return counts


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _opinions(minutes: Int32Array, needs: Int32Array, since: int, level: int, now_minute: int, days: int) -> FloatArray:
    """The nine opinions on one function, whose hits are all before `now_minute`; NaN where there is none."""
    reached = np.zeros((3, 3))
    weight = np.zeros(3)
    today = (now_minute // DAY + 3) % 7  # the epoch began on a Thursday; 0 is Monday
    for day in range(1, days + 1):
        centre = now_minute - day * DAY
        if centre - HALF_WIDTHS[2] < since:
            break
        share = DAY_DECAY ** (day - 1) * _reached_around(minutes, needs, level, centre)
        weekday = (today - day) % 7
        applies = (True, (weekday >= 5) == (today >= 5), weekday == today)
        for choice in range(3):
            if applies[choice]:
                weight[choice] += DAY_DECAY ** (day - 1)
                reached[choice] += share
    plain = np.sum(needs >= level) / max(now_minute - since, 1)
    out = np.full(9, np.nan)
    for choice in range(3):
        if weight[choice] > 0:
            out[choice * 3 : choice * 3 + 3] = (reached[choice] + SHRINK * plain) / (weight[choice] + SHRINK)
    return out


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def calendar_chances(
    hits: tuple[Int32Array, Int32Array, IntArray], since: Int32Array, asked: Int32Array, now_minute: int, days: int
) -> Float32Array:
    """P(need >= level at now_minute) by each calendar expert, (m, 9); NaN where no earlier day of the choice is known.

    hits: minutes since the epoch (ascending inside a function), needs, and the CSR pointer over functions; only those
    before `now_minute` are read. since: (n,) first known minute. asked: (m, 2) function and level of each question.
    """
    hit_minute, hit_need, indptr = hits
    out = np.full((len(asked), 9), np.nan, dtype=np.float32)
    for item in range(len(asked)):
        function, level = asked[item]
        low, high = indptr[function], indptr[function + 1]
        high = low + np.searchsorted(hit_minute[low:high], now_minute)
        if now_minute - since[function] >= DAY:
            minutes, needs = hit_minute[low:high], hit_need[low:high]
            out[item] = _opinions(minutes, needs, since[function], level, now_minute, days)
    return out

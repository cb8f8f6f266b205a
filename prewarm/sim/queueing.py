"""The compiled inner loop: one function's first-in-first-out queue in front of a changing number of slots.

An instance with concurrency limit c is c slots, and a free slot of any ready instance may take the head of the queue
(an ideal load balancer), so waiting depends on nothing but when slots become free. Slots are a binary heap of those
moments; a slot of an instance that is still starting becomes free when the instance is ready.

Python callers go through prewarm.sim.cluster; this module compiles on import and is therefore imported late.

Arrays: arrival, service, wait: (requests,) seconds; slots: (capacity,) heap; cursor: int64 (3,) = number of slots, next
request to start, next request to arrive; level: (seconds + 2,) changes of the number in the system at the start of each
second; area: (seconds + 2,) what the changes inside a second add to that second's mean. Infinite wait = timed out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numba
import numpy as np

from prewarm.domain import FloatArray, IntArray

SLOTS, HEAD, ARRIVED = 0, 1, 2

_compile = numba.njit(cache=True)


def _add_slot(slots: FloatArray, size: int, free_at: float) -> None:
    """Put `free_at` into the heap of `size` entries; the caller sees to capacity and counts."""
    at = size
    while at > 0 and slots[(at - 1) >> 1] > free_at:
        slots[at] = slots[(at - 1) >> 1]
        at = (at - 1) >> 1
    slots[at] = free_at


def _replace_first(slots: FloatArray, size: int, free_at: float) -> None:
    """Replace the earliest entry of the heap by `free_at`."""
    at = 0
    child = 1
    while child < size:
        if child + 1 < size and slots[child + 1] < slots[child]:
            child += 1
        if slots[child] >= free_at:
            break
        slots[at] = slots[child]
        at = child
        child = 2 * at + 1
    slots[at] = free_at


def _note_change(level: FloatArray, area: FloatArray, at: float, change: float) -> None:
    """The number in the system changes by `change` at `at`; what lies past the last second does not count."""
    second = int(at)
    if second + 1 < len(level):
        level[second + 1] += change
        area[second] += change * (second + 1 - at)


add_slot = cast("Callable[[FloatArray, int, float], None]", _compile(_add_slot))
replace_first = cast("Callable[[FloatArray, int, float], None]", _compile(_replace_first))
note_change = cast("Callable[[FloatArray, FloatArray, float, float], None]", _compile(_note_change))


def _arrive(arrival: FloatArray, cursor: IntArray, level: FloatArray, area: FloatArray, until: float) -> None:
    """Count every request that has come by `until` into the system."""
    at = cursor[2]
    while at < len(arrival) and arrival[at] <= until:
        note_change(level, area, arrival[at], 1.0)
        at += 1
    cursor[2] = at


def _serve(
    requests: tuple[FloatArray, FloatArray, FloatArray],
    slots: FloatArray,
    cursor: IntArray,
    counts: tuple[FloatArray, FloatArray],
    until: float,
    timeout: float,
) -> None:
    """Start (or time out) every request whose moment comes by `until`; requests = arrival, service, wait."""
    arrival, service, wait = requests
    level, area = counts
    arrive(arrival, cursor, level, area, until)
    size, head = cursor[0], cursor[1]
    while head < cursor[2]:
        came = arrival[head]
        start = np.inf
        if size > 0:
            start = max(came, slots[0])
        if start > came + timeout:
            if came + timeout > until:
                break
            wait[head] = np.inf
            note_change(level, area, came + timeout, -1.0)
        else:
            if start > until:
                break
            wait[head] = start - came
            note_change(level, area, start + service[head], -1.0)
            replace_first(slots, size, start + service[head])
        head += 1
    cursor[1] = head


arrive = cast("Callable[[FloatArray, IntArray, FloatArray, FloatArray, float], None]", _compile(_arrive))
serve = cast(
    "Callable[[tuple[FloatArray, FloatArray, FloatArray], FloatArray, IntArray, "
    "tuple[FloatArray, FloatArray], float, float], None]",
    _compile(_serve),
)


def rebuild(slots: FloatArray, cursor: IntArray, kept: FloatArray) -> None:
    """Make `kept` the whole heap (a sorted array is a heap)."""
    ordered = np.sort(kept)
    slots[: len(ordered)] = ordered
    cursor[SLOTS] = len(ordered)

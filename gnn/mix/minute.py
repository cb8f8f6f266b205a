"""One minute of the world: what a plan becomes, which instance serves which call, and what it costs.

The rules, the same for every policy. A plan keeps what is warm and starts the rest, as far as there is room; what its
cluster has no room for goes to the nearest that has, first to one where the function is warm and need not start. A call
goes to the nearest instance that has room left for it. An instance started by the plan serves from the end of its
start-up on; calls that come before and find no other have waited for a cold start. What is needed beyond the plan is
started where it is nearest to the region with most calls still unserved and the cluster has room, and stays until a
plan drops it. With no room anywhere the instance is missing and its calls are lost. A callee's calls, as many as its
caller had, come from where the caller's were served.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

Array = Any  # numba's arguments; shapes stand in the docstrings

LEDGER = ("cold", "waste_gb_s", "delay_s", "missing")
COLD, WASTE, DELAY, MISSING = range(4)
TALLY = ("moves", "started", "allocated_gb", "used_gb", "room_gb")
MOVES, STARTED, ALLOCATED, USED, ROOM = range(5)
_TINY = 1e-9

compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def fit(plan: Array, warm: Array, memory: Array, rooms: Array, pools: Array) -> None:
    """Fill pools (kept, new), (n, c) each, with what of the plan there is room for. rooms: what is left of each
    cluster's (c,), which is lowered, and the clusters by nearness (c, c).

    Kept instances come first; where even they exceed the room, the last functions lose theirs.
    """
    room, nearest = rooms
    kept, new = pools
    rows, clusters = plan.shape
    for i in range(rows):
        for c in range(clusters):
            kept[i, c] = min(plan[i, c], warm[i, c])
            new[i, c] = 0
            room[c] -= memory[i] * kept[i, c]
    for c in range(clusters):
        i = rows - 1
        while room[c] < -_TINY and i >= 0:
            lost = min(kept[i, c], int(np.ceil((-room[c] - _TINY) / memory[i])))
            kept[i, c] -= lost
            room[c] += lost * memory[i]
            i -= 1
    for i in range(rows):
        for c in range(clusters):
            if plan[i, c] > kept[i, c]:
                lack = plan[i, c] - kept[i, c]
                lack -= _take(c, lack, memory[i], room, new[i])
                if lack > 0:
                    _take_elsewhere(lack, warm[i], memory[i], (room, nearest[c]), (kept[i], new[i]))


@compiled  # type: ignore[untyped-decorator]
def _take(c: int, wanted: int, memory: float, room: Array, line: Array) -> int:
    """Put up to `wanted` instances into cluster c as far as there is room; how many."""
    fits = max(0, min(wanted, int(np.floor((room[c] + _TINY) / memory))))
    room[c] -= fits * memory
    line[c] += fits
    return fits


@compiled  # type: ignore[untyped-decorator]
def _take_elsewhere(lack: int, warm: Array, memory: float, rooms: Array, lines: Array) -> None:
    """Put instances that their cluster has no room for where the function is warm beside its plan, else elsewhere."""
    room, order = rooms
    kept, new = lines
    for c in order[1:]:
        spare = warm[c] - kept[c] - new[c]
        if lack > 0 and spare > 0:
            lack -= _take(c, min(lack, spare), memory, room, kept)
    for c in order[1:]:
        if lack > 0:
            lack -= _take(c, lack, memory, room, new)


@compiled  # type: ignore[untyped-decorator]
def route(source: Array, capacity: Array, pairs: Array, delay: Array, served: Array) -> float:
    """Send calls (c,) to instances by rising delay; lowers both, adds to `served`; returns the summed delay."""
    spent = 0.0
    left = source.sum()
    for k in range(pairs.shape[0]):
        if left <= _TINY:
            break
        r, c = pairs[k, 0], pairs[k, 1]
        if source[r] > 0.0 and capacity[c] > 0.0:
            sent = min(source[r], capacity[c])
            source[r] -= sent
            capacity[c] -= sent
            served[c] += sent
            left -= sent
            spent += sent * delay[r, c]
    return spent


@compiled  # type: ignore[untyped-decorator]
def start_on_demand(source: Array, lack: int, facts: Array, room: Array, maps: Array, state: Array) -> tuple[Any, ...]:
    """Start what is needed beyond the plan; (started, missing, summed delay). facts: memory, calls per instance.

    maps: pairs, nearest (c, c) clusters by delay from a region, delay; state: capacity, served, started by cluster.
    """
    pairs, nearest, delay = maps
    capacity, served, begun = state
    memory, per_instance = facts
    spent = 0.0
    count = 0
    while count < lack:
        busiest = int(np.argmax(source))
        at = -1
        for c in nearest[busiest]:
            if room[c] + _TINY >= memory:
                at = c
                break
        if at < 0:
            break
        room[at] -= memory
        begun[at] += 1
        capacity[:] = 0.0
        capacity[at] = per_instance
        spent += route(source, capacity, pairs, delay, served)
        count += 1
    return count, lack - count, spent


@compiled  # type: ignore[untyped-decorator]
def sources(i: int, calls: float, origin: Array, caller: Array, today: Array, source: Array) -> None:
    """Where a function's calls come from, (c,). today: calls (n,) of this minute so far, served (n, c)."""
    counted, served = today
    parent = caller[i]
    inside = 0.0
    if parent >= 0 and counted[parent] > 0.0:
        total = served[parent].sum()
        if total > 0.0:
            inside = min(calls, counted[parent])
            for c in range(source.size):
                source[c] = inside * served[parent, c] / total
    own = (calls - inside) / calls
    for c in range(source.size):
        source[c] = (source[c] if inside > 0.0 else 0.0) + own * origin[c]


@compiled  # type: ignore[untyped-decorator]
def serve_one(source: Array, hit: Array, pools: Array, maps: Array, served: Array) -> tuple[Any, ...]:
    """Serve one function's calls (c,) by its planned instances: (cold starts waited for, summed delay); the calls left
    stay in `source`. hit: calls, need, start_s, calls per instance; pools: kept and new (c,).
    """
    pairs, _, delay = maps
    calls, need, start_s, per_instance = hit
    kept, new = pools
    ready, begun = kept.sum(), new.sum()
    if begun == 0:
        if ready == 0:
            return 0.0, 0.0
        return 0.0, route(source, kept * per_instance, pairs, delay, served)
    share = start_s / 60.0
    early = source * share
    spent = route(early, kept * (per_instance * share), pairs, delay, served)
    source[:] = source * (1.0 - share) + early
    spent += route(source, kept * (per_instance * (1.0 - share)) + new * per_instance, pairs, delay, served)
    waited = min(begun, max(0, need - ready))
    return waited * (1.0 - (1.0 - share) ** (calls / need)), spent


@compiled  # type: ignore[untyped-decorator]
def run_minute(hits: Array, pools: Array, facts: Array, now: Array, maps: Array, books: Array) -> Any:
    """Play one minute; returns the instances at its end (n, c) and fills the books.

    hits: row, calls, need, start_s, origin of this minute; pools: plan, warm; facts: memory, calls per instance,
    duration_s, caller; now: price, room (c,); maps: pairs, nearest, delay; books: ledger (n, 4), tally (5,), came
    (h, c).
    """
    plan, warm = pools
    memory, _, duration_s, _ = facts
    price, room = now
    ledger, tally, came = books
    rows, clusters = plan.shape
    kept, new = np.zeros_like(plan), np.zeros_like(plan)
    left = room.copy()
    tally[ROOM] += room.sum()
    fit(plan, warm, memory, (left, maps[1]), (kept, new))
    _count_moves(warm, kept, new, tally)
    at_end = kept + new
    today = (np.zeros(rows), np.zeros((rows, clusters)))
    for h in range(hits[0].size):
        i = hits[0][h]
        _one_hit(h, hits, (kept[i], new[i], at_end[i]), facts, left, maps, (ledger[i], today, came[h]))
    for i in range(rows):
        for c in range(clusters):
            held = 60.0 * memory[i] * at_end[i, c]
            used = today[1][i, c] * duration_s[i] * memory[i]
            ledger[i, WASTE] += price[c] * max(0.0, held - used)
            tally[ALLOCATED] += held / 60.0
            tally[USED] += min(held, used) / 60.0
    return at_end


@compiled  # type: ignore[untyped-decorator]
def _one_hit(h: int, hits: Array, pools: Array, facts: Array, left: Array, maps: Array, books: Array) -> None:
    row, calls, need, start_s, origin = hits
    kept, new, at_end = pools
    memory, per_instance, _, caller = facts
    line, today, came = books
    i = row[h]
    source = np.zeros(kept.size)
    sources(i, calls[h], origin[h], caller, today, source)
    came[:] = source
    each = max(per_instance[i], calls[h] / need[h])
    served = today[1][i]
    waited, spent = serve_one(source, (calls[h], need[h], start_s[h], each), (kept, new), maps, served)
    lack = max(0, need[h] - kept.sum() - new.sum())
    begun, missing = 0, 0
    if lack > 0:
        state = (np.zeros(kept.size), served, at_end)
        begun, missing, more = start_on_demand(source, lack, (memory[i], each), left, maps, state)
        spent += more
    if missing == 0 and source.sum() > _TINY:  # rounding: the nearest instance takes it
        spent += route(source, at_end * calls[h], maps[0], maps[2], served)
    today[0][i] = calls[h]
    line[COLD] += waited + begun
    line[DELAY] += spent
    line[MISSING] += missing


@compiled  # type: ignore[untyped-decorator]
def _count_moves(warm: Array, kept: Array, new: Array, tally: Array) -> None:
    for i in range(warm.shape[0]):
        begun, dropped = 0, 0
        for c in range(warm.shape[1]):
            begun += new[i, c]
            dropped += warm[i, c] - kept[i, c]
        tally[MOVES] += min(begun, dropped)
        tally[STARTED] += begun

"""The replica rule, the same for every policy: enough replicas for 70 % busy over the last ten seconds, looked at every
two; more at once, fewer only down to the most that was asked for in the last minute.

Who goes first: one that still waits, else the newest. Where no calls are run the busy seconds follow from the rates.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gnn.published.kernel.binding import ask_of_replica, drop_waiting, give
from gnn.published.kernel.calls import count_busy
from gnn.published.kernel.layout import (
    CALLS_ON,
    DIRTY,
    FREE,
    NOW,
    PENDING,
    READY,
    SERVICES,
    SLOTS,
    TICKS,
    TIERS,
    WAITING_WEB,
    WEB_CREATED,
)

Array = Any

TICK_S, LOOKED_AT, KEPT = 2.0, 5, 30
TARGET_BUSY, SERVICE_S = 0.7, 0.007
_ROUND = 1e-9

compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def tick(sim: Array) -> None:
    """One look at all services."""
    sim.i[TICKS] += 1
    at = sim.i[TICKS]
    for s in range(SERVICES):
        _count_work(sim, s)
        asked = _asked(sim, s, at)
        sim.recent[s, at % KEPT] = asked
        sim.wanted[s] = max(asked, sim.recent[s].max())
        adjust(sim, s)


@compiled  # type: ignore[untyped-decorator]
def _count_work(sim: Array, s: int) -> None:
    if sim.i[CALLS_ON]:
        count_busy(sim, s, sim.f[NOW])
        sim.area[s] = sim.busy_area[s]
    else:
        sim.area[s] += TICK_S * SERVICE_S * sim.rate[s // TIERS]


@compiled  # type: ignore[untyped-decorator]
def _asked(sim: Array, s: int, at: int) -> int:
    """Replicas for the busy seconds of the last ten; as many as at the start until ten have passed."""
    places = LOOKED_AT + 1
    sim.work_at[s, at % places] = sim.area[s]
    if at < LOOKED_AT:
        return int(sim.wanted[s])
    busy = (sim.area[s] - sim.work_at[s, (at - LOOKED_AT) % places]) / (TICK_S * LOOKED_AT)
    return int(replicas_for(busy))


@compiled  # type: ignore[untyped-decorator]
def replicas_for(busy: float) -> int:
    """Replicas that are 70 % busy together when `busy` of them are on average; at least one."""
    return max(1, int(np.ceil(busy / TARGET_BUSY - _ROUND)))


@compiled  # type: ignore[untyped-decorator]
def adjust(sim: Array, s: int) -> None:
    """Create or end replicas of a service until it has what is wanted."""
    while sim.have[s] < sim.wanted[s]:
        create(sim, s)
    while sim.have[s] > sim.wanted[s]:
        end(sim, _first_to_go(sim, s))


@compiled  # type: ignore[untyped-decorator]
def create(sim: Array, s: int) -> None:
    """A new replica joins the line."""
    slot = 0
    while sim.state[slot] != FREE:
        slot += 1
    sim.state[slot] = PENDING
    sim.service[slot] = s
    sim.created[slot] = sim.f[NOW]
    sim.have[s] += 1
    sim.web_line[sim.i[WAITING_WEB]] = slot
    sim.i[WAITING_WEB] += 1
    sim.books[WEB_CREATED] += 1
    sim.i[DIRTY] = 1


@compiled  # type: ignore[untyped-decorator]
def _first_to_go(sim: Array, s: int) -> int:
    found, newest, waits = -1, -1.0, False
    for slot in range(SLOTS):
        state = sim.state[slot]
        if state == FREE or sim.service[slot] != s:
            continue
        since = sim.created[slot] if state == PENDING else sim.bound[slot]
        if (state == PENDING and not waits) or ((state == PENDING) == waits and since >= newest):
            found, newest, waits = slot, since, state == PENDING
    return found


@compiled  # type: ignore[untyped-decorator]
def end(sim: Array, slot: int) -> None:
    """A replica goes; a call that it serves is finished first, and lasts milliseconds."""
    s, state = sim.service[slot], sim.state[slot]
    sim.have[s] -= 1
    sim.state[slot] = FREE
    if state == PENDING:
        at = 0
        while sim.web_line[at] != slot:
            at += 1
        drop_waiting(sim.web_line, sim.i, WAITING_WEB, at)
        return
    node = sim.node[slot]
    sim.on_node[node, s] -= 1
    sim.placed[s, sim.cluster[node]] -= 1
    if state == READY:
        sim.ready[s, sim.cluster[node]] -= 1
    give(sim, node, ask_of_replica(sim, slot))

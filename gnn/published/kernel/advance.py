"""The event loop over pods: arrivals, ends, starts, patience, the replica rule's ticks, rates and vanishing nodes.

It stops at a time, or before a pod that a policy wants to be asked about; calling it again goes on from there.
"""

from __future__ import annotations

from typing import Any

import numba

from gnn.published.kernel.binding import (
    ask_of_job,
    drop_waiting,
    give,
    make_ready,
    place_waiting,
    refill,
)
from gnn.published.kernel.calls import arm, serve_until, settle
from gnn.published.kernel.heap import drop_first
from gnn.published.kernel.layout import (
    ALLOCATED,
    CALLS_ON,
    CAME,
    CHAINS,
    DEPTH,
    DIRTY,
    DONE,
    EVICTED,
    FAILED,
    FAILURES,
    FROM,
    GANGS,
    GANGS_FAILED,
    HEAP,
    JOBS,
    LOST,
    LOST_AT,
    NEXT_JOB,
    NEXT_RATE,
    NODES,
    NOW,
    PATIENCE_S,
    PENDING,
    RATES,
    RUNNING,
    SERVICES,
    SLOTS,
    STARTING,
    TICKS,
    TIERS,
    VANISHING,
    WAITING,
    WAITING_JOBS,
)
from gnn.published.kernel.replicas import SERVICE_S, TICK_S, adjust, end, replicas_for, tick

Array = Any

_JOB, _DUE, _LATE, _TICK, _RATE, _LOSS = range(6)

compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def advance(state: Array, until: float, asking: bool) -> bool:
    """Run to `until`; True where it stopped to ask about a pod instead. state: an array of one record."""
    sim = state[0]
    while True:
        if sim.i[DIRTY] and place_waiting(sim, asking):
            return True
        at, what = _next(sim)
        pass_time(sim, min(at, until))
        if at > until:
            return False
        _happen(sim, what)


@compiled  # type: ignore[untyped-decorator]
def pass_time(sim: Array, until: float) -> None:
    """Nothing happens to a pod until then; calls run on, and allocated cores count from Sim.f[FROM] on."""
    since = max(sim.f[NOW], sim.f[FROM])
    if until > since:
        cores = 0
        for n in range(sim.count[NODES]):
            cores += sim.cpu[n] * sim.alive[n] - sim.free_cpu[n]
        sim.f[ALLOCATED] += cores * (until - since)
    if sim.i[CALLS_ON]:
        serve_until(sim, until)
    sim.f[NOW] = until


@compiled  # type: ignore[untyped-decorator]
def _next(sim: Array) -> tuple[float, int]:
    at, what = (sim.i[TICKS] + 1) * TICK_S, _TICK
    if sim.count[DEPTH] == 0 and sim.i[NEXT_JOB] < sim.count[JOBS] and sim.arrive[sim.i[NEXT_JOB]] < at:
        at, what = max(sim.arrive[sim.i[NEXT_JOB]], 0.0), _JOB
    if sim.i[HEAP] > 0 and sim.due_at[0] < at:
        at, what = sim.due_at[0], _DUE
    if sim.count[DEPTH] == 0 and sim.i[WAITING_JOBS] > 0:
        late = max(sim.arrive[sim.job_line[0]], 0.0) + PATIENCE_S
        if late < at:
            at, what = late, _LATE
    if sim.i[NEXT_RATE] < sim.count[RATES] and sim.since[sim.i[NEXT_RATE]] < at:
        at, what = sim.since[sim.i[NEXT_RATE]], _RATE
    if not sim.i[LOST] and sim.count[VANISHING] > 0 and sim.f[LOST_AT] < at:
        at, what = sim.f[LOST_AT], _LOSS
    return at, what


@compiled  # type: ignore[untyped-decorator]
def _happen(sim: Array, what: int) -> None:
    if what == _JOB:
        _come(sim)
    elif what == _DUE:
        _due(sim)
    elif what == _LATE:
        _lose_patience(sim)
    elif what == _TICK:
        tick(sim)
    elif what == _RATE:
        change_rates(sim)
    else:
        _vanish(sim)


@compiled  # type: ignore[untyped-decorator]
def _come(sim: Array) -> None:
    job = sim.i[NEXT_JOB]
    sim.i[NEXT_JOB] += 1
    sim.job_state[job] = WAITING
    sim.job_line[sim.i[WAITING_JOBS]] = job
    sim.i[WAITING_JOBS] += 1
    sim.i[DIRTY] = 1
    if sim.arrive[job] >= 0.0:
        sim.books[CAME] += sim.job_pods[job]
        sim.books[GANGS] += sim.job_pods[job] > 1


@compiled  # type: ignore[untyped-decorator]
def _lose_patience(sim: Array) -> None:
    job = sim.job_line[0]
    drop_waiting(sim.job_line, sim.i, WAITING_JOBS, 0)
    sim.job_state[job] = FAILED
    if sim.arrive[job] >= 0.0:
        sim.books[FAILURES] += sim.job_pods[job]
        sim.books[GANGS_FAILED] += sim.job_pods[job] > 1


@compiled  # type: ignore[untyped-decorator]
def _due(sim: Array) -> None:
    """A job ends or a replica is ready; what was due for one that has gone since is passed over."""
    due, at = sim.due_id[0], sim.due_at[0]
    sim.i[HEAP] = drop_first(sim.due_at, sim.due_id, sim.i[HEAP])
    slot = due - sim.count[JOBS]
    if slot >= 0:
        if sim.state[slot] == STARTING and sim.ready_at[slot] == at:
            make_ready(sim, slot)
    elif sim.job_state[due] == RUNNING:
        sim.job_state[due] = DONE
        for p in range(sim.job_pods[due]):
            give(sim, sim.job_node[due, p], ask_of_job(sim, due))


@compiled  # type: ignore[untyped-decorator]
def change_rates(sim: Array) -> None:
    """The next row of the web plan holds; arrivals have no memory, so each chain's next one is drawn anew."""
    row = sim.i[NEXT_RATE]
    sim.i[NEXT_RATE] += 1
    for chain in range(CHAINS):
        if sim.rate[chain] != sim.rates[row, chain]:
            sim.rate[chain] = sim.rates[row, chain]
            if sim.i[CALLS_ON]:
                arm(sim, chain, sim.f[NOW])


@compiled  # type: ignore[untyped-decorator]
def _vanish(sim: Array) -> None:
    """Nodes go with all that is on them; a job that lost a pod ends, a lost replica is missed at the next tick."""
    sim.i[LOST] = 1
    for gone in range(sim.count[VANISHING]):
        n = sim.lost[gone]
        sim.alive[n] = 0
        sim.free_cpu[n] = 0
        sim.free_memory[n] = 0
        for slot in range(SLOTS):
            if sim.state[slot] > PENDING and sim.node[slot] == n:
                end(sim, slot)
                settle(sim, sim.service[slot], sim.f[NOW])
        for job in range(sim.i[NEXT_JOB]):
            if sim.job_state[job] == RUNNING and _stands_on(sim, job, n):
                sim.job_state[job] = DONE
                sim.books[EVICTED] += sim.job_pods[job]
                for p in range(sim.job_pods[job]):
                    give(sim, sim.job_node[job, p], ask_of_job(sim, job))


@compiled  # type: ignore[untyped-decorator]
def _stands_on(sim: Array, job: int, n: int) -> bool:
    for p in range(sim.job_pods[job]):  # noqa: SIM110 - compiled
        if sim.job_node[job, p] == n:
            return True
    return False


@compiled  # type: ignore[untyped-decorator]
def begin(state: Array) -> None:
    """The first rates and replicas, ready as soon as they are placed, and the work that always waits."""
    sim = state[0]
    change_rates(sim)
    for service in range(SERVICES):
        wanted = replicas_for(sim.rate[service // TIERS] * SERVICE_S)
        sim.wanted[service] = wanted
        sim.recent[service, :] = wanted
        adjust(sim, service)
    refill(sim)

"""What the simulator's state says to one question, read in compiled code: factors, room and look-ahead by cluster."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gnn.published.kernel.binding import ask_of_job, ask_of_replica
from gnn.published.kernel.layout import (
    ASKED,
    CLUSTERS,
    GANG,
    GANG_PODS,
    NODES,
    SIZE,
    SLOTS,
    TIERS,
    WAITING_JOBS,
    WEB,
    State,
)
from gnn.published.kernel.scores import choose, fill_values
from gnn.published.policy.ahead import planned, room_to_grow
from gnn.published.policy.columns import (
    AHEAD,
    CHAIN_HERE,
    GANG_ROOM,
    GANGS_LOST,
    PLANNED,
    ROOM_TO_GROW,
    WAITING,
)
from gnn.published.world.jobs import GANG_CPU, GANG_GB
from prewarm.domain import FloatArray, IntArray

Array = Any

_COLUMNS = len(AHEAD)
_CORES, _GANGS, _JOBS = 16.0, 8.0, 8.0

compiled = numba.njit(cache=True)


def look(state: State) -> tuple[IntArray, FloatArray, FloatArray]:
    """Of the pod that is asked about: how many of it (gangs: whole ones) fit in each cluster (c,), all factors of its
    best node there (c, SIZE) by the weights that the state has, and the look ahead (c, AHEAD).
    """
    clusters = int(state["count"][0, CLUSTERS])
    room, factors = np.zeros(clusters, np.int64), np.zeros((clusters, SIZE))
    ahead = np.zeros((clusters, _COLUMNS))
    _look(state, room, factors, ahead)
    return room, factors, ahead


@compiled  # type: ignore[untyped-decorator]
def choices(state: State) -> int:
    """In how many clusters the pod that is asked about fits, a gang as a whole."""
    sim = state[0]
    room = _room(sim, _ask(sim), np.zeros(sim.count[CLUSTERS], np.int64))
    return int((room > 0).sum())


@compiled  # type: ignore[untyped-decorator]
def _ask(sim: Array) -> tuple[int, int, int, int, int]:
    asked = sim.i[ASKED]
    if asked < SLOTS:
        kind, cpu, memory, service, number = ask_of_replica(sim, asked)
    else:
        kind, cpu, memory, service, number = ask_of_job(sim, asked - SLOTS)
    return kind, cpu, memory, service, number


@compiled  # type: ignore[untyped-decorator]
def _room(sim: Array, ask: Array, room: Array) -> Array:
    for n in range(sim.count[NODES]):
        room[sim.cluster[n]] += min(sim.free_cpu[n] // ask[1], sim.free_memory[n] // ask[2])
    if ask[0] == GANG:
        room //= GANG_PODS
    return room


@compiled  # type: ignore[untyped-decorator]
def _look(state: State, room: Array, factors: Array, ahead: Array) -> None:
    sim = state[0]
    ask = _ask(sim)
    _room(sim, ask, room)
    values = np.zeros((sim.count[NODES], SIZE))
    fill_values(sim, ask, values)
    grow, slots = room_to_grow(sim), _slots(sim)
    for k in range(room.size):
        node, _ = choose(sim, ask, k)
        if node >= 0:
            factors[k] = values[node]
            ahead[k, GANGS_LOST] = slots[k] // GANG_PODS - (slots[k] - _slots_lost(sim, node, ask)) // GANG_PODS
        ahead[k, ROOM_TO_GROW] = grow[k] / _CORES
        ahead[k, GANG_ROOM] = slots[k] // GANG_PODS / _GANGS
        ahead[k, WAITING] = sim.i[WAITING_JOBS] / _JOBS
    if ask[0] == WEB:
        _of_chain(sim, ask[3], ahead)


@compiled  # type: ignore[untyped-decorator]
def _of_chain(sim: Array, service: int, ahead: Array) -> None:
    first = service - service % TIERS
    for k in range(ahead.shape[0]):
        for tier in range(TIERS):
            ahead[k, CHAIN_HERE] += sim.placed[first + tier, k]
    ahead[:, CHAIN_HERE] /= max(ahead[:, CHAIN_HERE].sum(), 1.0)
    if ahead.shape[0] > 1:
        ahead[planned(sim, service), PLANNED] = 1.0


@compiled  # type: ignore[untyped-decorator]
def _slots(sim: Array) -> Array:
    """Places for a gang's pods by cluster, (c,)."""
    slots = np.zeros(sim.count[CLUSTERS], np.int64)
    for n in range(sim.count[NODES]):
        slots[sim.cluster[n]] += min(sim.free_cpu[n] // GANG_CPU, sim.free_memory[n] // GANG_GB)
    return slots


@compiled  # type: ignore[untyped-decorator]
def _slots_lost(sim: Array, n: int, ask: Array) -> int:
    cpu, memory = sim.free_cpu[n], sim.free_memory[n]
    before = min(cpu // GANG_CPU, memory // GANG_GB)
    return int(before - min((cpu - ask[1]) // GANG_CPU, (memory - ask[2]) // GANG_GB))

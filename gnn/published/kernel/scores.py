"""The named factors of every node for one pod, and the node that the weights choose.

The first nine are the placement pipeline's factors in its order, read at the node where they can be; the others are
what published schedulers score by. Values lie in 0..1, higher is better. A cluster's score is that of its best node;
with a temperature the cluster that lacks most of its softmax share is taken instead of the best.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gnn.published.kernel.heap import uniform
from gnn.published.kernel.layout import (
    BALANCED,
    CLUSTERS,
    FIT,
    FRAGMENTATION,
    FUTURE,
    LEAST,
    MOST,
    NETWORK,
    NODES,
    PEERS,
    PRICE,
    RANDOM,
    SIZE,
    SPREAD,
    STEADINESS,
    TARGET,
    TARGET_LOAD,
    TYPES,
    WEB,
)
from gnn.published.kernel.peers import of_clusters, of_network, of_spread

Array = Any

_NEUTRAL = 0.5
_DRAW = 31

compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def choose(sim: Array, ask: Array, only: int) -> tuple[int, float]:
    """(node, its score) for a pod, -1 where none has room. ask: kind, cpu, memory, service, number; only: a cluster or
    -1 for any.
    """
    values = np.zeros((sim.count[NODES], SIZE))
    score = np.full(sim.count[NODES], -np.inf)
    if fill_values(sim, ask, values) == 0:
        return -1, -np.inf
    weights = sim.weights[ask[0]]
    best = np.full(sim.count[CLUSTERS], -np.inf)
    for n in range(score.size):
        k = sim.cluster[n]
        if has_room(sim, n, ask) and (only < 0 or only == k):
            score[n] = 0.0
            for f in range(SIZE):
                score[n] += weights[f] * values[n, f]
            best[k] = max(best[k], score[n])
    cluster = choose_cluster(sim, ask, best)
    if cluster < 0:
        return -1, -np.inf
    at, most = -1, -np.inf
    for n in range(score.size):
        if sim.cluster[n] == cluster and score[n] > most:
            at, most = n, score[n]
    return at, most


@compiled  # type: ignore[untyped-decorator]
def choose_cluster(sim: Array, ask: Array, best: Array) -> int:
    """By the best scores (c,), -inf where there is no room; -1 where there is none at all."""
    heat = sim.weights[ask[0], SIZE]
    worth = best + sim.residual[ask[0], : best.size]
    top = int(np.argmax(worth))
    if worth[top] == -np.inf:
        return -1
    if heat <= 0.0:
        return top
    share = np.exp((worth - worth[top]) / heat)
    share /= share.sum()
    have = np.zeros(worth.size)
    for k in range(worth.size):
        have[k] = sim.placed[ask[3], k] if ask[0] == WEB else sim.pods[k, ask[0]]
    lack = share * (have.sum() + 1.0) - have
    for k in range(worth.size):
        if worth[k] == -np.inf:
            lack[k] = -np.inf
    return int(np.argmax(lack))


@compiled  # type: ignore[untyped-decorator]
def has_room(sim: Array, n: int, ask: Array) -> bool:
    """Whether a node takes one more such pod."""
    return bool(sim.free_cpu[n] >= ask[1] and sim.free_memory[n] >= ask[2])


@compiled  # type: ignore[untyped-decorator]
def fill_values(sim: Array, ask: Array, values: Array) -> int:
    """Factors (n, F) of the nodes that have room, the dear ones only where they count; how many have room."""
    weights = sim.weights[ask[0]]
    found = 0
    for n in range(sim.count[NODES]):
        if has_room(sim, n, ask):
            found += 1
            _of_room(sim, n, ask, values[n])
            if weights[FRAGMENTATION] > 0.0:
                values[n, FRAGMENTATION] = fragmentation(sim, n, ask)
            if weights[FUTURE] > 0.0:
                values[n, FUTURE] = future_fill(sim, n, ask)
            if weights[RANDOM] > 0.0:
                values[n, RANDOM] = uniform(sim.seed[0] + n, ask[4], _DRAW)
    if found > 0:
        if weights[NETWORK] > 0.0 or weights[PEERS] > 0.0:
            of_network(sim, ask, values)
        if weights[SPREAD] > 0.0:
            of_spread(sim, ask, values)
        of_clusters(sim, ask, values)
    return found


@compiled  # type: ignore[untyped-decorator]
def _of_room(sim: Array, n: int, ask: Array, line: Array) -> None:
    cpu, memory = float(sim.cpu[n]), float(sim.memory[n])
    free_cpu, free_memory = sim.free_cpu[n], sim.free_memory[n]
    used_cpu, used_memory = 1.0 - (free_cpu - ask[1]) / cpu, 1.0 - (free_memory - ask[2]) / memory
    line[FIT] = 1.0 - max(ask[1] / free_cpu, ask[2] / free_memory)
    line[PRICE] = _NEUTRAL
    line[STEADINESS] = 1.0
    line[LEAST] = 1.0 - (used_cpu + used_memory) / 2.0
    line[MOST] = (used_cpu + used_memory) / 2.0
    line[BALANCED] = 1.0 - abs(used_cpu - used_memory) / 2.0
    target = sim.f[TARGET_LOAD]
    if used_cpu <= target:
        line[TARGET] = (1.0 - target) * used_cpu / target + target
    else:
        line[TARGET] = target * (1.0 - used_cpu) / (1.0 - target)


@compiled  # type: ignore[untyped-decorator]
def fragmentation(sim: Array, n: int, ask: Array) -> float:
    """Sigmoid of minus the growth, in cores, of what typical pods cannot use (FGD, ATC'23, eq. 2-4, for CPU).

    A node's free cores are a fragment to a pod that it has no room for, by cores or by memory.
    """
    free_cpu, free_memory = sim.free_cpu[n], sim.free_memory[n]
    growth = 0.0
    for k in range(TYPES):
        cpu, memory, share = sim.types[k, 0], sim.types[k, 1], sim.types[k, 2]
        before = 0.0 if cpu <= free_cpu and memory <= free_memory else float(free_cpu)
        fits = cpu <= free_cpu - ask[1] and memory <= free_memory - ask[2]
        growth += share * ((0.0 if fits else float(free_cpu - ask[1])) - before)
    return float(1.0 / (1.0 + np.exp(growth)))


@compiled  # type: ignore[untyped-decorator]
def future_fill(sim: Array, n: int, ask: Array) -> float:
    """1/2 + (V(after) + q - V(before)) / 2q: 1 where the forecast mix loses nothing, 1/2 where it loses as much as it
    gives, less where the pod spoils more than it takes.
    """
    free_cpu, free_memory = sim.free_cpu[n], sim.free_memory[n]
    change = sim.fill[free_cpu - ask[1], free_memory - ask[2]] - sim.fill[free_cpu, free_memory]
    return float(min(max(_NEUTRAL + (change + ask[1]) / (2.0 * ask[1]), 0.0), 1.0))

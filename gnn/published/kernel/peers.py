"""The factors that a pod's peers and its cluster decide: nearness, spread, shares, what runs there already."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gnn.published.kernel.layout import (
    AGGREGATED,
    CLUSTER_LEAST,
    CLUSTERS,
    EQUAL,
    HEADROOM,
    NETWORK,
    NODES,
    PEERS,
    RISK,
    ROOM,
    SPREAD,
    TIERS,
    WARM,
    WEB,
)

Array = Any

_HALF_S, _NEUTRAL = 0.05, 0.5
_HOST_SKEW, _ZONE_SKEW = 3, 5

compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def of_network(sim: Array, ask: Array, values: Array) -> None:
    """Closeness to callers and callees, and Diktyo's: 1 - summed delay to their pods over the most that it can be."""
    values[:, NETWORK] = _NEUTRAL
    if ask[0] != WEB:
        return
    tier = ask[3] % TIERS
    for n in range(values.shape[0]):
        near, links = 0.0, 0
        cost, pods = 0.0, 0
        k = sim.cluster[n]
        for other, callee in ((ask[3] - 1, False), (ask[3] + 1, True)):
            if (callee and tier == TIERS - 1) or (not callee and tier == 0):
                continue
            delay_s, count = _delay_to(sim, k, other, callee)
            if count > 0:
                near += 1.0 / (1.0 + delay_s / _HALF_S)
                links += 1
            cost += _cost_to(sim, n, other)
            pods += count
        if links > 0:
            values[n, NETWORK] = near / links
        if pods > 0:
            values[n, PEERS] = 1.0 - cost / (pods * max(sim.delay_s.max(), 1e-9))


@compiled  # type: ignore[untyped-decorator]
def _delay_to(sim: Array, k: int, other: int, nearest: bool) -> tuple[float, int]:
    """Delay from cluster k to the nearest of a service's pods, or the mean from them all; and how many they are."""
    total, count, least = 0.0, 0, np.inf
    for j in range(sim.count[CLUSTERS]):
        there = sim.placed[other, j]
        if there > 0:
            total += there * sim.delay_s[j, k]
            count += there
            least = min(least, sim.delay_s[k, j])
    if count == 0:
        return 0.0, 0
    return (least if nearest else total / count), count


@compiled  # type: ignore[untyped-decorator]
def _cost_to(sim: Array, n: int, other: int) -> float:
    """Summed delay from a node to the pods of a service, none to those on the node itself."""
    k = sim.cluster[n]
    cost = 0.0
    for j in range(sim.count[CLUSTERS]):
        cost += sim.placed[other, j] * sim.delay_s[k, j]
    return float(cost - sim.on_node[n, other] * sim.delay_s[k, k])


@compiled  # type: ignore[untyped-decorator]
def of_spread(sim: Array, ask: Array, values: Array) -> None:
    """PodTopologySpread's score with the scheduler's built-in constraints (hostname, skew 3; zone, skew 5).

    A cluster is a zone. Jobs belong to no service, so the constraints say nothing about them.
    """
    if ask[0] != WEB:
        return
    cost = np.zeros(values.shape[0])
    by_host, by_zone = np.log(sim.count[NODES] + 2.0), np.log(sim.count[CLUSTERS] + 2.0)
    for n in range(sim.count[NODES]):
        there = sim.placed[ask[3], sim.cluster[n]]
        cost[n] = sim.on_node[n, ask[3]] * by_host + _HOST_SKEW - 1 + there * by_zone + _ZONE_SKEW - 1
    least, most = cost[: sim.count[NODES]].min(), cost[: sim.count[NODES]].max()
    for n in range(sim.count[NODES]):
        values[n, SPREAD] = (most + least - cost[n]) / most


@compiled  # type: ignore[untyped-decorator]
def of_clusters(sim: Array, ask: Array, values: Array) -> None:
    """Factors that all nodes of a cluster share."""
    clusters = sim.count[CLUSTERS]
    free = np.zeros((clusters, 2))
    total = np.zeros((clusters, 2))
    have = np.zeros(clusters)
    for n in range(values.shape[0]):
        k = sim.cluster[n]
        free[k, 0] += sim.free_cpu[n]
        free[k, 1] += sim.free_memory[n]
        total[k, 0] += sim.cpu[n]
        total[k, 1] += sim.memory[n]
    for k in range(clusters):
        have[k] = sim.placed[ask[3], k] if ask[0] == WEB else sim.pods[k, ask[0]]
    whole = max(have.sum(), 1.0)
    everything = max(float(sim.pods.sum()), 1.0)
    for n in range(values.shape[0]):
        k = sim.cluster[n]
        line = values[n]
        if ask[0] == WEB:
            line[WARM] = min(sim.ready[ask[3], k] / max(sim.wanted[ask[3]], 1), 1.0)
        rest = (free[k, 0] - ask[1]) / total[k, 0], (free[k, 1] - ask[2]) / total[k, 1]
        line[CLUSTER_LEAST] = (rest[0] + rest[1]) / 2.0
        line[HEADROOM] = max(min(rest[0], rest[1]), 0.0)
        line[RISK] = 1.0 - sim.pods[k].sum() / everything / 3.0
        line[EQUAL] = 0.5 + (1.0 / clusters - have[k] / whole) / 2.0
        line[ROOM] = 0.5 + (free[k, 0] / max(free[:, 0].sum(), 1.0) - have[k] / whole) / 2.0
        line[AGGREGATED] = 0.9 * have[k] / whole + 0.1 * free[k, 0] / max(free[:, 0].sum(), 1.0)

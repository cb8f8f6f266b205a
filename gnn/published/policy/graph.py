"""The state as the graph that all placement policies read: two clusters, their node pools, services, calls and delays.

Services are functions with `calls` edges along their chain; batch and training are two more functions, which nobody
calls. The graph is written straight to arrays, because a run asks thousands of times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gnn.graph.features import TABLE, column, encode
from gnn.graph.value import NODE_TYPES, RELATIONS, Edges, Graph
from gnn.observation import Ask, observe
from gnn.published.kernel.layout import BATCH, CHAINS, GANG, SERVICES, TIERS, WEB, State
from gnn.published.measure.observe import Observation as Seen
from gnn.published.measure.observe import observe as read
from gnn.published.world.jobs import GANG_CPU, GANG_GB
from gnn.published.world.web import REPLICA_CPU, REPLICA_GB
from prewarm.domain import FloatArray, IntArray

_FUNCTIONS = SERVICES + 2
_OF_KIND = {BATCH: SERVICES, GANG: SERVICES + 1}
_TYPICAL = {BATCH: (2.0, 10.0), GANG: (float(GANG_CPU), float(GANG_GB))}
_MS = 1e3
_FROM = np.array([c * TIERS + t for c in range(CHAINS) for t in range(TIERS - 1)], np.int64)
_UNCOUNTED: Counter[str] = Counter()


def observation(
    state: State, room: IntArray, values: FloatArray, *, seen: Seen | None = None
) -> Mapping[str, NDArray[np.generic]]:
    """The question that the simulator has stopped before. room: (c,); values: (c, columns)."""
    seen = seen or read(state)
    ask = seen.ask
    assert ask is not None
    function = ask.service if ask.kind == WEB else _OF_KIND[ask.kind]
    clusters = np.arange(len(room))
    pairs = np.stack([np.zeros(len(room), np.int64), clusters])
    asked = Ask(np.array([function], np.int64), pairs, values, room.astype(np.float64))
    return observe(graph(seen), asked)


def graph(seen: Seen) -> Graph:
    """All that a policy may see, without the question but with what the pod in question asks for."""
    made = {
        "cluster": _clusters(seen),
        "pool": _pools(seen),
        "function": _functions(seen),
        "region": _blank("region", 0),
    }
    counts = {kind: len(raw) for kind, raw in made.items()}
    names = {kind: tuple(f"{kind}-{i}" for i in range(counts[kind])) for kind in NODE_TYPES}
    nodes = {kind: encode(kind, raw, _UNCOUNTED) for kind, raw in made.items()}
    return Graph(names, nodes, _edges(seen))


def _blank(kind: str, rows: int) -> FloatArray:
    return np.full((rows, len(TABLE[kind])), np.nan)


def _filled(kind: str, rows: int, told: Mapping[str, FloatArray | IntArray | float]) -> FloatArray:
    """Raw columns; what is not told is unknown, or 0 where a feature is always known."""
    raw = _blank(kind, rows)
    raw[:, [not feature.flagged for feature in TABLE[kind]]] = 0.0
    for name, values in told.items():
        raw[:, column(kind, name)] = values
    return raw


def _clusters(seen: Seen) -> FloatArray:
    whole = np.maximum(seen.capacity, 1e-9)
    free = seen.free / whole
    nodes = _by_cluster(seen, 3)
    return _filled(
        "cluster",
        len(whole),
        {
            "cpu": seen.capacity[:, 0],
            "memory": seen.capacity[:, 1],
            "nodes": nodes,
            "free_cpu": free[:, 0],
            "free_memory": free[:, 1],
            "used_cpu": 1.0 - free[:, 0],
            "used_memory": 1.0 - free[:, 1],
            "price": 1.0,
            "wanted": seen.pods[:, WEB],
            "ready": seen.ready.sum(axis=0),
            "pending": seen.starting.sum(axis=0),
        },
    )


def _by_cluster(seen: Seen, field: int) -> FloatArray:
    cluster = seen.pools[:, 0].astype(np.int64)
    return np.bincount(cluster, weights=seen.pools[:, field], minlength=len(seen.capacity)).astype(np.float64)


def _pools(seen: Seen) -> FloatArray:
    pools = seen.pools
    cores, memory = pools[:, 1] * pools[:, 3], pools[:, 2] * pools[:, 3]
    return _filled(
        "pool",
        len(pools),
        {
            "nodes": pools[:, 3],
            "cpu": pools[:, 1],
            "memory": pools[:, 2],
            "free_cpu": pools[:, 4] / cores,
            "free_memory": pools[:, 5] / memory,
            "largest_free_cpu": pools[:, 6] * GANG_CPU,
            "schedulable": 1.0,
        },
    )


def _functions(seen: Seen) -> FloatArray:
    have = seen.ready + seen.starting
    jobs = seen.pods[:, [BATCH, GANG]].sum(axis=0)
    existing = np.concatenate([have.sum(axis=1), jobs])
    ready = np.concatenate([seen.ready.sum(axis=1), jobs])
    wanted = np.concatenate([seen.wanted, jobs + seen.waiting[[BATCH, GANG]]])
    calls = np.concatenate([seen.rates, [np.nan, np.nan]])
    return _filled(
        "function",
        _FUNCTIONS,
        {
            "demand": calls,
            "cpu": _asked_for(seen, 0),
            "memory": _asked_for(seen, 1),
            "gpus": 0.0,
            "calls_in": calls,
            "clusters": np.concatenate([(have > 0).sum(axis=1), (seen.pods[:, [BATCH, GANG]] > 0).sum(axis=0)]),
            "wanted": wanted,
            "existing": existing,
            "ready": ready,
            "pending": np.maximum(wanted - existing, 0),
        },
    )


def _asked_for(seen: Seen, resource: int) -> FloatArray:
    """Cores (0) or GB (1) of one pod of each function; of the one in question what it asks for."""
    usual = [(REPLICA_CPU, REPLICA_GB)[resource]] * SERVICES + [_TYPICAL[kind][resource] for kind in (BATCH, GANG)]
    out = np.array(usual, np.float64)
    if seen.ask is not None and seen.ask.kind != WEB:
        out[_OF_KIND[seen.ask.kind]] = (seen.ask.cpu, seen.ask.memory_gb)[resource]
    return out


def _edges(seen: Seen) -> dict[str, Edges]:
    have = seen.ready + seen.starting
    cores = seen.pools[:, 1] * seen.pools[:, 3]
    return {
        **_still(tuple(seen.rates.tolist()), tuple(seen.delay_s.ravel().tolist()), len(seen.capacity)),
        "runs_on": _placed("runs_on", np.vstack([have, seen.pods[:, [BATCH, GANG]].T]), seen),
        "warm_on": _placed("warm_on", seen.ready, seen),
        "part_of": _part_of(tuple(seen.pools[:, 0].astype(int).tolist()), tuple(cores.tolist())),
    }


@lru_cache(maxsize=1_024)
def _still(rates: tuple[float, ...], delays: tuple[float, ...], clusters: int) -> dict[str, Edges]:
    """Edges that only new rates or delays change; a run asks a hundred times between two of them."""
    here, there = (one.ravel() for one in np.indices((clusters, clusters)))
    apart = here != there
    link = {"delay": _MS * np.array(delays)[apart]}
    edges = {
        name: Edges(np.zeros((2, 0), np.int64), encode(name, _blank(name, 0), _UNCOUNTED)) for name, _, _ in RELATIONS
    }
    calls: dict[str, FloatArray | float] = {"calls": 1.0, "rate": np.array(rates)[_FROM]}
    edges["calls"] = _edge("calls", np.stack([_FROM, _FROM + 1]), calls)
    edges["link"] = _edge("link", np.stack([here[apart], there[apart]]), link)
    return edges


@lru_cache(maxsize=64)
def _part_of(clusters: tuple[int, ...], cores: tuple[float, ...]) -> Edges:
    pool, size = np.array(clusters, np.int64), np.array(cores)
    whole = np.bincount(pool, weights=size)
    return _edge("part_of", np.stack([np.arange(len(pool)), pool]), {"share": size / np.maximum(whole[pool], 1e-9)})


def _placed(kind: str, have: IntArray, seen: Seen) -> Edges:
    """Functions to the clusters where they are. have: (f, c)."""
    ends = np.stack(np.nonzero(have)).astype(np.int64)
    count = have[ends[0], ends[1]].astype(np.float64)
    told: dict[str, FloatArray | float] = {"share": count / have.sum(axis=1)[ends[0]]}
    if kind == "warm_on":
        return _edge(kind, ends, {**told, "ready": count})
    starting = np.vstack([seen.starting, np.zeros((2, have.shape[1]))])[ends[0], ends[1]]
    return _edge(kind, ends, {**told, "wanted": count, "existing": count, "pending": starting})


def _edge(kind: str, ends: IntArray, told: Mapping[str, FloatArray | float]) -> Edges:
    return Edges(ends, encode(kind, _filled(kind, ends.shape[1], told), _UNCOUNTED))

"""A minute as the graph that placement policies read: clusters, functions with their callers' regions, calls, links.

Functions that hardly any call is expected of, and of which none is warm, are left out: whatever is said about them, no
instance is worth keeping. The graph is written straight to arrays, because a day asks 1,440 times about a thousand
functions. A GB stands where other worlds have a GiB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnn.graph.features import TABLE, column, encode
from gnn.graph.value import NODE_TYPES, RELATIONS, Edges, Graph
from gnn.mix.policy.answer import Look
from gnn.mix.rules.factors import free_share
from gnn.mix.state import HALF_LIVES_MIN, MINUTE_S, State, worth_keeping
from gnn.observation import Ask, observe
from prewarm.domain import Float32Array, FloatArray, Int32Array, IntArray

FLOOR = 0.02
"""Least chance of a call with which a function is asked about that has nothing warm."""
_LEAST_SHARE = 0.02
_MS = 1e3
_UNCOUNTED: Counter[str] = Counter()

Told = Mapping[str, FloatArray | IntArray | float]


def mattering(state: State) -> IntArray:
    """Functions that an answer can change something about, (k,), rising."""
    return np.flatnonzero((state.called >= FLOOR) | (state.warm.sum(axis=1) > 0))


def near(state: State, chosen: IntArray) -> IntArray:
    """Those chosen with their callers and callees, as far as these matter, (k,), rising."""
    caller = state.site.caller
    kept = np.zeros(len(caller), np.bool_)
    above = caller[chosen]
    kept[above[above >= 0]] = True
    kept |= np.isin(caller, chosen)
    kept[np.setdiff1d(np.arange(len(caller)), mattering(state))] = False
    kept[chosen] = True
    return np.flatnonzero(kept)


def observation(seen: Look, rows: IntArray, asked: IntArray) -> dict[str, NDArray[Any]]:
    """The question about the functions `asked` (k,) beside the functions `rows` (rising, those asked among them)."""
    state, clusters = seen.state, len(seen.state.price)
    pairs = np.stack([np.repeat(np.arange(len(asked)), clusters), np.tile(np.arange(clusters), len(asked))])
    free_gb = free_share(state) * state.room_gb
    room = free_gb[None, :] / state.site.memory_gb[asked, None]
    values = seen.factors[asked].reshape(-1, seen.factors.shape[2])
    return observe(graph(seen, rows), Ask(np.searchsorted(rows, asked), pairs, values, room.ravel()))


def graph(seen: Look, rows: IntArray) -> Graph:
    """All clusters, and of the functions these."""
    state = seen.state
    nodes = {
        "cluster": _clusters(state),
        "pool": _encoded("pool", 0, {}),
        "function": _functions(state, rows),
        "region": _regions(state),
    }
    names = {kind: tuple(str(row) for row in range(len(nodes[kind]))) for kind in NODE_TYPES}
    none = {one.name: Edges(np.zeros((2, 0), np.int64), _encoded(one.name, 0, {})) for one in RELATIONS}
    return Graph(names, nodes, {**none, **_edges(seen, rows)})


def heard_per_s(state: State) -> FloatArray:
    """Calls a second of each function from each region over the last half hour or so, (n, c)."""
    rate: FloatArray = state.seen[0] * (np.log(2.0) / HALF_LIVES_MIN[0] / MINUTE_S)
    return rate


def _clusters(state: State) -> Float32Array:
    free = free_share(state)
    ready = state.warm.sum(axis=0)
    told = {
        "memory": state.room_gb,
        "free_memory": free,
        "used_memory": 1.0 - free,
        "price": state.price,
        "wanted": ready,
        "ready": ready,
    }
    return _encoded("cluster", len(free), told)


def _functions(state: State, rows: IntArray) -> Float32Array:
    warm = state.warm[rows]
    instances = warm.sum(axis=1)
    told = {
        "demand": state.called[rows] * state.calls[rows] / MINUTE_S,
        "memory": state.site.memory_gb[rows],
        "calls_in": heard_per_s(state)[rows].sum(axis=1),
        "clusters": (warm > 0).sum(axis=1),
        "wanted": worth_keeping(state, np.ones(len(state.called)))[rows],
        "existing": instances,
        "ready": instances,
    }
    return _encoded("function", len(rows), told)


def _regions(state: State) -> Float32Array:
    """One beside each cluster."""
    return _encoded("region", len(state.price), {"clusters": 1.0, "calls": heard_per_s(state).sum(axis=0)})


def _edges(seen: Look, rows: IntArray) -> dict[str, Edges]:
    state, site = seen.state, seen.state.site
    each = np.arange(len(state.price))
    warm = state.warm[rows]
    here = np.stack(np.nonzero(warm))
    count = warm[here[0], here[1]].astype(np.float64)
    mix = seen.mix[rows]
    source = np.stack(np.nonzero(mix > _LEAST_SHARE))
    apart = np.stack(np.nonzero(site.delay_s < np.inf))
    apart = apart[:, apart[0] != apart[1]]
    called, caller = _inside(rows, site.caller)
    return {
        "warm_on": _edge("warm_on", here, {"ready": count, "share": count / warm.sum(axis=1)[here[0]]}),
        "called_from": _edge(
            "called_from",
            source,
            {"calls": heard_per_s(state)[rows][source[0], source[1]], "share": mix[source[0], source[1]]},
        ),
        "calls": _edge(
            "calls",
            np.stack([caller, called]),
            {
                "calls": 1.0,
                "payload": site.payload_kib[rows[called]],
                "rate": state.called[rows[called]] * state.calls[rows[called]] / MINUTE_S,
            },
        ),
        "link": _edge("link", apart, {"delay": _MS * site.delay_s[apart[0], apart[1]]}),
        "in_region": _edge("in_region", np.stack([each, each]), {}),
    }


def _inside(rows: IntArray, caller: Int32Array) -> tuple[IntArray, IntArray]:
    """Callees and their callers, both as places in `rows`, where both are there."""
    above = caller[rows]
    place = np.searchsorted(rows, np.maximum(above, 0))
    there = (above >= 0) & (rows[np.minimum(place, len(rows) - 1)] == above)
    called = np.flatnonzero(there)
    return called, place[called]


def _edge(kind: str, ends: IntArray, told: Told) -> Edges:
    return Edges(ends.astype(np.int64), _encoded(kind, ends.shape[1], told))


def _encoded(kind: str, rows: int, told: Told) -> Float32Array:
    """What is not told is unknown, or 0 where a feature is always known."""
    raw = np.full((rows, len(TABLE[kind])), np.nan)
    raw[:, [not feature.flagged for feature in TABLE[kind]]] = 0.0
    for name, values in told.items():
        raw[:, column(kind, name)] = values
    return encode(kind, raw, _UNCOUNTED)

"""A question of this world as the policy sees it: the fleet's graph in the columns that every world shares.

A unit is a core and a GiB. Clusters have their room, links to their nearest and a region; the request's services are
functions with their calls, and `demand` is the number of requests that are still to come, this one too. What never
changes in a world is encoded once.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnn.graph.features import TABLE, column, encode
from gnn.graph.network import CANDIDATES, near_links
from gnn.graph.value import NODE_TYPES, RELATIONS, Edges, Graph
from gnn.observation import Ask, observe
from gnn.sizes.play import Question
from gnn.sizes.rules.factors import factors
from gnn.sizes.rules.holes import Holes
from gnn.sizes.world import World
from prewarm.domain import Float32Array, FloatArray, IntArray


class Observer:
    """Observations of one world, for policies whose rule prices holes like this."""

    def __init__(self, world: World, holes: Holes) -> None:
        self.world, self.holes = world, holes
        unknown = np.full_like(world.delay_ms, np.nan)
        ends, values = near_links(world.delay_ms, unknown)
        clusters = np.arange(len(world.room))
        self.links = Edges(ends, encode("link", values, Counter()))
        self.regions = Edges(np.stack([clusters, world.region]), np.zeros((len(clusters), 0), np.float32))

    def observe(self, question: Question) -> dict[str, NDArray[Any]]:
        """The observation; its pairs are the question's candidates in their order."""
        values = factors(question, self.holes)
        graph = self._graph(question)
        candidates = question.candidates
        pairs = np.stack([np.zeros(len(candidates), np.int64), candidates])
        fits = question.free[candidates] // question.offer.request.units[question.service]
        return observe(graph, Ask(np.array([question.service]), pairs, values, fits.astype(np.float64)))

    def _graph(self, question: Question) -> Graph:
        request = question.offer.request
        nodes = {
            "cluster": _encoded("cluster", _clusters(question)),
            "pool": _encoded("pool", np.zeros((0, len(TABLE["pool"])))),
            "function": _encoded("function", _functions(question)),
            "region": _encoded("region", _regions(question)),
        }
        none = {name: Edges(np.zeros((2, 0), np.int64), _encoded(name, _empty(name))) for name, _, _ in RELATIONS}
        placed = np.flatnonzero(question.placed >= 0)
        runs = np.stack([placed, question.placed[placed]])
        called = np.arange(1, len(request.parent))
        edges = {
            **none,
            "link": self.links,
            "in_region": self.regions,
            "calls": _edges("calls", np.stack([request.parent[1:], called]), (1.0, 0.0, 1.0, 0.0)),
            "runs_on": _edges("runs_on", runs, (1.0, 1.0, 0.0, 1.0)),
            "called_from": _edges("called_from", np.array([[0], [self.world.region[request.ingress]]]), (1.0, 1.0)),
            "may_run_on": _may_run_on(question),
        }
        names = {kind: tuple(str(row) for row in range(len(nodes[kind]))) for kind in NODE_TYPES}
        return Graph(names, nodes, edges)


def _encoded(kind: str, raw: FloatArray) -> Float32Array:
    return encode(kind, raw, Counter())


def _empty(kind: str) -> FloatArray:
    return np.zeros((0, len(TABLE[kind])))


def _edges(kind: str, ends: IntArray, raw: tuple[float, ...]) -> Edges:
    return Edges(ends.astype(np.int64), _encoded(kind, np.tile(raw, (ends.shape[1], 1))))


def _columns(kind: str, rows: int, told: dict[str, Any]) -> FloatArray:
    """Raw columns (rows, features), 0 where nothing is told."""
    raw = np.zeros((rows, len(TABLE[kind])))
    for name, values in told.items():
        raw[:, column(kind, name)] = values
    return raw


def _clusters(question: Question) -> FloatArray:
    room, free = question.offer.world.room, question.free
    share = free / np.maximum(room, 1)
    here = np.bincount(question.placed[question.placed >= 0], minlength=len(room))
    told = {
        **dict.fromkeys(("cpu", "memory"), room),
        **dict.fromkeys(("free_cpu", "free_memory", "free_pods"), share),
        **dict.fromkeys(("used_cpu", "used_memory"), 1.0 - share),
        **dict.fromkeys(("largest_free_cpu", "largest_free_memory"), free),
        **dict.fromkeys(("nodes", "price", "quota_left"), 1.0),
        **dict.fromkeys(("wanted", "ready"), here),
    }
    return _columns("cluster", len(room), told)


def _functions(question: Question) -> FloatArray:
    units, placed = question.offer.request.units, question.placed >= 0
    told = {
        **dict.fromkeys(("cpu", "memory"), units),
        **dict.fromkeys(("clusters", "existing", "ready"), placed),
        **dict.fromkeys(("calls_in", "wanted"), 1.0),
        "demand": question.offer.to_come + 1.0,
        "latency_need": np.nan,
    }
    return _columns("function", len(units), told)


def _regions(question: Question) -> FloatArray:
    world = question.offer.world
    many = int(world.region.max()) + 1
    clusters, room, free = (
        np.bincount(world.region, weights=part, minlength=many)
        for part in (np.ones(len(world.room)), world.room, question.free)
    )
    told = {"clusters": clusters, "cpu": room, "free_cpu": free / np.maximum(room, 1.0)}
    return _columns("region", many, told)


def _may_run_on(question: Question) -> Edges:
    """The nearest clusters with room for the service in question."""
    delay, candidates = question.offer.world.delay_ms[question.above], question.candidates
    near = candidates[np.argsort(delay[candidates], kind="stable")[:CANDIDATES]]
    fits = question.free[near] // question.offer.request.units[question.service]
    ends = np.stack([np.full(len(near), question.service), near])
    return Edges(ends, _encoded("may_run_on", np.column_stack([delay[near], fits])))

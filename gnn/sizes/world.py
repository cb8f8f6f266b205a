"""Clusters at random points, and a sequence of requests: trees of services that all want a place at once.

Total room is the expected need of all requests, so the last ones find little; a request holds its room until the end.
Where benchmarks.md is silent: points are uniform in a square; delays are moved and stretched so that the shortest link
is 1 ms and the longest 500; a service's parent is any earlier one alike; services, units and ingress are uniform.
Seeds as in `gnn.train.task`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray, IntArray

SIZES = (4, 8, 16, 32, 64, 128)
EVALUATION_SEEDS = tuple(range(10))
REQUESTS = 100
LEAST_SERVICES, MOST_SERVICES = 3, 8
MOST_UNITS = 5
INSIDE_MS, LEAST_MS, MOST_MS = 1.0, 1.0, 500.0
_SIDE = 2
"""The square is cut into so many regions each way."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A tree of services. parent: (k,) row of each one's parent, always an earlier row, -1 for the first. units: (k,)
    room that each takes. ingress: the cluster that the call comes from.
    """

    parent: IntArray
    units: IntArray
    ingress: int

    @property
    def need(self) -> int:
        """Units of the whole tree."""
        return int(self.units.sum())


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """delay_ms: (n, n), the diagonal is inside a cluster. room: (n,) units. region: (n,) quarter of the square."""

    delay_ms: FloatArray
    room: IntArray
    region: IntArray
    requests: tuple[Request, ...]


def expected_need(requests: int) -> int:
    """Units: requests x mean services x mean units."""
    return requests * (LEAST_SERVICES + MOST_SERVICES) * (1 + MOST_UNITS) // 4


def draw_world(size: int, seed: int, requests: int = REQUESTS) -> World:
    """The world of `size` clusters and this seed; training also draws shorter ones, with less room for each cluster."""
    rng = np.random.default_rng([8, size, seed])
    points = rng.random((size, 2))
    room = split_room(rng.uniform(0.5, 1.5, size), expected_need(requests))
    corner = np.minimum((points * _SIDE).astype(np.int64), _SIDE - 1)
    asked = tuple(draw_request(size, rng) for _ in range(requests))
    return World(delays(points), room, corner @ np.array([_SIDE, 1]), asked)


def delays(points: FloatArray) -> FloatArray:
    """Delays (n, n) in ms of points (n, 2): 1 for the nearest two, 500 for the farthest two, 1 inside."""
    far = np.sqrt(((points[:, None] - points[None, :]) ** 2).sum(axis=2))
    between = far[np.triu_indices(len(points), 1)]
    least, most = between.min(), between.max()
    out: FloatArray = LEAST_MS + (MOST_MS - LEAST_MS) * (far - least) / max(float(most - least), 1e-12)
    np.fill_diagonal(out, INSIDE_MS)
    return out


def split_room(shares: FloatArray, total: int) -> IntArray:
    """Whole units in proportion to `shares` that sum to `total` (largest remainders)."""
    exact = total * shares / shares.sum()
    out: IntArray = np.floor(exact).astype(np.int64)
    lacking = total - int(out.sum())
    out[np.argsort(out - exact, kind="stable")[:lacking]] += 1
    return out


def draw_request(size: int, rng: np.random.Generator) -> Request:
    """One tree."""
    many = int(rng.integers(LEAST_SERVICES, MOST_SERVICES + 1))
    parent = np.array([-1, *(int(rng.integers(0, row)) for row in range(1, many))], np.int64)
    return Request(parent, rng.integers(1, MOST_UNITS + 1, many), int(rng.integers(size)))


def latency_ms(request: Request, placed: IntArray, delay_ms: FloatArray) -> float:
    """From the ingress to the first service, and along every edge of the tree; `placed` (k,) clusters."""
    before = np.concatenate([[request.ingress], placed[request.parent[1:]]])
    return float(delay_ms[before, placed].sum())

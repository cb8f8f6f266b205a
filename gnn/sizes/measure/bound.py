"""Most requests that anyone can accept, all of them known beforehand.

The smallest requests that fit the total room in sum are an upper bound, whatever the clusters are. Where their services
pack into the clusters (largest first, each into the smallest room that takes it) the bound is reached, and so proven.
Else the integer program with as many requests decides within its time, and where it cannot, the best of 1,000 greedy
runs in random order stands in, marked as not proven.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, hstack, kron, vstack
from scipy.sparse import eye_array as eye

from gnn.sizes.world import World
from prewarm.domain import IntArray

RANDOM_ORDERS = 1_000
RANDOM = "random orders"
PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Clairvoyant:
    """accepted: requests. how: `packing`, `program` (both proven) or `random orders` (a lower bound of the most)."""

    accepted: int
    how: str

    @property
    def proven(self) -> bool:
        """Whether nobody can accept more."""
        return self.how != RANDOM


def clairvoyant(world: World) -> Clairvoyant:
    """The most, by the first way that gives it."""
    most = by_sum(world)
    order = np.argsort([request.need for request in world.requests], kind="stable")
    if packs(world.room, _units(world, order[:most])):
        return Clairvoyant(most, "packing")
    if (proven := by_program(world, PATIENCE_S)) is not None:
        return Clairvoyant(proven, "program")
    return Clairvoyant(by_random_orders(world, np.random.default_rng(len(world.room))), RANDOM)


def by_sum(world: World) -> int:
    """So many of the smallest requests fit in total; nobody accepts more."""
    need = np.sort([request.need for request in world.requests])
    return int((np.cumsum(need) <= world.room.sum()).sum())


def packs(room: IntArray, units: IntArray) -> bool:
    """Whether best fit, largest first, finds a place for all (True proves that there is one)."""
    free = room.copy()
    for size in np.sort(units)[::-1].tolist():
        fits = np.where(free >= size, free, np.iinfo(np.int64).max)
        best = int(fits.argmin())
        if free[best] < size:
            return False
        free[best] -= size
    return True


def by_program(world: World, patience_s: float) -> int | None:
    """Most requests by an integer program over services of one size a cluster; None where time is over.

    Whole numbers x[size, cluster] of services and y[request] in 0..1: what the accepted need of each size is there, and
    each cluster has room for its services.
    """
    clusters, requests = len(world.room), len(world.requests)
    sizes = np.arange(1, max(int(one.units.max()) for one in world.requests) + 1)
    asked = np.array([np.bincount(one.units, minlength=len(sizes) + 1)[1:] for one in world.requests]).T
    places = kron(eye(len(sizes)), np.ones((1, clusters)))
    fill = kron(sizes[None, :], eye(clusters))
    rows = vstack([hstack([places, csr_array(-asked)]), hstack([fill, csr_array((clusters, requests))])])
    cost = np.concatenate([np.zeros(len(sizes) * clusters), -np.ones(requests)])
    upper = np.concatenate([np.full(len(sizes) * clusters, np.inf), np.ones(requests)])
    limits = LinearConstraint(
        csr_array(rows),
        np.concatenate([np.zeros(len(sizes)), np.full(clusters, -np.inf)]),
        np.concatenate([np.full(len(sizes), np.inf), world.room]),
    )
    found = milp(
        cost,
        integrality=np.ones(len(cost), np.int64),
        bounds=Bounds(np.zeros(len(cost)), upper),
        constraints=limits,
        options={"time_limit": patience_s},
    )
    return round(-found.fun) if found.status == 0 else None


def by_random_orders(world: World, rng: np.random.Generator, orders: int = RANDOM_ORDERS) -> int:
    """Best of so many runs that take requests in random order, each where it fits best."""
    runs = (rng.permutation(len(world.requests)) for _ in range(orders))
    return max(_greedily(world, order) for order in runs)


def _greedily(world: World, order: IntArray) -> int:
    free, accepted = world.room.copy(), 0
    for row in order.tolist():
        after = free.copy()
        for size in np.sort(world.requests[row].units)[::-1].tolist():
            fits = np.where(after >= size, after, np.iinfo(np.int64).max)
            best = int(fits.argmin())
            if after[best] < size:
                break
            after[best] -= size
        else:
            free, accepted = after, accepted + 1
    return accepted


def _units(world: World, rows: IntArray) -> IntArray:
    return np.concatenate([world.requests[row].units for row in rows.tolist()])

"""A run: requests one after the other, each placed as a whole or not at all, beside its optimum at that moment.

The optimum is that of the request alone, given the room that this policy left, so every policy is measured along its
own path: ratio = mean latency over mean optimum of the requests that it accepted. A policy that leaves better room has
lower optima, and no better ratio; the latency itself stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gnn.sizes.optimum.branch import solve, unplaced
from gnn.sizes.world import Request, World, latency_ms
from prewarm.domain import BoolArray, FloatArray, IntArray, PrewarmError


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A request that waits for an answer: free (n,) units, and how many requests come after it."""

    world: World
    request: Request
    free: IntArray
    to_come: int


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Where one service goes. placed: (k,) clusters, -1 not yet. free: (n,) room left by what is placed, this request
    too. service: its row. candidates: (p,) clusters that may be chosen.
    """

    offer: Offer
    placed: IntArray
    free: IntArray
    service: int
    candidates: IntArray

    @property
    def above(self) -> int:
        """The cluster that this service is called from."""
        parent = int(self.offer.request.parent[self.service])
        return self.offer.request.ingress if parent < 0 else int(self.placed[parent])


def question(offer: Offer, placed: IntArray) -> Question:
    """The next question about a request; candidates are the clusters with room."""
    free, there = offer.free.copy(), placed >= 0
    np.subtract.at(free, placed[there], offer.request.units[there])
    service = int(there.sum())
    candidates = np.flatnonzero(free >= offer.request.units[service])
    return Question(offer, placed, free, service, candidates)


class Policy(Protocol):
    """Who places."""

    @property
    def name(self) -> str:
        """For the table."""
        ...

    def place(self, offer: Offer) -> IntArray | None:
        """Clusters (k,), or None: declined."""
        ...


Choose = Callable[[Question], int]
"""One of the question's candidates."""


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Places services in the order of the tree, each for good; where one finds no room the request is declined."""

    name: str
    choose: Choose

    def place(self, offer: Offer) -> IntArray | None:
        """Clusters (k,)."""
        placed = np.full(len(offer.request.units), -1, np.int64)
        for row in range(len(placed)):
            asked = question(offer, placed.copy())
            if not len(asked.candidates):
                return None
            placed[row] = self.choose(asked)
        return placed


@dataclass(frozen=True, slots=True)
class Optimal:
    """The optimum of each request by itself."""

    name: str = "optimum of each request"

    def place(self, offer: Offer) -> IntArray | None:
        """Clusters (k,)."""
        best = solve(unplaced(offer.request, offer.world.delay_ms, offer.free))
        return None if best is None else best.placed


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """accepted: (requests,). latency_ms, optimum_ms: (requests,), NaN where not accepted."""

    accepted: BoolArray
    latency_ms: FloatArray
    optimum_ms: FloatArray

    @property
    def ratio(self) -> float:
        """Mean latency over mean optimum of the accepted."""
        return float(np.nansum(self.latency_ms) / np.nansum(self.optimum_ms))


def play(world: World, policy: Policy) -> Played:
    """One run. Raises PrewarmError where a policy overfills a cluster."""
    free, many = world.room.copy(), len(world.requests)
    latency, optimum = np.full(many, np.nan), np.full(many, np.nan)
    for number, offer in enumerate(offers(world, free)):
        placed = policy.place(offer)
        if placed is None:
            continue
        best = solve(unplaced(offer.request, world.delay_ms, free))
        take(free, offer.request, placed)
        assert best is not None, "what was placed has an optimum"
        latency[number] = latency_ms(offer.request, placed, world.delay_ms)
        optimum[number] = best.latency_ms
    return Played(np.isfinite(latency), latency, optimum)


def offers(world: World, free: IntArray) -> Iterator[Offer]:
    """The requests of a world in sequence; `free` is the caller's, who takes room between them."""
    for number, request in enumerate(world.requests):
        yield Offer(world, request, free, len(world.requests) - number - 1)


def take(free: IntArray, request: Request, placed: IntArray) -> None:
    """Take the room of a placed request, in place. Raises PrewarmError where there is less."""
    np.subtract.at(free, placed, request.units)
    if free.min() < 0:
        raise PrewarmError(f"cluster {int(free.argmin())} has {-int(free.min())} units less than was placed there")

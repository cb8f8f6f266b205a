"""Small worlds by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnn.sizes.play import Offer
from gnn.sizes.rules.holes import Holes
from gnn.sizes.rules.weighted import Settings
from gnn.sizes.world import Request, World

PRICED = Settings(
    {"near": 1.0, "below": 0.2, "rest": 0.8, "holes": 1.0, "room": 0.002, "whole": 0.004},
    Holes((20.0, 20.0, 15.0, 10.0), 0.25),
    0.2,
)


def chain(units: Sequence[int], ingress: int = 0) -> Request:
    """Each service calls the next."""
    return Request(np.arange(-1, len(units) - 1), np.array(units, np.int64), ingress)


def star(units: Sequence[int], ingress: int = 0) -> Request:
    """The first service calls all others."""
    return Request(np.array([-1] + [0] * (len(units) - 1)), np.array(units, np.int64), ingress)


def line(room: Sequence[int], requests: Sequence[Request]) -> World:
    """Clusters in a row, 50 ms from one to the next."""
    rows = np.arange(len(room))
    delay = np.maximum(50.0 * np.abs(rows[:, None] - rows[None, :]), 1.0)
    return World(delay, np.array(room, np.int64), np.zeros(len(room), np.int64), tuple(requests))


def offer(world: World, number: int = 0, free: Sequence[int] | None = None) -> Offer:
    """One of its requests, all room free unless told."""
    room = world.room.copy() if free is None else np.array(free, np.int64)
    return Offer(world, world.requests[number], room, len(world.requests) - number - 1)

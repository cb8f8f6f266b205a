"""What others do, one service after the other, with nothing to tune."""

from __future__ import annotations

import numpy as np

from gnn.sizes.play import OneByOne, Policy, Question
from prewarm.domain import FloatArray


def nearest(question: Question) -> int:
    """The cluster nearest to the ingress that has room."""
    return _least(question, question.offer.world.delay_ms[question.offer.request.ingress])


def cheapest_link(question: Question) -> int:
    """The cluster with the shortest link from where the caller is."""
    return _least(question, question.offer.world.delay_ms[question.above])


def most_room(question: Question) -> int:
    """The cluster with the most free units."""
    return _least(question, -question.free.astype(np.float64))


def least_allocated(question: Question) -> int:
    """The default scheduler's score, free share after the placement."""
    room = question.offer.world.room
    return _least(question, -question.free / np.maximum(room, 1))


def most_allocated(question: Question) -> int:
    """Its opposite, which packs."""
    room = question.offer.world.room
    return _least(question, question.free / np.maximum(room, 1))


def spread(question: Question) -> int:
    """Fewest services of this request first, then the most free units."""
    placed = question.placed[question.placed >= 0]
    here = np.bincount(placed, minlength=len(question.free))
    return _least(question, here - question.free / (question.free.max() + 1.0))


def at_random(seed: int) -> Policy:
    """Any cluster with room, drawn anew for each service."""
    rng = np.random.default_rng([8, seed])
    return OneByOne("random", lambda question: int(rng.choice(question.candidates)))


def plain_rules(seed: int) -> tuple[Policy, ...]:
    """All of them; `seed` is of the random one."""
    table = {
        "least allocated": least_allocated,
        "most allocated": most_allocated,
        "spread": spread,
        "most room": most_room,
        "nearest to the ingress": nearest,
        "cheapest link": cheapest_link,
    }
    return (at_random(seed), *(OneByOne(name, rule) for name, rule in table.items()))


def _least(question: Question, cost: FloatArray) -> int:
    candidates = question.candidates
    return int(candidates[np.argmin(cost[candidates])])

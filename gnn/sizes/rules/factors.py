"""The named factors of each cluster in question, 0..1, higher is better; what a rule weighs and a policy sees.

Four are in milliseconds, counted from the best cluster and on one scale, so that sums of them are delays and prices.

near: link from the caller. below: the least delay that the services below can have if this one is here; they do not
know of each other in other branches (`gnn.sizes.optimum.tree`), so it is too low. rest: delay of all services to come
if each takes the cheapest place, which is too high. holes: price of what that leaves. room: share of the cluster that
is left. whole: share of the request's units without a place that would fit here.
"""

from __future__ import annotations

import numpy as np

from gnn.sizes.optimum.tree import below
from gnn.sizes.play import Question
from gnn.sizes.rules.completion import completed
from gnn.sizes.rules.holes import Holes
from prewarm.domain import FloatArray

FACTORS = ("near", "below", "rest", "holes", "room", "whole")
SPAN_MS = 500.0


def factors(question: Question, holes: Holes) -> FloatArray:
    """Values (p, F) of the question's candidates."""
    request, world, rows = question.offer.request, question.offer.world, question.candidates
    plain, priced = looked_ahead(question, holes)
    rest, price = completed(
        (request.parent, request.units),
        (question.service, rows, question.placed, question.free),
        priced,
        world.delay_ms,
        holes.cost(question.offer.free),
    )
    unplaced = int(request.units[question.placed < 0].sum())
    left = question.free[rows] - request.units[question.service]
    return np.column_stack(
        [
            _nearness(world.delay_ms[question.above, rows]),
            _nearness(plain[question.service, rows]),
            _nearness(rest),
            _nearness(price),
            left / np.maximum(world.room[rows], 1),
            np.minimum(question.free[rows] / unplaced, 1.0),
        ]
    )


def looked_ahead(question: Question, holes: Holes) -> tuple[FloatArray, FloatArray]:
    """Least delay (k, n) below each service without a place, by the cluster that it may go to, and the same with the
    price of holes; infinite where there is no way.
    """
    request, delay = question.offer.request, question.offer.world.delay_ms
    limit = np.minimum(question.free, request.need)
    allowed = (request.units[:, None] <= question.free[None, :]) & (question.placed < 0)[:, None]
    price = holes.price(question.free, int(limit.max()))
    tables = np.zeros_like(price), price
    plain, priced = (below(request.parent, request.units, allowed, limit, delay, table)[0] for table in tables)
    return plain, priced


def _nearness(cost_ms: FloatArray) -> FloatArray:
    """1 for the least, 0 at `SPAN_MS` more and where it is infinite."""
    least = cost_ms.min(initial=np.inf)
    if not np.isfinite(least):
        return np.zeros_like(cost_ms)
    out: FloatArray = np.maximum(0.0, 1.0 - (cost_ms - least) / SPAN_MS)
    return out

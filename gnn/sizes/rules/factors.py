"""The named factors of each cluster in question, 0..1, higher is better; what a rule weighs and a policy sees.

Four are in milliseconds, counted from the best cluster and on one scale, so that sums of them are delays and prices.

near: link from the caller. below: the least delay that the services below can have if this one is here; they do not
know of each other in other branches (`gnn.sizes.optimum.tree`), so it is too low. rest: delay of all services to come
if each takes the cheapest place, which is too high. holes: price of what that leaves. room: share of the cluster that
is left. whole: share of the request's units without a place that would fit here.

Two more weigh nothing in the rule and are there to be learned from: total, how close link, rest and price are to those
of the best cluster on a fine scale; doubt, how far the two estimates are apart.
"""

from __future__ import annotations

import numpy as np

from gnn.sizes.optimum.tree import below
from gnn.sizes.play import Question
from gnn.sizes.rules.completion import completed
from gnn.sizes.rules.holes import Holes
from prewarm.domain import FloatArray

FACTORS = ("near", "below", "rest", "holes", "room", "whole", "total", "doubt")
SPAN_MS = 500.0
CLOSE_MS, DOUBT_MS = 10.0, 100.0


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
    near, least = world.delay_ms[question.above, rows], plain[question.service, rows]
    unplaced = int(request.units[question.placed < 0].sum())
    left = question.free[rows] - request.units[question.service]
    return np.column_stack(
        [
            _nearness(near),
            _nearness(least),
            _nearness(rest),
            _nearness(price),
            left / np.maximum(world.room[rows], 1),
            np.minimum(question.free[rows] / unplaced, 1.0),
            _closeness(near + rest + price),
            _doubt(rest, least),
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


def _closeness(cost_ms: FloatArray) -> FloatArray:
    """1 for the least, a half at `CLOSE_MS` more, so that the first few can be told apart."""
    least = cost_ms.min(initial=np.inf)
    if not np.isfinite(least):
        return np.zeros_like(cost_ms)
    out: FloatArray = CLOSE_MS / (CLOSE_MS + cost_ms - least)
    return out


def _doubt(rest_ms: FloatArray, below_ms: FloatArray) -> FloatArray:
    """0 where the two estimates are the same, 1 from `DOUBT_MS` on, and where there is none."""
    with np.errstate(invalid="ignore"):
        apart = np.nan_to_num(rest_ms - below_ms, nan=DOUBT_MS, posinf=DOUBT_MS, neginf=DOUBT_MS)
    out: FloatArray = np.clip(apart / DOUBT_MS, 0.0, 1.0)
    return out

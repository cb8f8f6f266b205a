"""What the exact solver would do, said as an action of each form.

The teacher minimises delay and the price of holes over the whole rest of the request, with what is placed held. As
weights its answer is the smallest of a fixed bank of changes under which the rule would choose the same cluster; where
none does, there is no opinion. As a residual or a score it says of the rule's best clusters by how much the rule
misjudges them, which every question tells, and not only the few in which the rule is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from gnn.forms import BOUND, Form, Rule, scores_of, width_of
from gnn.observation import Observation
from gnn.sizes.optimum.branch import Best, Problem, solve
from gnn.sizes.play import Offer, Question
from gnn.sizes.rules.factors import SPAN_MS
from gnn.sizes.rules.holes import Holes
from prewarm.domain import Float32Array, IntArray

_BANK, _JUDGED, _MOST = 256, 6, 0.15


def best_of(offer: Offer, placed: IntArray, holes: Holes, most_ms: float = np.inf) -> Best | None:
    """The cheapest completion, price of holes included; None where none costs at most `most_ms`."""
    most = int(np.minimum(offer.free, offer.request.need).max(initial=0))
    price = holes.price(offer.free, most)
    return solve(Problem(offer.request, offer.world.delay_ms, offer.free, placed, price), most_ms)


@dataclass(frozen=True, slots=True)
class Priced:
    """The teacher itself as a policy: whole requests, delay and price of holes."""

    holes: Holes
    name: str

    def place(self, offer: Offer) -> IntArray | None:
        """Clusters (k,)."""
        best = best_of(offer, np.full(len(offer.request.units), -1, np.int64), self.holes)
        return None if best is None else best.placed


def weights_for(rule: Rule, observation: Observation, row: int) -> Float32Array | None:
    """The weights that choose this pair."""
    values = observation["ask/values"].astype(np.float64)
    pairs = np.zeros(len(values), np.int64)
    for action in _bank(len(rule.weights)):
        scores = scores_of(Form.WEIGHTS, action[None], pairs=pairs, values=values, rule=np.array(rule.weights))
        if int(np.argmax(scores)) == row:
            chosen: Float32Array = action[None]
            return chosen
    return None


def misjudged(form: Form, rule: Rule, observation: Observation, question: Question, holes: Holes) -> Float32Array:
    """Residual or score (p, 1): by how much the rule misjudges each of the `_JUDGED` clusters that it likes best,
    beside what their best completions cost, the median of them taken as right. Of the rest it says nothing.

    Errors beyond `_MOST` are cut: few are large, and squares of those would be all that is learned.
    """
    weights = np.array(rule.weights)
    scores = observation["ask/values"].astype(np.float64) @ (weights / weights.sum())
    best = np.argsort(-scores, kind="stable")[:_JUDGED]
    told = np.array([_completed_ms(question, row, holes) for row in best.tolist()])
    known = np.isfinite(told)
    error = np.full(len(best), -_MOST)
    if known.any():
        unit = weights[0] / weights.sum() / SPAN_MS
        raw = (-unit * told[known] - scores[best[known]]) / BOUND
        error[known] = np.clip(raw - np.median(raw), -_MOST, _MOST)
    wanted = scores.copy()
    wanted[best] += BOUND * error
    change = (wanted - scores) / BOUND if form is Form.RESIDUAL else 2.0 * wanted - 1.0
    out: Float32Array = np.clip(change, -1.0, 1.0).astype(np.float32)[:, None]
    return out


def _completed_ms(question: Question, row: int, holes: Holes) -> float:
    placed = question.placed.copy()
    placed[question.service] = question.candidates[row]
    best = best_of(question.offer, placed, holes)
    return np.inf if best is None else best.latency_ms


@cache
def _bank(factors: int) -> Float32Array:
    """Actions (b, F + 1), smallest change first; the first is the rule."""
    rng = np.random.default_rng(0)
    width = width_of(Form.WEIGHTS, factors)
    drawn = rng.uniform(-1.0, 1.0, (_BANK, width)) * rng.uniform(0.1, 1.0, (_BANK, 1))
    drawn[0] = 0.0
    drawn[:, -1] = 0.0
    order = np.argsort((drawn**2).sum(axis=1), kind="stable")
    return drawn[order].astype(np.float32)


def placed_row(question: Question, best: Best) -> int:
    """Which of the candidates a completion has for the service in question."""
    return int(np.flatnonzero(question.candidates == best.placed[question.service])[0])

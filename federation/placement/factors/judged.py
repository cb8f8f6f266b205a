"""Scores of the clusters that passed the filters, by whoever gives the weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.placement.explain.scores import totals
from federation.placement.factors.packing import NEUTRAL
from federation.placement.factors.table import factor_of, factors_of
from federation.placement.factors.weighing import unscored, weigh
from federation.placement.filters.case import Case
from federation.placement.filters.sieve import Sieved
from federation.placement.scorer import FACTORS, Question, Weighing
from prewarm.domain import FloatArray, IntArray, PolicyTag

STEADINESS = FACTORS.index("steadiness")
_PRESENT = [STEADINESS, FACTORS.index("warm")]
"""Factors of what runs there already."""
_TAKING = [FACTORS.index(name) for name in ("fit", "headroom", "risk")]
"""Factors that read the room which the workload itself takes, and the share of the fleet's instances that it is."""
_PACKING = [FACTORS.index("fragmentation"), FACTORS.index("future_fill")]


@dataclass(frozen=True, slots=True)
class Judged:
    """at: (c,) positions of the clusters that passed; values: (C, F) of all clusters; scores: (c,).

    worth: (C,) what a place is worth to an instance: the score, also of clusters that were dropped. Where instances are
    spread by shares it is the score that the place had before any of them ran, since shares that depend on what they
    gave before would drift. stay: (C,) what not having to move is worth beyond that to an instance that runs there.
    """

    case: Case
    sieved: Sieved
    at: IntArray
    values: FloatArray
    weighing: Weighing
    tag: PolicyTag
    scores: FloatArray
    worth: FloatArray
    stay: FloatArray


def judge(case: Case, sieved: Sieved) -> Judged:
    """Factors, weights and scores."""
    at = np.flatnonzero(sieved.open)
    values = factors_of(case)
    scorer, policy = case.terms.scorer if at.size else None, case.terms.policy
    weighing, tag = unscored(policy) if scorer is None else weigh(_question(case, at, values), policy, scorer)
    weights, shared = weighing.weights, weighing.temperature > 0
    scores = totals(values[at], weights, weighing.residual)
    stay = _stay(case, values, weights, shared=shared)
    worth = (_alone(case, values) if shared else values) @ weights
    if weighing.residual is not None:
        worth[at] += weighing.residual
    return Judged(case, sieved, at, values, weighing, tag, scores, worth, stay)


def _alone(case: Case, values: FloatArray) -> FloatArray:
    """The factors, (C, F), as they were before anything of the workload ran; those of what runs there are 0."""
    alone, found = case.alone(), values.copy()
    for at in _TAKING:
        found[:, at] = factor_of(alone, FACTORS[at])
    found[:, _PRESENT] = 0.0
    return found


def _stay(case: Case, values: FloatArray, weights: FloatArray, *, shared: bool) -> FloatArray:
    """What an instance that runs gains by not moving, (C,): steadiness, and in a full cluster unchanged nodes.

    Scores say where most of the workload is already. That is for new instances to follow; one that runs elsewhere is
    at home there just as well, so the lead of the majority is no gain to it. Where instances are shared by scores
    without what runs (`shared`) there is no such lead.
    A cluster that takes no new instance has the worst value of packing there is; that is no reason to leave it, since
    where an instance stays nothing changes.
    """
    spared = np.maximum(NEUTRAL - values[:, _PACKING], 0.0) @ weights[_PACKING]
    present = np.zeros(len(values)) if shared else values[:, _PRESENT] @ weights[_PRESENT]
    lead = present.max(initial=0.0) - present
    stay: FloatArray = weights[STEADINESS] + lead + np.where(case.fits == 0, spared, 0.0)
    return stay


def _question(case: Case, at: IntArray, values: FloatArray) -> Question:
    names = tuple([case.fleet.names[position] for position in at.tolist()])
    room = (case.occupied[at] + case.fits[at]).astype(np.float64)
    return Question(case.fleet.snapshot, case.workload, names, values[at], room, case.now)

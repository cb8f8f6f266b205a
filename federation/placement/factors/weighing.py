"""Weights for the factors: the fixed rule's, or a learned scorer's where its answer can be trusted.

Whatever a scorer does (declines, fails, answers with something that is no weight), the fixed rule decides in the same
request and the answer says why. Weights are normalised to sum to 1, so a score lies in 0..1 but for the residual, which
is shown as a factor of its own.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from federation.placement.scorer import FACTORS, Declined, Question, Scorer, Weighing
from prewarm import __version__
from prewarm.domain import FloatArray, PolicyTag, PrewarmError
from prewarm.settings import FactorWeights, PlacementPolicy

RESIDUAL_LIMIT = 0.25
"""Most that a learned residual may add to or take from a score."""
_HOTTEST = 10.0
_FAILURES = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError, PrewarmError)


@lru_cache(maxsize=64)
def rule_weights(weights: FactorWeights) -> FloatArray:
    """The configured weights in the order of the factors, summing to 1; all equal where all are 0."""
    named = np.array([getattr(weights, name) for name in FACTORS], dtype=np.float64)
    shares = named / named.sum() if named.sum() > 0 else np.full(len(FACTORS), 1.0 / len(FACTORS))
    shares.setflags(write=False)
    return shares


def unscored(policy: PlacementPolicy) -> tuple[Weighing, PolicyTag]:
    """The fixed rule's weights, where no scorer is asked."""
    return _rule(policy), PolicyTag("rule", __version__, rule_decided=True, why="learned scorer off")


def weigh(question: Question, policy: PlacementPolicy, scorer: Scorer) -> tuple[Weighing, PolicyTag]:
    """The weights to use, and who gave them."""
    rule = _rule(policy)
    try:
        answer = scorer.weigh(question)
    except _FAILURES as error:
        return rule, PolicyTag("rule", __version__, rule_decided=True, why=f"scorer failed: {error}")
    if isinstance(answer, Declined):
        return rule, PolicyTag("rule", __version__, rule_decided=True, why=answer.why)
    fault = fault_of(answer, len(question.clusters))
    if fault is not None:
        return rule, PolicyTag("rule", __version__, rule_decided=True, why=f"scorer {answer.name} refused: {fault}")
    weights = np.asarray(answer.weights, dtype=np.float64)
    trusted = Weighing(weights / weights.sum(), answer.temperature, answer.name, answer.version, answer.residual)
    return trusted, PolicyTag(answer.name, answer.version)


def _rule(policy: PlacementPolicy) -> Weighing:
    return Weighing(rule_weights(policy.weights), policy.spread_temperature, "rule", __version__)


def fault_of(answer: Weighing, clusters: int) -> str | None:
    """What is wrong with a scorer's answer, None where nothing is."""
    weights = np.asarray(answer.weights)
    if weights.shape != (len(FACTORS),):
        return f"{weights.size} weights for {len(FACTORS)} factors"
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
        return "weights must be finite, none negative and not all 0"
    if not 0 <= answer.temperature <= _HOTTEST:
        return f"temperature must be 0 to {_HOTTEST:.0f}"
    if answer.residual is not None:
        residual = np.asarray(answer.residual)
        if residual.shape != (clusters,) or not (np.abs(residual) <= RESIDUAL_LIMIT).all():
            return f"residual must be within {RESIDUAL_LIMIT} for each of {clusters} clusters"
    return None

"""Weights over experts, one set a function, learned from what each of them said before the minute it spoke of.

The weights follow Bayes' rule with a fixed share of forgetting (Herbster and Warmuth, Machine Learning 32, 1998): after
each minute an expert's weight is multiplied by the probability that it gave to what happened, and a small share of all
weight is spread anew, so that a function whose habits change is followed. An expert that has no opinion (NaN) is
asleep: it says what the others say, and its weight stays. All arrays have one row a function; there are no loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import BoolArray, FloatArray, Int32Array

SHARE = 2e-4  # of the weight is spread anew each minute: habits are taken to last about three days
FIRST_TRUST = 0.9  # prior weight of the first expert, the learned model
FLOOR = 1e-4  # no expert is believed to be surer than this


@dataclass(frozen=True, slots=True)
class Mixture:
    """Weights (n, E), summing to 1 in each row; the first column is the learned model's."""

    weight: FloatArray

    def grown(self, size: int) -> Mixture:
        """The same with new functions at the end."""
        if size == len(self.weight):
            return self
        return Mixture(
            np.concatenate([self.weight, first_weights(size - len(self.weight), self.weight.shape[1]).weight])
        )


def first_weights(size: int, experts: int) -> Mixture:
    """Before anything was seen: most weight on the learned model."""
    weight = np.full((size, experts), (1 - FIRST_TRUST) / max(experts - 1, 1))
    weight[:, 0] = FIRST_TRUST if experts > 1 else 1.0
    return Mixture(weight)


def mixed(weights: FloatArray, chances: FloatArray) -> FloatArray:
    """The mixed probability of each pair, (m,), under its weights (m, E). chances: (m, E), NaN for no opinion."""
    weight = np.where(np.isnan(chances), 0.0, weights)
    total = weight.sum(axis=1)
    said = (weight * np.nan_to_num(chances)).sum(axis=1)
    mix: FloatArray = np.divide(said, total, out=np.zeros_like(said), where=total > 0)
    return mix


def learned(mixture: Mixture, chances: FloatArray, happened: BoolArray, known: BoolArray) -> Mixture:
    """Weights after a minute. chances: (n, E) of one event a function; happened: whether it came, (n,).

    Functions whose minute is not known (`known` False) keep their weights.
    """
    return _updated(mixture, np.where(happened[:, None], _safe(chances), 1 - _safe(chances)), ~np.isnan(chances), known)


def learned_pairs(
    mixture: Mixture, rows: Int32Array, chances: FloatArray, happened: BoolArray, known: BoolArray
) -> Mixture:
    """Weights after a minute of several events a function: rows (m,) ascending, chances (m, E), happened (m,).

    An expert that has no opinion on one of a function's events is asleep for all of them.
    """
    size, experts = mixture.weight.shape
    if len(rows) == 0:
        return mixture
    surprise = np.where(happened[:, None], np.log(_safe(chances)), np.log(1 - _safe(chances)))
    starts = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]])
    touched = rows[starts]
    likelihood, awake = np.ones((size, experts)), np.ones((size, experts), np.bool_)
    together = np.add.reduceat(surprise, starts, axis=0)
    # Only ratios count; the best expert's likelihood is made 1, so that many events at once do not underflow.
    likelihood[touched] = np.exp(np.maximum(together - together.max(axis=1, keepdims=True), -30.0))
    awake[touched] = np.logical_and.reduceat(~np.isnan(chances), starts, axis=0)
    spoken = np.zeros(size, np.bool_)
    spoken[touched] = True
    return _updated(mixture, likelihood, awake, known & spoken)


def _safe(chances: FloatArray) -> FloatArray:
    return np.clip(np.nan_to_num(chances, nan=0.5), FLOOR, 1 - FLOOR)


def _updated(mixture: Mixture, likelihood: FloatArray, awake: BoolArray, known: BoolArray) -> Mixture:
    """Bayes' rule among those awake, who share what weight they had; then the share that is spread anew."""
    asleep_weight = np.where(awake, 0.0, mixture.weight)
    prior = np.where(awake, mixture.weight, 0.0)
    posterior = prior * likelihood
    mass, was = posterior.sum(axis=1, keepdims=True), prior.sum(axis=1, keepdims=True)
    posterior = np.where(mass > 0, posterior * was / np.where(mass > 0, mass, 1.0), prior)
    start = first_weights(1, mixture.weight.shape[1]).weight
    fresh = (1 - SHARE) * (posterior + asleep_weight) + SHARE * start
    return Mixture(np.where(known[:, None], fresh, mixture.weight))

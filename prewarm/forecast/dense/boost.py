"""Fitting the trees: medians by absolute error, spreads by the mean size of what the median misses.

One thread, a seed and LightGBM's deterministic mode make two runs equal. The same settings serve the global model and,
with fewer rounds, the daily one; lightgbm is imported here only when something is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from prewarm.domain import Float32Array, FloatArray
from prewarm.forecast.dense.table import Table

LARGEST_MISS = 6.0  # a larger one counts as this much when spreads are learned


class Booster(Protocol):
    """The part of lightgbm.Booster that is used."""

    def predict(self, data: Float32Array, *, num_threads: int) -> FloatArray:
        """One value per row."""
        ...

    def model_to_string(self) -> str:
        """The trees as text."""
        ...


@dataclass(frozen=True, slots=True)
class Trees:
    """How trees are grown; rounds x leaves is what they cost."""

    rounds: int = 250
    leaves: int = 63
    rate: float = 0.04
    fewest_rows: int = 100  # in a leaf
    seed: int = 0

    def parameters(self, objective: str) -> dict[str, object]:
        """LightGBM's parameters."""
        return {
            "objective": objective,
            "learning_rate": self.rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.fewest_rows,
            "feature_fraction": 0.4,
            "bagging_fraction": 0.7,
            "bagging_freq": 1,
            "lambda_l2": 5.0,
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "verbosity": -1,
        }


GLOBAL_MEDIAN = Trees()
GLOBAL_SPREAD = Trees(rounds=120, leaves=15, rate=0.05, fewest_rows=200)
DAILY_CORRECTION = Trees(rounds=150, leaves=31, rate=0.03)


def fit_median(table: Table, trees: Trees) -> Booster:
    """The weighted conditional median of the outcomes."""
    return _fit(table.values, table.outcome, table.weight, trees.parameters("l1"), trees.rounds)


def fit_spread(table: Table, median: Booster, trees: Trees) -> Booster:
    """The conditional mean of the absolute error that `median` leaves."""
    miss = np.abs(table.outcome - median.predict(table.values, num_threads=1))
    return _fit(table.values, np.minimum(miss, LARGEST_MISS), None, trees.parameters("l2"), trees.rounds)


def _fit(
    values: Float32Array, outcome: FloatArray, weight: FloatArray | None, parameters: dict[str, object], rounds: int
) -> Booster:
    import lightgbm

    data = lightgbm.Dataset(values, outcome, weight=weight)
    fitted: Booster = lightgbm.train(parameters, data, rounds)
    return fitted

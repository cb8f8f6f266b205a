"""The shipped global model: one boosted median and one boosted spread per horizon, with its card.

LightGBM's own text, packed; no pickles. lightgbm is imported when a model is loaded, which only workers and commands
do. The card says what it was trained on, how, and what it scored; a file whose sum is not the card's is refused.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
import orjson

from prewarm.domain import Float32Array, FloatArray, InputError
from prewarm.forecast.dense.boost import Booster, Trees, fit_median
from prewarm.forecast.dense.conformal import Centre
from prewarm.forecast.dense.features import Rows
from prewarm.forecast.dense.root import rooted
from prewarm.forecast.dense.table import Table

LEAST_SPREAD = 0.05  # of a series' own error scale


@dataclass(frozen=True, slots=True)
class Layer:
    """The trees of one horizon: `median` of the normalised root, `spread` its expected absolute error.

    `correction`, fitted on the newest week of the series at hand, is added to the median where there is one.
    """

    median: Booster
    spread: Booster
    correction: Booster | None = None

    def normalised(self, values: Float32Array) -> FloatArray:
        """Median outcomes of feature rows, in units of each row's scale."""
        middle = self.median.predict(values, num_threads=1)
        return middle if self.correction is None else middle + self.correction.predict(values, num_threads=1)

    def centre(self, rows: Rows) -> Centre:
        """Median roots and spreads of the rows; a median is not below the root of zero."""
        middle = rows.profile + rows.scale * self.normalised(rows.values)
        wide = rows.scale * np.maximum(self.spread.predict(rows.values, num_threads=1), LEAST_SPREAD)
        return Centre(np.maximum(middle, float(rooted(np.zeros(1))[0])), wide)


@dataclass(frozen=True, slots=True)
class DenseModel:
    """Layers by horizon, the names of the features in order, and the card."""

    layers: dict[int, Layer]
    features: tuple[str, ...]
    card: dict[str, Any]

    def missed(self, horizon: int, table: Table) -> Table:
        """The table with what the global median misses as its outcome."""
        plain = replace(self.layers[horizon], correction=None)
        return replace(table, outcome=table.outcome - plain.normalised(table.values))

    def corrected(self, misses: dict[int, Table], trees: Trees) -> DenseModel:
        """With a correction per horizon in place of any before, fitted on tables of misses."""
        layers = dict(self.layers)
        for horizon, table in misses.items():
            layers[horizon] = replace(layers[horizon], correction=fit_median(table, trees))
        return replace(self, layers=layers)

    @property
    def version(self) -> str:
        """Short name for logs: the first digits of the files' common sum."""
        joined = "".join(str(value) for _, value in sorted(self.card["files"].items()))
        return hashlib.sha256(joined.encode()).hexdigest()[:12]


@cache
def shipped_model() -> DenseModel:
    """The model that comes with the package; InputError where it is missing or damaged."""
    return load_model(files("prewarm.forecast.dense") / "models")


def load_model(folder: Traversable) -> DenseModel:
    """A model folder: `dense.json` (card) and the files that it lists by name and sha256."""
    card_file = folder / "dense.json"
    if not card_file.is_file():
        raise InputError(f"{card_file}: the dense model's card is missing; train_dense makes one")
    card = orjson.loads(card_file.read_bytes())
    boosters = {name: _booster(folder / name, total) for name, total in card["files"].items()}
    layers = {
        int(horizon): Layer(boosters[f"median_{horizon}.txt.gz"], boosters[f"spread_{horizon}.txt.gz"])
        for horizon in card["horizons"]
    }
    return DenseModel(layers, tuple(card["features"]), card)


def _booster(file: Traversable, expected: str) -> Booster:
    import lightgbm

    packed = file.read_bytes()
    if hashlib.sha256(packed).hexdigest() != expected:
        raise InputError(f"{file}: sha256 must be {expected} as the card says")
    booster: Booster = lightgbm.Booster(model_str=gzip.decompress(packed).decode())
    return booster

"""What each part is worth on set A: forecasters and feature groups switched off one at a time.

A feature group is blanked in the shipped trees (its columns become unknown), which shows how much they lean on it, not
how well trees trained without it would do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.bench.coldstart_points import Point, sweep
from prewarm.bench.result import Row
from prewarm.domain import Float32Array
from prewarm.forecast.levels.blend import BlendedLevels
from prewarm.forecast.levels.feature_table import GROUPS
from prewarm.forecast.levels.features import Questions
from prewarm.forecast.levels.history_view import SparseHistory, never_rising
from prewarm.forecast.levels.neural_numpy import NeuralLevels
from prewarm.sim.chances import ChanceModel
from prewarm.sim.minute import MinuteWorkload
from prewarm.sim.ours import Extras

PARTS: tuple[tuple[str, Extras], ...] = (
    ("recalibration by function", Extras(recalibration=False)),
    ("calendar and timers", Extras(calendar=False)),
    ("levels above one", Extras(upper_levels=False)),
)


@dataclass(frozen=True, slots=True)
class NetworkAlone:
    """The sequence network asked about every question, as a model of its own."""

    network: NeuralLevels

    def chances(self, history: SparseHistory, asked: Questions) -> Float32Array:
        """P(N >= level) for each question, never rising with the level."""
        row, level, now = (column.astype(np.int64) for column in (asked.row, asked.level, asked.now))
        return never_rising(asked.level, self.network.p_of(history, row, level, now))


def ablation_rows(workload: MinuteWorkload, model: BlendedLevels) -> list[Row]:
    """RUM, cold starts and waste without each part and each feature group, beside the whole."""
    whole = _one(workload, model, Extras())
    rows = [_row("nothing", whole, whole)]
    rows += [_row(name, _one(workload, model, extras), whole) for name, extras in PARTS]
    rows.append(_row("the network", _one(workload, model.trees, Extras()), whole))
    rows.append(_row("the trees", _one(workload, NetworkAlone(model.network), Extras()), whole))
    for group in GROUPS:
        blanked = BlendedLevels(model.trees.without(frozenset({group})), model.network, model.share)
        rows.append(_row(f"features: {group}", _one(workload, blanked, Extras()), whole))
    return rows


def _one(workload: MinuteWorkload, model: ChanceModel, extras: Extras) -> Point:
    return sweep(workload, model, extras, weights=(1.0,))[0]


def _row(name: str, point: Point, whole: Point) -> Row:
    return {
        "without": name,
        "RUM": point.rum,
        "RUM more": point.rum - whole.rum,
        "cold": point.cold,
        "waste GB s": point.waste_gb_s,
    }

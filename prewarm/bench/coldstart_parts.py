"""What each part is worth on set A: forecasters and feature groups switched off one at a time.

A feature group is blanked in the shipped model (its columns become unknown), which shows how much the model leans on
it, not how well a model trained without it would do.
"""

from __future__ import annotations

from prewarm.bench.coldstart_points import Point, sweep
from prewarm.bench.result import Row
from prewarm.forecast.levels.boosted import LevelModel
from prewarm.forecast.levels.feature_table import GROUPS
from prewarm.sim.minute import MinuteWorkload
from prewarm.sim.ours import Extras

PARTS: tuple[tuple[str, Extras], ...] = (
    ("recalibration by function", Extras(recalibration=False)),
    ("calendar and timers", Extras(calendar=False)),
    ("levels above one", Extras(upper_levels=False)),
)


def ablation_rows(workload: MinuteWorkload, model: LevelModel) -> list[Row]:
    """RUM, cold starts and waste without each part and each feature group, beside the whole."""
    whole = _one(workload, model, Extras())
    rows = [_row("nothing", whole, whole)]
    rows += [_row(name, _one(workload, model, extras), whole) for name, extras in PARTS]
    for group in GROUPS:
        rows.append(_row(f"features: {group}", _one(workload, model.without(frozenset({group})), Extras()), whole))
    return rows


def _one(workload: MinuteWorkload, model: LevelModel, extras: Extras) -> Point:
    return sweep(workload, model, extras, weights=(1.0,))[0]


def _row(name: str, point: Point, whole: Point) -> Row:
    return {
        "without": name,
        "RUM": point.rum,
        "RUM more": point.rum - whole.rum,
        "cold": point.cold,
        "waste GB s": point.waste_gb_s,
    }

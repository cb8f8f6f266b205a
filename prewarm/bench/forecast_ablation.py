"""What each part of the dense forecaster is worth: the same walk with that part left out.

Dropping a group of features means training again, so those rows use smaller trees, one minute ahead and no daily
correction; they are to be read against their own first row, which drops nothing.
"""

from __future__ import annotations

import re

import numpy as np

from prewarm.bench.forecast_ours import Walk
from prewarm.bench.forecast_protocol import (
    DAY,
    HORIZONS,
    TEST_START,
    TEST_STOP,
    TRAIN_STOP,
    Answers,
    Progress,
    error_ratios,
)
from prewarm.bench.result import Row
from prewarm.domain import FloatArray
from prewarm.forecast.dense.boost import Trees, fit_median
from prewarm.forecast.dense.features import Rows
from prewarm.forecast.dense.roll import NEEDED_POINTS, feature_names
from prewarm.forecast.dense.root import counted
from prewarm.forecast.dense.table import Table
from prewarm.forecast.dense.train import Plan, training_tables

GROUPS = {
    "nothing": r"$^",
    "same minute of the last days": r"d\d|dm|dn|dlow|dhigh|s7|around",
    "same minute of the last hours": r"h[mns]?-?\d|hmd|hs6",
    "short timer phases": r"p\d",
    "newest minutes and levels": r"r\d|recent|rmd",
    "misses against the weekly profile": r"e\d|em\d|ea\d|eh\d|ed1|dow",
    "odd timer periods": r"ecomb",
    "daily linear fits": r"linear|el\d",
}
SMALL = Trees(rounds=120, leaves=31, rate=0.08)


def ablation_rows(
    prepared: Walk, *, ours: Answers, without_correction: Answers, seed: int, progress: Progress
) -> list[Row]:
    """The parts of the whole first, then feature groups at one minute."""
    whole = [("nothing", ours), ("daily correction", without_correction), ("all trees", _linear_only(prepared))]
    rows: list[Row] = []
    for left_out, answers in whole:
        ratios = error_ratios(prepared.demand, answers)
        rows.append({"left_out": left_out} | {f"error_{h}min": float(ratios[h].mean()) for h in HORIZONS})
    table = training_tables(prepared.panel, Plan(TRAIN_STOP, NEEDED_POINTS // DAY, (1,)))[1]
    for number, (group, pattern) in enumerate(GROUPS.items()):
        progress(number / len(GROUPS), f"without {group}")
        rows.append({"features_left_out": group, "error_1min": _retrained(prepared, table, pattern, seed)})
    return rows


def kept_columns(pattern: str) -> list[int]:
    """Places of the features whose names do not begin with the pattern; the profile, level and scale always stay."""
    dropped = re.compile(pattern)
    return [place for place, name in enumerate(feature_names()) if not dropped.match(name)]


def _retrained(prepared: Walk, table: Table, pattern: str, seed: int) -> float:
    keep = kept_columns(pattern)
    trees = Trees(rounds=SMALL.rounds, leaves=SMALL.leaves, rate=SMALL.rate, seed=seed)
    booster = fit_median(Table(table.values[:, keep], table.outcome, table.weight), trees)

    def said(rows: Rows) -> FloatArray:
        return counted(rows.profile + rows.scale * booster.predict(rows.values[:, keep], num_threads=1))

    days = [prepared.rows[day].by_horizon[1] for day in range(TEST_START, TEST_STOP)]
    median = np.concatenate([np.stack([said(one) for one in day]) for day in days], axis=1)
    return float(error_ratios(prepared.demand, Answers("", {1: median}, 0.0, 0.0))[1].mean())


def _linear_only(prepared: Walk) -> Answers:
    """The mean of the daily linear fits, read back from the rows."""
    places = [place for place, name in enumerate(feature_names()) if name.startswith("linear")]

    def said(rows: Rows) -> FloatArray:
        return counted(rows.profile + rows.scale * rows.values[:, places].mean(axis=1).astype(np.float64))

    medians = {}
    for h in HORIZONS:
        days = [prepared.rows[day].by_horizon[h] for day in range(TEST_START, TEST_STOP)]
        medians[h] = np.concatenate([np.stack([said(one) for one in day]) for day in days], axis=1)
    return Answers("linear", medians, 0.0, 0.0)

"""Training of the global dense model: from minute counts of several series to packed trees and their card.

The rows of each day come from that day's own refits, so nothing is learned from a fit that knew the outcome. The card
holds everything needed to repeat it: data and its sum, days, seed, command, time, scores on days that were not fitted.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from prewarm.domain import FloatArray, InputError
from prewarm.forecast.dense.boost import GLOBAL_MEDIAN, GLOBAL_SPREAD, Trees, fit_median, fit_spread
from prewarm.forecast.dense.roll import HORIZONS, NEEDED_POINTS, feature_names
from prewarm.forecast.dense.root import DAY, closed, rooted
from prewarm.forecast.dense.table import Panel, Table, day_refits, day_rows, table_of

Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to fit: the days [first, stop) of the panel, for which horizons, with which trees."""

    stop_day: int
    first_day: int = NEEDED_POINTS // DAY
    horizons: tuple[int, ...] = HORIZONS
    median: Trees = field(default_factory=lambda: GLOBAL_MEDIAN)
    spread: Trees = field(default_factory=lambda: GLOBAL_SPREAD)


@dataclass(frozen=True, slots=True)
class Trained:
    """Packed trees by file name, and the card that describes them."""

    files: dict[str, bytes]
    card: dict[str, Any]

    def write(self, folder: Path) -> None:
        """The card and its files into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, packed in self.files.items():
            (folder / name).write_bytes(packed)
        (folder / "dense.json").write_bytes(orjson.dumps(self.card, option=orjson.OPT_INDENT_2) + b"\n")


def panel_of(values: FloatArray) -> Panel:
    """A panel from counts (n, T), NaN where unknown; InputError where a series starts unknown."""
    if np.isnan(values[:, 0]).any():
        raise InputError("dense training: every series must be known at its first minute")
    return Panel.of(rooted(np.stack([closed(row) for row in values])), ~np.isnan(values))


def training_tables(panel: Panel, plan: Plan, progress: Progress | None = None) -> dict[int, Table]:
    """All rows of the planned days, by horizon."""
    parts: dict[int, list[Table]] = {h: [] for h in plan.horizons}
    days = range(plan.first_day, plan.stop_day)
    for day in days:
        refits = day_refits(panel, day * DAY, plan.horizons)
        for horizon in plan.horizons:
            parts[horizon].append(table_of(panel, day_rows(panel, refits, horizon), day * DAY))
        if progress:
            progress((day + 1 - days.start) / len(days) * 0.3, f"rows of day {day}")
    return {horizon: Table.joined(tables) for horizon, tables in parts.items()}


def train_dense(values: FloatArray, plan: Plan, *, about: dict[str, Any], progress: Progress | None = None) -> Trained:
    """The global model from counts (n, T) per minute; `about` (data, its sum, command, scores) goes into the card."""
    if plan.first_day * DAY < NEEDED_POINTS or plan.stop_day * DAY > values.shape[1] or plan.stop_day <= plan.first_day:
        raise InputError(
            f"dense training: days {plan.first_day}..{plan.stop_day - 1} must lie between day {NEEDED_POINTS // DAY} "
            f"and the last whole day of {values.shape[1]} minutes"
        )
    panel = panel_of(values[:, : plan.stop_day * DAY])
    tables = training_tables(panel, plan, progress)
    packed: dict[str, bytes] = {}
    for number, horizon in enumerate(plan.horizons):
        if progress:
            progress(0.3 + 0.7 * number / len(plan.horizons), f"trees for {horizon} min")
        median = fit_median(tables[horizon], plan.median)
        spread = fit_spread(tables[horizon], median, plan.spread)
        packed[f"median_{horizon}.txt.gz"] = _pack(median.model_to_string())
        packed[f"spread_{horizon}.txt.gz"] = _pack(spread.model_to_string())
    return Trained(packed, _card(plan, packed, {h: len(table.outcome) for h, table in tables.items()}, about))


def _pack(text: str) -> bytes:
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def _card(plan: Plan, packed: dict[str, bytes], rows: dict[int, int], about: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": "dense",
        "horizons": list(plan.horizons),
        "features": list(feature_names()),
        "days": [plan.first_day, plan.stop_day - 1],
        "rows": {str(horizon): count for horizon, count in rows.items()},
        "median": _settings(plan.median),
        "spread": _settings(plan.spread),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in packed.items()},
        **about,
    }


def _settings(trees: Trees) -> dict[str, object]:
    return {"rounds": trees.rounds, **trees.parameters("l1")}


def data_sum(paths: Sequence[Path]) -> dict[str, str]:
    """sha256 of each file, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}

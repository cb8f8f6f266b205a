"""One day of forecasts that roll forward with everything fitted at its beginning.

The benchmark walks over days with it, and so does whoever keeps the model fresh in a worker: refit the linear parts,
take the newest week's rows, correct the global trees by them, forecast the coming day minute by minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray
from prewarm.forecast.dense.boost import DAILY_CORRECTION, Trees
from prewarm.forecast.dense.features import Rows
from prewarm.forecast.dense.model import DenseModel
from prewarm.forecast.dense.table import Panel, Table, day_refits, day_rows, table_of

WEEK_DAYS = 7  # days of rows that a correction is fitted on: 10,080 points a series

Misses = dict[int, Table]  # by horizon


@dataclass(frozen=True, slots=True)
class DayRows:
    """Rows of every series for the day that begins at minute `first` of the panel, by horizon."""

    first: int
    by_horizon: dict[int, tuple[Rows, ...]]


def rows_for_day(panel: Panel, first: int, horizons: tuple[int, ...]) -> DayRows:
    """Rows of the day that begins at minute `first`, the linear parts refitted at that minute."""
    refits = day_refits(panel, first, horizons)
    return DayRows(first, {horizon: day_rows(panel, refits, horizon) for horizon in horizons})


def day_misses(model: DenseModel, panel: Panel, rows: DayRows) -> Misses:
    """What the global medians missed on a day that is over."""
    return {h: model.missed(h, table_of(panel, one, rows.first)) for h, one in rows.by_horizon.items()}


def corrected_for(model: DenseModel, before: Sequence[Misses], *, trees: Trees = DAILY_CORRECTION) -> DenseModel:
    """The model with corrections fitted on the last WEEK_DAYS of the given days; none given: as it is."""
    newest = before[-WEEK_DAYS:]
    if not newest:
        return model
    return model.corrected({h: Table.joined([day[h] for day in newest]) for h in newest[0]}, trees)


def day_centres(model: DenseModel, rows: DayRows, horizon: int) -> tuple[FloatArray, FloatArray]:
    """Median roots and spreads (n, 1440) of the day."""
    centres = [model.layers[horizon].centre(one) for one in rows.by_horizon[horizon]]
    return np.stack([c.median for c in centres]), np.stack([c.spread for c in centres])

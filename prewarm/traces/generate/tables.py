"""What the synthetic generator knows of real traces: the fitted tables of `tables.json`, each with how it was fitted.

The public data are not part of the project, so their marginals travel as 24 quantiles each. What no public file tells
is a constant of the module that uses it, marked `chosen`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
import orjson

from prewarm.domain import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Quantiles at `levels` (rising from 0 to 1) of one function's values, and shares.

    week_profile: (7, 24) relative demand by local weekday (Monday first) and hour, mean 1.
    """

    levels: FloatArray
    daily_total: FloatArray
    duration_ms: FloatArray
    memory_mb: FloatArray
    popularity_duration_spearman: float
    trigger_shares: dict[str, float]
    week_profile: FloatArray


@cache
def fitted_tables() -> Tables:
    """The committed tables."""
    raw = orjson.loads(resources.files(__package__).joinpath("tables.json").read_bytes())
    return Tables(
        levels=np.array(raw["levels"], dtype=np.float64),
        daily_total=np.array(raw["daily_total"]["quantiles"], dtype=np.float64),
        duration_ms=np.array(raw["duration_ms"]["quantiles"], dtype=np.float64),
        memory_mb=np.array(raw["memory_mb"]["quantiles"], dtype=np.float64),
        popularity_duration_spearman=float(raw["popularity_duration_spearman"]["value"]),
        trigger_shares=raw["trigger_shares"]["value"],
        week_profile=np.array(raw["week_profile"]["value"], dtype=np.float64),
    )


def quantile_values(levels: FloatArray, quantiles: FloatArray, at: FloatArray) -> FloatArray:
    """The value at each probability: between the table's quantiles linear in log10 (Hyndman-Fan's type 7 on knots)."""
    return np.round(10 ** np.interp(at, levels, np.log10(quantiles)), 6)

"""Rows to learn from: features, the outcome in the same units, and what a miss there costs.

Every row is what the forecast of that minute would really have read: the linear columns come from the refit of that
row's own day, never from one that knew the outcome. Misses are weighed so that the loss is the absolute error in counts
over that of seasonal-naive, each series counting the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prewarm.domain import BoolArray, Float32Array, FloatArray
from prewarm.forecast.dense.features import Past, Rows
from prewarm.forecast.dense.roll import Refit, refit, rows_of
from prewarm.forecast.dense.root import DAY

LEAST_ROOT = 0.6  # root below which a profile no longer lowers a row's weight


@dataclass(frozen=True, slots=True)
class Panel:
    """Several series on one grid: pasts without gaps, and which minutes were really known, (n, T)."""

    pasts: tuple[Past, ...]
    known: BoolArray

    @classmethod
    def of(cls, roots: FloatArray, known: BoolArray) -> Panel:
        """From roots without gaps and the mask of known minutes, both (n, T)."""
        return cls(tuple(Past.of(root) for root in roots), known)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows (N, F), normalised outcomes (N,) and weights (N,) of known minutes."""

    values: Float32Array
    outcome: FloatArray
    weight: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[Table]) -> Table:
        """The tables below each other."""
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.outcome for part in parts]),
            np.concatenate([part.weight for part in parts]),
        )


def day_refits(panel: Panel, first: int, horizons: tuple[int, ...]) -> tuple[Refit, ...]:
    """The refit of every series at minute `first`, a day's beginning."""
    return tuple(refit(past, first, horizons) for past in panel.pasts)


def day_rows(panel: Panel, refits: Sequence[Refit], horizon: int) -> tuple[Rows, ...]:
    """Rows of every series for the day that begins at the refits' minute."""
    return tuple(
        rows_of(past, known, np.arange(known.now, known.now + DAY), horizon)
        for past, known in zip(panel.pasts, refits, strict=True)
    )


def table_of(panel: Panel, rows: Sequence[Rows], first: int) -> Table:
    """What one day's rows, beginning at minute `first`, teach."""
    return Table.joined([_taught(panel, number, one, first) for number, one in enumerate(rows)])


def _taught(panel: Panel, number: int, rows: Rows, first: int) -> Table:
    root = panel.pasts[number].root
    seen = panel.known[number, first : first + DAY]
    outcome = (root[first : first + DAY] - rows.profile) / rows.scale
    weight = 2.0 * np.maximum(rows.profile, LEAST_ROOT) * rows.scale / naive_miss(root, first)
    return Table(rows.values[seen], outcome[seen], weight[seen])


def naive_miss(root: FloatArray, now: int) -> float:
    """Mean absolute error, in counts, of seasonal-naive over the week before `now` (as far as it goes)."""
    at = np.arange(max(DAY, now - 7 * DAY), now)
    return max(float(np.abs(root[at] ** 2 - root[at - DAY] ** 2).mean()), 1e-3)

"""The shipped level model: boosted trees over the feature rows, loaded as text, asked for all functions at once.

Two boosters: one for the coming minute, which the decisions use, and a smaller one that is also asked how it will be
some minutes later. A probability never rises with the level. Imports lightgbm and numba: workers, the replay and
training only, never the service process.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

from prewarm.domain import Float32Array, FloatArray, InputError, Int32Array
from prewarm.forecast.levels.feature_table import columns_of
from prewarm.forecast.levels.features import Questions, feature_rows, open_questions
from prewarm.forecast.levels.history_view import LevelProbabilities, SparseHistory, never_rising

SHIPPED = Path(__file__).with_name("models")
NEXT_MINUTE, LATER, CARD = "levels_next.txt.gz", "levels_later.txt.gz", "levels.json"
LONGEST_AHEAD = 15  # minutes; the later booster was trained for 1 to this many
THREADS = 2


class LevelModel:
    """P(N >= k | minutes before now) for every function of a history. `name`, `version` and `card` say which model."""

    def __init__(self, next_minute: Any, later: Any, card: Mapping[str, object]) -> None:
        self._next = next_minute
        self._later = later
        self.card = dict(card)
        self._off: frozenset[str] = frozenset()
        self.name = "levels"
        self.version = str(card.get("version", "0"))

    @classmethod
    def load(cls, folder: Path = SHIPPED) -> LevelModel:
        """The model in `folder`, as shipped or as written by training; InputError where a file is missing or broken."""
        try:
            card = json.loads((folder / CARD).read_text())
            boosters = [
                lightgbm.Booster(model_str=gzip.decompress((folder / name).read_bytes()).decode())
                for name in (NEXT_MINUTE, LATER)
            ]
        except (OSError, ValueError, EOFError, lightgbm.basic.LightGBMError) as broken:
            raise InputError(f"{folder}: no usable level model ({broken})") from broken
        return cls(boosters[0], boosters[1], card)

    def without(self, groups: frozenset[str]) -> LevelModel:
        """The same model to which these groups of `feature_table.GROUPS` are unknown, for an ablation."""
        columns_of(groups)
        blanked = LevelModel(self._next, self._later, self.card)
        blanked._off = self._off | groups
        return blanked

    def p_at_least(self, history: SparseHistory) -> LevelProbabilities:
        """P(N >= k) at minute `history.now_minute`, levels 1 to one above the highest seen where that is near."""
        asked = open_questions(history)
        return _levels(asked, self.chances(history, asked))

    def chances(self, history: SparseHistory, asked: Questions) -> Float32Array:
        """P(N >= level) for questions about any minutes (questions,), which must be sorted so that the levels of one
        row and minute stand together, rising; the answers never rise with the level. `asked.ahead` must be 0.
        """
        return _chances(self._next, history, asked, self._off, with_ahead=False)

    def chances_ahead(self, history: SparseHistory, asked: Questions) -> Float32Array:
        """As `chances`, for questions about minutes `asked.ahead` after now, 0 to 14, from the same past."""
        furthest = int(asked.ahead.max(initial=0))
        if not 0 <= furthest < LONGEST_AHEAD:
            raise InputError(f"minutes ahead: must be less than {LONGEST_AHEAD}, are {furthest}")
        return _chances(self._later, history, asked, self._off, with_ahead=True)


def predicted(booster: Any, rows: Float32Array) -> Float32Array:
    """Probabilities (n,) of a booster for feature rows (n, columns)."""
    if len(rows) == 0:
        return np.zeros(0, np.float32)
    chance: FloatArray = booster.predict(rows, num_threads=THREADS)
    return chance.astype(np.float32)


def with_minutes_ahead(rows: Float32Array, ahead: Int32Array) -> Float32Array:
    """Feature rows with one more column, the minutes ahead."""
    return np.concatenate([rows, ahead[:, None].astype(np.float32)], axis=1)


def _chances(
    booster: Any, history: SparseHistory, asked: Questions, groups_off: frozenset[str], *, with_ahead: bool
) -> Float32Array:
    rows = feature_rows(history, asked)
    if groups_off:
        rows[:, columns_of(groups_off)] = np.nan
    if with_ahead:
        rows = with_minutes_ahead(rows, asked.ahead)
    return never_rising(asked.level, predicted(booster, rows))


def _levels(asked: Questions, p: Float32Array) -> LevelProbabilities:
    return LevelProbabilities(asked.row, asked.level.astype(np.int16), p)

"""The shipped level model: boosted trees, and for what they leave in doubt a second opinion by the sequence network.

The trees look at every function; where their chance is so low or so high that no price makes a difference, the network
is not asked, which saves three quarters of its time at no cost (measured in cross-validation). In doubt the two logits
are averaged with the weight that cross-validation gave, written in the network's card.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path

import numpy as np

from prewarm.domain import Float32Array, FloatArray, InputError
from prewarm.forecast.levels.boosted import SHIPPED, LevelModel
from prewarm.forecast.levels.features import Questions, open_questions
from prewarm.forecast.levels.history_view import LevelProbabilities, SparseHistory, never_rising
from prewarm.forecast.levels.neural_numpy import NeuralLevels

DOUBT = (0.02, 0.6)
WEIGHTS, CARD = "neural.npz", "neural.json"
_CLIP = 1e-6


class BlendedLevels:
    """P(N >= k) from both models; the same questions and answers as `LevelModel`."""

    def __init__(self, trees: LevelModel, network: NeuralLevels, share: float) -> None:
        """`share` of the network in the mean of the logits, 0 to 1."""
        if not 0 <= share <= 1:
            raise InputError(f"level models: the network's share must be 0 to 1, is {share}")
        self.trees = trees
        self.network = network
        self.share = share
        self.name = "levels+sequence"
        self.version = f"{trees.version}+{share:g}"

    @classmethod
    def load(cls, folder: Path = SHIPPED) -> BlendedLevels:
        """Both models of `folder` with the share of the network's card; InputError where one is missing."""
        try:
            card = json.loads((folder / CARD).read_text())
        except (OSError, ValueError) as broken:
            raise InputError(f"{folder / CARD}: no usable card ({broken})") from broken
        return cls(LevelModel.load(folder), NeuralLevels.load(folder / WEIGHTS), float(card["blend_weight"]))

    def chances(self, history: SparseHistory, asked: Questions) -> Float32Array:
        """As `LevelModel.chances`: one answer a question, never rising with the level."""
        by_trees = self.trees.chances(history, asked)
        doubtful = (by_trees > DOUBT[0]) & (by_trees < DOUBT[1])
        if not doubtful.any() or self.share == 0:
            return by_trees
        row, level, now = (column[doubtful].astype(np.int64) for column in (asked.row, asked.level, asked.now))
        second = self.network.p_of(history, row, level, now)
        blended = by_trees.copy()
        blended[doubtful] = _chance((1 - self.share) * _logit(by_trees[doubtful]) + self.share * _logit(second))
        return never_rising(asked.level, blended)

    def p_at_least(self, history: SparseHistory) -> LevelProbabilities:
        """As `LevelModel.p_at_least`."""
        asked = open_questions(history)
        return LevelProbabilities(asked.row, asked.level.astype(np.int16), self.chances(history, asked))

    @cached_property
    def card(self) -> dict[str, object]:
        """The trees' card, and the network's share."""
        return {**self.trees.card, "sequence_share": self.share}


def _logit(p: Float32Array) -> FloatArray:
    safe = np.clip(p.astype(np.float64), _CLIP, 1 - _CLIP)
    return np.asarray(np.log(safe / (1 - safe)))


def _chance(logit: FloatArray) -> Float32Array:
    return np.asarray(1 / (1 + np.exp(-logit))).astype(np.float32)

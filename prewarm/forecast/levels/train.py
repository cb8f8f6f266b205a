"""`prewarm train levels`: fits the level model on public day exemplars and writes it with its card.

The seed decides every draw, so the same data, seed and versions give the same model. The card says what went in, what
came out and how long it took. Imports lightgbm and numba.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

from prewarm.domain import BoolArray, Float32Array
from prewarm.forecast.levels.boosted import (
    CARD,
    LATER,
    LONGEST_AHEAD,
    NEXT_MINUTE,
    predicted,
    with_minutes_ahead,
)
from prewarm.forecast.levels.dataset import Days, Part, bent_parts, draw, read_training_days
from prewarm.forecast.levels.feature_table import GROUPS, NAMES
from prewarm.forecast.levels.features import feature_rows

Progress = Callable[[float, str], None]

VERSION = "1"


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How much to fit: apps and timers made, share of minutes drawn, trees, share of series held out."""

    apps: int = 300
    timers: int = 1000
    rate: float = 0.3
    trees: int = 260
    later_trees: int = 80
    held_out: float = 0.1
    threads: int = 1


@dataclass(frozen=True, slots=True)
class _Rows:
    features: Float32Array
    happened: BoolArray
    weight: Float32Array


def train_levels(
    traces: Path,
    seed: int,
    out_dir: Path,
    *,
    settings: TrainingSettings | None = None,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Fit both boosters on the exemplars under `traces` and write them with their card to `out_dir`; the card."""
    began = time.perf_counter()
    settings = settings or TrainingSettings()
    told = progress or _silent
    days, read = read_training_days(traces)
    model, scores = fit(days, seed, settings, told)
    card: dict[str, object] = {
        "version": f"{VERSION}.{seed}",
        "what": "P(N >= k) per function, level and minute",
        "command": f"prewarm train levels --seed {seed}",
        "seed": seed,
        "data": read,
        "settings": {name: getattr(settings, name) for name in settings.__slots__},
        "features": {group: list(names) for group, names in GROUPS.items()},
        "scores_on_held_out_series": scores,
        "versions": {name: version(name) for name in ("lightgbm", "numpy", "numba")},
        "wall_s": round(time.perf_counter() - began, 1),
    }
    write_model(model, card, out_dir)
    told(1.0, "written")
    return card


def fit(days: Days, seed: int, settings: TrainingSettings, told: Progress) -> tuple[tuple[Any, Any], dict[str, object]]:
    """Both boosters and the scores on series that neither saw."""
    rng, counts = np.random.default_rng(seed), days.counts
    order = rng.permutation(len(counts))
    kept_out = int(len(counts) * settings.held_out)
    held, learned = counts[order[:kept_out]], counts[order[kept_out:]]
    parts = bent_parts(Days(learned, days.apart), apps=settings.apps, timers=settings.timers, rng=rng)
    told(0.05, "series made")
    boosters = []
    scores: dict[str, object] = {}
    for at, (name, trees, ahead) in enumerate(
        (("next_minute", settings.trees, 0), ("later", settings.later_trees, LONGEST_AHEAD - 1))
    ):
        rate = settings.rate if ahead == 0 else settings.rate / 2
        rows = _rows(parts, rate, rng, ahead)
        told(0.25 + 0.5 * at, f"features of {name}, {rows.weight.size:,} minutes")
        booster = _boost(rows, trees, seed, settings.threads)
        test = _rows([Part("held_out", held, 1)], settings.rate, rng, ahead) if len(held) else None
        if test is not None:
            scores[name] = _score(booster, test)
        boosters.append(booster)
        told(0.45 + 0.5 * at, f"trees of {name}")
    return (boosters[0], boosters[1]), scores


def write_model(model: tuple[Any, Any], card: dict[str, object], out_dir: Path) -> None:
    """Both boosters as compressed text and the card, byte for byte the same for the same model."""
    out_dir.mkdir(parents=True, exist_ok=True)
    for booster, name in zip(model, (NEXT_MINUTE, LATER), strict=True):
        text = booster.model_to_string(num_iteration=-1).encode()
        (out_dir / name).write_bytes(gzip.compress(text, compresslevel=9, mtime=0))
    (out_dir / CARD).write_text(json.dumps(card, indent=1) + "\n")


def _silent(share: float, what: str) -> None:
    """Progress told to nobody."""


def _rows(parts: Sequence[Part], rate: float, rng: np.random.Generator, longest_ahead: int) -> _Rows:
    features, happened, weight = [], [], []
    for part in parts:
        if len(part.marks) == 0:
            continue
        sample = draw(part, rate, rng, longest_ahead=longest_ahead)
        seen = feature_rows(part.history(), sample.asked)
        features.append(with_minutes_ahead(seen, sample.asked.ahead) if longest_ahead else seen)
        happened.append(sample.happened)
        weight.append(sample.weight)
    return _Rows(np.concatenate(features), np.concatenate(happened), np.concatenate(weight))


def _boost(rows: _Rows, trees: int, seed: int, threads: int) -> Any:
    parameters = {
        "objective": "binary",
        "learning_rate": 0.055,
        "num_leaves": 31,
        "min_data_in_leaf": 150,
        "lambda_l2": 10.0,
        "feature_fraction": 0.5,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "max_bin": 63,
        "num_threads": threads,
        "seed": seed,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
    }
    names = [*NAMES, "minutes_ahead"][: rows.features.shape[1]]
    data = lightgbm.Dataset(rows.features, rows.happened.astype(np.float32), weight=rows.weight, feature_name=names)
    return lightgbm.train(parameters, data, trees)


def _score(booster: Any, rows: _Rows) -> dict[str, object]:
    """Weighted log-loss per minute, and said against happened in bands of the probability."""
    said = np.clip(predicted(booster, rows.features).astype(np.float64), 1e-6, 1 - 1e-6)
    loss = -np.where(rows.happened, np.log(said), np.log(1 - said))
    bands = []
    for low, high in pairwise(_BANDS):
        inside = (said >= low) & (said < high)
        if inside.any():
            weight = rows.weight[inside]
            mean = float(np.average(said[inside], weights=weight))
            share = float(np.average(rows.happened[inside], weights=weight))
            bands.append({"said": round(mean, 4), "happened": round(share, 4), "minutes": int(inside.sum())})
    return {"log_loss": round(float(np.average(loss, weights=rows.weight)), 5), "calibration": bands}


_BANDS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)

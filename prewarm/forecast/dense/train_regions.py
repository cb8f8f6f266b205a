"""`prewarm train forecast`: the shipped dense model again, from the public demand of five regions, days 0 to 20."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from prewarm.domain import InputError
from prewarm.forecast.dense.train import Plan, data_sum, train_dense
from prewarm.traces.formats.regions import read_regions

FOLDER = "huawei2025-coldstarts"
STOP_DAY = 21  # validation and test days follow


def train_regions(
    traces: Path, seed: int, out_dir: Path, *, progress: Callable[[float, str], None] | None = None
) -> dict[str, object]:
    """Fit on the training days and write trees and card to `out_dir`; the card. InputError where the data is absent."""
    began = time.perf_counter()
    found = sorted((traces / FOLDER).glob("*.csv"))
    if not found:
        raise InputError(
            f"{traces / FOLDER}: no CSV of demand per region and minute here; set PREWARM_TRACES or --data"
        )
    counts = read_regions(found[0]).dense_count().astype(np.float64)
    plain = Plan(stop_day=STOP_DAY)
    median, spread = (dataclasses.replace(trees, seed=seed) for trees in (plain.median, plain.spread))
    about = {"data": data_sum(found[:1]), "seed": seed, "command": f"prewarm train forecast --seed {seed}"}
    plan = dataclasses.replace(plain, median=median, spread=spread)
    trained = train_dense(counts, plan, about=about, progress=progress)
    card = {**trained.card, "wall_s": round(time.perf_counter() - began, 1)}
    dataclasses.replace(trained, card=card).write(out_dir)
    return card

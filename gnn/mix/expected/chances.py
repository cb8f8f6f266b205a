"""The chance of a call in the coming minute, by the shipped forecaster, for every exemplar.

It reads only when calls came and how many, so every function that repeats an exemplar gets the same answer, and one
pass over the exemplars serves all worlds. That pass takes minutes, so its answers are kept in the user's cache folder
under a name that changes with the data and the model. Half the exemplars taught the model (it was trained without
this division in mind), which flatters the forecasts of all policies alike.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gnn.mix.world.source import EXEMPLARS, Source
from prewarm.domain import Float32Array, FunctionKey
from prewarm.forecast.experts.opinions import EXPERTS, shipped_model
from prewarm.foresight import empty_memory, foresee, remember, with_functions
from prewarm.sim.chances import Past, opinions_by_minute

EPOCH_MINUTE = 4 * 1440  # a Monday; a day has no earlier day to look at


def cache_folder() -> Path:
    """Where answers that cost minutes are kept: `prewarm` in the user's cache folder (XDG)."""
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "prewarm"


def exemplar_chances(source: Source, folder: Path, told: Callable[[float], None] | None = None) -> Float32Array:
    """P(a call in minute t | minutes before t) of every exemplar, (s, T), from `folder` or made and kept there."""
    model = shipped_model()
    seal = hashlib.sha256(f"{source.sha256[EXEMPLARS]}:{model.name}:{model.version}".encode()).hexdigest()[:16]
    path = folder / f"mix-chances-{seal}.npy"
    if path.is_file():
        kept: Float32Array = np.load(path)
        return kept
    said = asked_chances(source.counts, told)
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    with unfinished.open("wb") as file:
        np.save(file, said)
    unfinished.replace(path)
    return said


def asked_chances(counts: Float32Array, told: Callable[[float], None] | None = None) -> Float32Array:
    """The same for counts (s, T): the learned model, recalibrated function by function as the service does it."""
    rows, minutes = counts.shape
    need = (counts > 0).astype(np.int32)
    past = Past(need, counts, np.zeros(rows, np.int32), EPOCH_MINUTE)
    memory = with_functions(empty_memory(len(EXPERTS)), (), _keys(rows), step_s=60.0)
    known = np.ones(rows, np.bool_)
    said = np.zeros((rows, minutes), np.float32)
    for minute, opinions in enumerate(opinions_by_minute(past, shipped_model(), calendar=False, told=told)):
        foreseen, memory = foresee(memory, opinions)
        first = foreseen.level == 1
        said[foreseen.row[first], minute] = foreseen.p[first]
        memory = remember(memory, need[:, minute], known)
    return said


def _keys(rows: int) -> dict[FunctionKey, int]:
    return {FunctionKey(f"exemplar/{row}"): row for row in range(rows)}

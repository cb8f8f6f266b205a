"""How far an observation is from those that the weights were made for, as a value that is read and written.

Four readings. *Distance*: Mahalanobis' of the pooled row, from a covariance that is shrunk towards its diagonal.
*Drift*: the same of a running mean of rows (MEWMA: Lowry et al., Technometrics'92), which sees a small shift that
stays. *Column*: the one column of the running mean that is farthest off, since what moves alone is lost among hundreds.
*Disagreement*: of a few small heads that were fitted to the policy's answers on other resamples with other random
features; they agree where they have seen data (as in OSAP, arXiv 2010.03625, section 3). Each is read in units of its
usual largest value in a run, and the largest of the four is the *level*; from 1 on the world is not the one trained
for. The 1 is conformal over whole runs, so rows of a run may depend on each other as they like.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from prewarm.domain import FloatArray, InputError

READINGS = ("distance", "drift", "column", "disagreement")
_FAR = 30.0
"""Standardised columns are held within this, so that one alone cannot hide what the others say."""


@dataclass(frozen=True, slots=True, eq=False)
class Detector:
    """d columns, h hidden units, k heads, t told outputs.

    centre, scale: (d,). near, slow: (d, d) whiteners of a row and of the running mean. peak: (d,) farthest that the
    running mean was off. memory_s: of the running mean. hidden: (k, d + 1, h); heads: (k, h, t). usual: (r,) the
    readings' units, and unit, what divides the largest of them so that 1 is the alarm. rate: false alarms by run, as
    stated; runs: calibrated on.
    """

    centre: FloatArray
    scale: FloatArray
    near: FloatArray
    slow: FloatArray
    peak: FloatArray
    memory_s: FloatArray
    hidden: FloatArray
    heads: FloatArray
    usual: FloatArray
    unit: FloatArray
    rate: FloatArray
    runs: FloatArray

    def standard(self, row: FloatArray) -> FloatArray:
        """A pooled row (..., d) in units of its usual spread."""
        return np.clip((row - self.centre) / self.scale, -_FAR, _FAR)

    def distance(self, standard: FloatArray) -> FloatArray:
        """Of standardised rows (..., d)."""
        return _norm(standard @ self.near)

    def drift(self, mean: FloatArray) -> FloatArray:
        """Of running means (..., d)."""
        return _norm(mean @ self.slow)

    def column(self, mean: FloatArray) -> FloatArray:
        """Of running means (..., d)."""
        farthest: FloatArray = np.abs(mean / self.peak).max(axis=-1)
        return farthest

    def disagreement(self, standard: FloatArray) -> FloatArray:
        """Spread of the heads' answers about standardised rows (..., d), mean over outputs."""
        said = answers(self.hidden, self.heads, standard)  # (k, ..., t)
        spread: FloatArray = said.std(axis=0).mean(axis=-1)
        return spread

    def level(self, readings: FloatArray) -> FloatArray:
        """Of readings (..., r): 1 and above is an alarm."""
        largest: FloatArray = (readings / self.usual).max(axis=-1) / float(self.unit)
        return largest


def answers(hidden: FloatArray, heads: FloatArray, standard: FloatArray) -> FloatArray:
    """What each head says, (k, ..., t)."""
    units = np.maximum(np.einsum("...d,kdh->k...h", standard, hidden[:, :-1]) + _spread(hidden[:, -1], standard), 0.0)
    said: FloatArray = np.einsum("k...h,kht->k...t", units, heads)
    return said


def write_detector(path: Path, detector: Detector) -> None:
    """Write it as arrays only."""
    arrays: dict[str, Any] = {one.name: np.asarray(getattr(detector, one.name), np.float32) for one in fields(Detector)}
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_detector(path: Path) -> Detector:
    """The detector of a file; InputError where it is none."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = {one.name: found[one.name].astype(np.float64) for one in fields(Detector)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, BadZipFile) as error:
        raise InputError(f"{path}: not a detector ({error})") from error
    many = len(arrays["centre"])
    shapes = {
        "scale": (many,),
        "near": (many, many),
        "slow": (many, many),
        "peak": (many,),
        "usual": (len(READINGS),),
        "unit": (),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise InputError(f"{path}: {name} must be {shape}, is {arrays[name].shape}")
    if not all(np.isfinite(array).all() for name, array in arrays.items() if name != "unit"):
        raise InputError(f"{path}: not finite")
    return Detector(**arrays)


def _norm(rows: FloatArray) -> FloatArray:
    length: FloatArray = np.sqrt((rows**2).mean(axis=-1))
    return length


def _spread(bias: FloatArray, like: FloatArray) -> FloatArray:
    """(k, h) as (k, ..., h)."""
    return bias.reshape(bias.shape[0], *(1,) * (like.ndim - 1), bias.shape[1])

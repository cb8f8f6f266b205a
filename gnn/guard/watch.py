"""A stream of observations against a detector, one after another: pure steps over a state that the caller keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gnn.guard.detector import READINGS, Detector
from prewarm.domain import FloatArray

TOLD = 3
"""Columns that a reason names."""


@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """mean: (d,) running mean of standardised rows; unsure: running mean of the disagreement, NaN before the first row;
    at: s of the last row.
    """

    mean: FloatArray
    unsure: float
    at: float


@dataclass(frozen=True, slots=True)
class Reading:
    """level: 1 and above is an alarm. what: which reading is largest; columns: that stand out most, with how many usual
    spreads they are off.
    """

    level: float
    what: str
    columns: tuple[tuple[int, float], ...]

    @property
    def alarms(self) -> bool:
        """Whether this is not what the weights were made for."""
        return not self.level < 1.0


def begin(detector: Detector, at: float) -> Watch:
    """A stream that has shown nothing so far."""
    return Watch(np.zeros(len(detector.centre)), float("nan"), at)


def seen(detector: Detector, watch: Watch, row: FloatArray, at: float) -> tuple[Watch, Reading]:
    """After one pooled row (d,) at a time in seconds."""
    if not np.isfinite(row).all():
        return replace(watch, at=at), Reading(float("inf"), "a value that is not finite", ())
    standard = detector.standard(row)
    part = 1.0 - float(np.exp(-max(at - watch.at, 0.0) / float(detector.memory_s)))
    mean = watch.mean + part * (standard - watch.mean)
    said = float(detector.disagreement(standard))
    unsure = said if np.isnan(watch.unsure) else watch.unsure + part * (said - watch.unsure)
    readings = np.array(
        [float(detector.distance(standard)), float(detector.drift(mean)), float(detector.column(mean)), unsure]
    )
    level = float(detector.level(readings))
    largest = int(np.argmax(readings / detector.usual))
    off = {"drift": mean, "column": mean / detector.peak}.get(READINGS[largest], standard)
    order = np.argsort(-np.abs(off), kind="stable")[:TOLD]
    columns = tuple((int(at), float(off[at])) for at in order)
    return Watch(mean, unsure, at), Reading(level, READINGS[largest], columns)


def reason(reading: Reading, names: tuple[str, ...]) -> str:
    """An alarm in words."""
    return f"out of distribution: {in_words(reading, names)}"


def in_words(reading: Reading, names: tuple[str, ...]) -> str:
    """What is farthest from the usual, and how far, whether it alarms or not."""
    told = ", ".join(f"{names[at]} {off:+.1f} spreads" for at, off in reading.columns if at < len(names))
    return f"{reading.what} at {reading.level:.2f} of its limit ({told or 'no column stands out'})"

"""Whether the learned policy may decide: windows of paired differences, and what follows from each.

A pair is one workload in one window: what its instances cost where the rule would put them, less what they cost where
the learned policy would. Promotion goes by namespace and in steps of its share; it takes a lower bound of the mean of 0
or more at 95 % in several windows in a row. One window whose upper bound is below 0, or an alarm, takes all of it back.
Pure: standings in, standings out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from prewarm.domain import FloatArray

STEPS = (0.0, 0.1, 0.5, 1.0)
"""Shares of a namespace's workloads that the learned policy decides, one step after another."""


@dataclass(frozen=True, slots=True)
class Terms:
    """windows: good ones in a row for a step up. window_s: shortest length of one. pairs: fewest in it."""

    windows: int = 3
    window_s: float = 300.0
    pairs: int = 20
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of `pairs` paired differences with the bounds of its two-sided interval; above 0 the learned is better."""

    mean: float
    low: float
    high: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a namespace is. step: of STEPS. streak: good windows in a row on this step. since, why: of the last change.
    windows: closed in all. last: the newest window.
    """

    step: int = 0
    streak: int = 0
    since: float = 0.0
    why: str = "not compared yet"
    windows: int = 0
    last: Interval | None = None

    @property
    def share(self) -> float:
        """Of its workloads, decided by the learned policy."""
        return STEPS[self.step]


def interval(differences: Sequence[float] | FloatArray, confidence: float = 0.95) -> Interval:
    """Student's interval of the mean. With fewer than two pairs the bounds are infinite, so nothing follows from it."""
    values = np.asarray(differences, np.float64)
    if len(values) < 2 or not np.isfinite(values).all():
        return Interval(float("nan"), -math.inf, math.inf, len(values))
    mean, spread = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    width = float(stdtrit(len(values) - 1, 0.5 + confidence / 2.0)) * spread
    return Interval(mean, mean - width, mean + width, len(values))


def after_window(standing: Standing, found: Interval, now: float, terms: Terms, *, most: float = 1.0) -> Standing:
    """What follows from a window. most: largest share that a person allows."""
    closed = replace(standing, windows=standing.windows + 1, last=found)
    if found.high < 0.0:
        return _back(closed, now, f"worse than the rule by {-found.mean:.2%} ({_told(found)})")
    if not found.low >= 0.0:
        return replace(closed, streak=0)
    streak = standing.streak + 1
    if streak < terms.windows or not _may_rise(standing.step, most):
        return replace(closed, streak=min(streak, terms.windows))
    step = standing.step + 1
    why = f"not worse than the rule in {streak} windows in a row ({_told(found)}): share {STEPS[step]:g}"
    return replace(closed, step=step, streak=0, since=now, why=why)


def after_alarm(standing: Standing, why: str, now: float) -> Standing:
    """Back to comparing only; good windows before an alarm say nothing about the world after it."""
    if not standing.step:
        return replace(standing, streak=0)
    return _back(standing, now, why)


def _back(standing: Standing, now: float, why: str) -> Standing:
    if not standing.step:
        return replace(standing, streak=0, why=why)
    return replace(standing, step=0, streak=0, since=now, why=why)


def _may_rise(step: int, most: float) -> bool:
    """Whether the next step gives more than this one, as far as is allowed."""
    return step + 1 < len(STEPS) and STEPS[step] < most


def _told(found: Interval) -> str:
    return f"95 % of {found.low:+.2%} to {found.high:+.2%} over {found.pairs} workloads"

"""Peers from statsforecast on the same series: AutoETS and AutoTheta, and the Croston family.

ETS has no daily season at minute grain (a season above 24 returns nothing), so ETS and Theta are given what the weekly
profile of the target minute leaves over, on the scale of roots: the same profile that ours starts from. They are
refitted at midnight on the last 1,440 points and rolled forward each minute with these parameters. The Croston family
has fixed parameters and reads the last 1,440 counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from prewarm.bench.forecast_protocol import DAY, HORIZONS, TEST_START, TEST_STOP, Answers, Demand
from prewarm.domain import FloatArray
from prewarm.forecast.dense.features import week_profile
from prewarm.forecast.dense.root import WEEK, closed, counted, rooted

FITTED_POINTS = 1440
THETA_POINTS = 360  # newest points that Theta's forward pass reads; its cost grows with them
LIFT = 100.0  # added to residuals for Theta, which wants positive values


class Peer(Protocol):
    """A statsforecast model, as far as it is used."""

    def fit(self, y: FloatArray) -> Any:
        """Fitted to a series."""
        ...

    def forward(self, y: FloatArray, h: int) -> dict[str, FloatArray]:
        """The next h of a longer series with the fitted parameters."""
        ...

    def forecast(self, y: FloatArray, h: int) -> dict[str, FloatArray]:
        """The next h of a series, fitted to it."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One peer: its name, how it is made, and whether it sees residuals (lifted by `lift`) or counts."""

    name: str
    make: Callable[[], Peer]
    residual: bool = False
    lift: float = 0.0
    points: int = FITTED_POINTS
    note: str = "no season; fixed parameters, last 1,440 counts"


def entries() -> tuple[Entry, ...]:
    """The peers in the table's order."""
    said = "on the series less its weekly profile; refitted daily on 1,440 points"
    rolled = f"{said}, rolled on {THETA_POINTS}"
    theta = partial(_peer, "AutoTheta", season_length=1)
    return (
        Entry("statsforecast_auto_ets", partial(_peer, "AutoETS", season_length=1), residual=True, note=said),
        Entry("statsforecast_auto_theta", theta, residual=True, lift=LIFT, points=THETA_POINTS, note=rolled),
        Entry("statsforecast_croston", partial(_peer, "CrostonClassic")),
        Entry("statsforecast_croston_sba", partial(_peer, "CrostonSBA")),
        Entry("statsforecast_tsb", partial(_peer, "TSB", alpha_d=0.1, alpha_p=0.1)),
        Entry("statsforecast_adida", partial(_peer, "ADIDA")),
    )


def _peer(name: str, **settings: float) -> Peer:
    """A model of statsforecast; imported here, since that takes seconds."""
    from statsforecast import models

    peer: Peer = getattr(models, name)(**settings)
    return peer


def peer_answers(demand: Demand, entry: Entry, *, stride: int = 1) -> Answers:
    """One peer over the test days; `stride` > 1 asks it every so many minutes only and holds its level in between."""
    steps = max(HORIZONS)
    median = {h: np.full((len(demand.names), (TEST_STOP - TEST_START) * DAY), np.nan) for h in HORIZONS}
    clock = _Clock()
    for number in range(len(demand.names)):
        seen = _seen(closed(demand.counts[number]), residual=entry.residual)
        ahead = _rolled(seen.series + entry.lift, entry, clock, steps=steps, stride=stride) - entry.lift
        for h in HORIZONS:
            # row k of `ahead` was said at minute first - steps + k; the target at place t was forecast h before
            rows = np.arange(median[h].shape[1]) + steps - h
            said = ahead[rows, h - 1]
            median[h][number] = counted(seen.profile + said) if entry.residual else np.maximum(said, 0.0)
    days = (TEST_STOP - TEST_START) * len(demand.names)
    note = entry.note if stride == 1 else f"{entry.note}; asked every {stride} min only, so worse than it could be"
    return Answers(entry.name, median, clock.fit_s * 1e3 / days, clock.said_s * 1e3 / max(clock.asked, 1), note)


@dataclass(slots=True)
class _Clock:
    fit_s: float = 0.0
    said_s: float = 0.0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class _Seen:
    series: FloatArray  # (T,)
    profile: FloatArray  # of the test minutes, roots


def _seen(counts: FloatArray, *, residual: bool) -> _Seen:
    root = rooted(counts)
    test = np.arange(TEST_START * DAY, TEST_STOP * DAY)
    profile = week_profile(root, test)
    if not residual:
        return _Seen(counts, profile)
    left = np.zeros(len(root))
    at = np.arange(WEEK, len(root))
    left[at] = root[at] - week_profile(root, at)
    return _Seen(left, profile)


def _rolled(series: FloatArray, entry: Entry, clock: _Clock, *, steps: int, stride: int) -> FloatArray:
    """What was said for the next `steps` at each minute from steps before the test on, (minutes, steps)."""
    first = TEST_START * DAY - steps
    ahead = np.empty((TEST_STOP * DAY - 1 - first, steps))  # the last minute is a target only
    model: Peer | None = None
    for row in range(len(ahead)):
        now = first + row  # counts up to and including this minute are known
        if model is None or (now + 1) % DAY == 0:
            model = _fitted(series, now, entry, clock)
        if row % stride and row:
            ahead[row] = ahead[row - 1]
            continue
        began = time.perf_counter()
        past = series[now + 1 - entry.points : now + 1]
        said = model.forward(past, steps) if entry.residual else model.forecast(past, steps)
        clock.said_s += time.perf_counter() - began
        clock.asked += 1
        ahead[row] = said["mean"]
    return ahead


def _fitted(series: FloatArray, now: int, entry: Entry, clock: _Clock) -> Peer:
    model = entry.make()
    if entry.residual:
        began = time.perf_counter()
        model.fit(series[now + 1 - FITTED_POINTS : now + 1])
        clock.fit_s += time.perf_counter() - began
    return model

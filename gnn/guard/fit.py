"""A detector from runs in which all was as it was trained for: a quarter of them to fit, a quarter for the readings'
units, the other half for the limit. Where some runs are of other work than the rest, the rest is fitted, and these give
units and limit: then the limit is one for work that was never seen.

Runs, not rows, are exchangeable: what one run shows in a minute depends on the minute before. So the limit is the
conformal one of each held-out run's largest level. A reading's unit is what it comes to in runs that were not fitted:
in those that were, the columns' own peaks bound it, and what rarely moves would then set the limit of all readings. For
the same reason a column that hardly moved in the fitted runs is no stranger before it has moved by a twentieth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gnn.guard.conformal import threshold
from gnn.guard.detector import READINGS, Detector, answers
from gnn.guard.watch import begin, seen
from prewarm.domain import FloatArray, InputError

_LEAST = 0.25
"""Spread, and least peak, of a column's running mean, in spreads of the column."""
_LEAST_MOVE = 0.05
"""Least peak of a column's running mean in the column's own unit; all columns are encoded to about one."""
_USUAL = 0.9
"""Share of the runs that set a reading's unit in which it comes to no more: one odd run does not blunt a reading."""


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """One run as the guard saw it. at: (n,) s, rising; rows: (n, d) pooled; told: (n, t) the policy's answers, pooled
    (zeros where there was none). apart: of other work than those that are fitted.
    """

    at: FloatArray
    rows: FloatArray
    told: FloatArray
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Fit:
    """rate: false alarms by run. memory_s: of the running mean. floor: least spread of a column, so that one that never
    moved says something when it does. shrink: of the covariance towards its diagonal. most: rows that are fitted.
    """

    rate: float = 0.01
    memory_s: float = 45.0
    floor: float = 0.05
    shrink: float = 0.2
    heads: int = 5
    hidden: int = 48
    ridge: float = 1.0
    most: int = 20_000


def fit(streams: Sequence[Stream], rng: np.random.Generator, settings: Fit | None = None) -> Detector:
    """The detector. Raises InputError where there are not three runs."""
    told = settings or Fit()
    if len(streams) < 3:
        raise InputError(f"guard: at least three runs are needed, are {len(streams)}")
    mixed = [streams[at] for at in rng.permutation(len(streams))]
    fitted, scaled, apart = _parts(mixed)
    raw = _raw(fitted, rng, told)
    usual = np.maximum(np.quantile([largest(raw, one) for one in scaled], _USUAL, axis=0), 1e-9)
    peaks = np.array([largest(raw, one) for one in apart])  # (runs, r)
    limit = threshold((peaks / usual).max(axis=1), told.rate)
    if not np.isfinite(limit):  # too few runs for the rate: the largest seen, and the rate that it stands for
        limit, told = float((peaks / usual).max()), replace(told, rate=1.0 / (len(apart) + 1))
    return replace(raw, usual=usual, unit=np.array(limit), rate=np.array(told.rate), runs=np.array(float(len(apart))))


def largest(detector: Detector, stream: Stream) -> FloatArray:
    """The largest of each reading in a run, (r,)."""
    standard = detector.standard(stream.rows)
    unsure = detector.disagreement(standard)
    means = _running(standard, stream.at, float(detector.memory_s), np.zeros(standard.shape[1]))
    smooth = _running(unsure[:, None], stream.at, float(detector.memory_s), unsure[:1])
    return np.array(
        [
            detector.distance(standard).max(),
            detector.drift(means).max(),
            detector.column(means).max(),
            smooth.max(),
        ]
    )


def levels(detector: Detector, stream: Stream) -> FloatArray:
    """The level after each row of a run, (n,)."""
    watch, out = begin(detector, float(stream.at[0])), np.empty(len(stream.at))
    for row, (values, at) in enumerate(zip(stream.rows, stream.at.tolist(), strict=True)):
        watch, reading = seen(detector, watch, values, at)
        out[row] = reading.level
    return out


def _parts(mixed: Sequence[Stream]) -> tuple[Sequence[Stream], Sequence[Stream], Sequence[Stream]]:
    """Runs to fit, for the units and for the limit."""
    fitted, apart = [one for one in mixed if not one.apart], [one for one in mixed if one.apart]
    if not apart:
        quarter = max(1, len(mixed) // 4)
        return mixed[:quarter], mixed[quarter : 2 * quarter], mixed[2 * quarter :]
    if not fitted or len(apart) < 2:
        raise InputError("guard: runs to fit are needed, and two or more that are apart")
    third = max(1, len(apart) // 3)
    return fitted, apart[:third], apart[third:]


def _raw(fitted: Sequence[Stream], rng: np.random.Generator, told: Fit) -> Detector:
    """All but the units of the readings."""
    rows = np.concatenate([one.rows for one in fitted])
    answered = np.concatenate([one.told for one in fitted])
    kept = rng.permutation(len(rows))[: told.most]
    rows, answered = rows[kept], answered[kept]
    centre, scale = np.median(rows, axis=0), np.maximum(rows.std(axis=0), told.floor)
    one = Detector(
        centre,
        scale,
        near=np.eye(len(centre)),
        slow=np.eye(len(centre)),
        peak=np.ones(len(centre)),
        memory_s=np.array(told.memory_s),
        hidden=np.zeros((told.heads, len(centre) + 1, told.hidden)),
        heads=np.zeros((told.heads, told.hidden, answered.shape[1])),
        usual=np.ones(len(READINGS)),
        unit=np.array(1.0),
        rate=np.array(told.rate),
        runs=np.array(0.0),
    )
    hidden, heads = _heads(one.standard(rows), answered, rng, told)
    nothing = np.zeros(len(centre))
    by_run = [_running(one.standard(run.rows), run.at, told.memory_s, nothing) for run in fitted]
    means = np.concatenate(by_run)
    near, slow = _whitener(one.standard(rows), told.shrink, floor=1.0), _whitener(means, told.shrink, floor=_LEAST)
    seen = np.max([np.abs(run).max(axis=0) for run in by_run], axis=0)
    peak = np.maximum(seen, np.maximum(_LEAST, _LEAST_MOVE / scale))
    return replace(one, near=near, slow=slow, peak=peak, hidden=hidden, heads=heads)


def _running(rows: FloatArray, at: FloatArray, memory_s: float, mean: FloatArray) -> FloatArray:
    """Running means (n, d) of rows that came at these times, from `mean` (d,) on."""
    out = np.empty_like(rows)
    for row, gap in enumerate(np.diff(at, prepend=at[0]).tolist()):
        mean = mean + (1.0 - np.exp(-max(gap, 0.0) / memory_s)) * (rows[row] - mean)
        out[row] = mean
    return out


def _whitener(rows: FloatArray, shrink: float, *, floor: float) -> FloatArray:
    """W with |x W|^2 = x' S^-1 x, S the second moment about 0, shrunk to its diagonal, which is at least floor^2."""
    moment = rows.T @ rows / len(rows)
    own = np.maximum(np.diag(moment), floor**2)
    scale = np.sqrt(own)
    alike = moment / np.outer(scale, scale)
    alike = (1.0 - shrink) * alike
    np.fill_diagonal(alike, 1.0)
    values, vectors = np.linalg.eigh(alike)
    whitener: FloatArray = (vectors / np.sqrt(np.maximum(values, shrink / 10.0))) / scale[:, None]
    return whitener


def _heads(
    standard: FloatArray, answered: FloatArray, rng: np.random.Generator, told: Fit
) -> tuple[FloatArray, FloatArray]:
    """Ridge regressions of the policy's answers on random rectified units, each on a resample of its own."""
    many = standard.shape[1]
    hidden = rng.normal(0.0, 1.0 / np.sqrt(many), (told.heads, many + 1, told.hidden))
    heads = np.zeros((told.heads, told.hidden, answered.shape[1]))
    spread = np.maximum(answered.std(axis=0), 1e-3)
    for at in range(told.heads):
        drawn = rng.integers(0, len(standard), len(standard))
        units = np.maximum(standard[drawn] @ hidden[at, :-1] + hidden[at, -1], 0.0)
        wanted = (answered[drawn] - answered.mean(axis=0)) / spread
        heads[at] = np.linalg.solve(units.T @ units + told.ridge * np.eye(told.hidden), units.T @ wanted)
    assert np.isfinite(answers(hidden, heads, standard[:1])).all()
    return hidden, heads

"""Training data of the level model: day exemplars, bent in ways that real applications differ from them.

Exemplars are single functions of one day; an application is a union of functions, starts at any time of its day, and
has marks (concurrency) in proportion to counts and durations. So each series is also turned, given a duration, added
to others, and scaled until its counts cross the bound of a second level. Series that resemble a set kept for evaluation
are dropped first, and so is every made one that comes to resemble it (benchmarks A3.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prewarm.domain import BoolArray, Float32Array, FloatArray, InputError
from prewarm.forecast.levels.features import Questions
from prewarm.forecast.levels.history_view import SparseHistory
from prewarm.forecast.levels.made_timers import made_timers
from prewarm.traces.formats.concurrency import read_concurrency
from prewarm.traces.formats.exemplars import read_exemplars
from prewarm.traces.model import Trace

EXEMPLARS = "azure2019-invitro/day_series_exemplars_1440.csv.gz"
EVALUATION = "femux-azure2019/knative100_avg_concurrency.csv"
NEED_FLOOR = 1.6e-5  # mean concurrency below this counts as no call (benchmarks A3.1)
ALIKE = 0.8  # Jaccard index from which a series is too like one of the evaluation set
LONGEST_SHIFT = 5  # minutes

_SPREAD = (0.0, 0.002, 0.05, 0.4)  # of a duration from minute to minute
_SPREAD_SHARE = (0.4, 0.3, 0.2, 0.1)
_DURATION_SIGMA = 1.5  # log-sd between functions of an app


@dataclass(frozen=True, slots=True)
class Part:
    """Series to learn from. marks: (n, T) float, 0 where nothing was asked; hits: (n, T) when `level` was needed.

    level is 1, or 2 for series whose marks are scaled so that 1 is the bound of the second level.
    """

    name: str
    marks: FloatArray
    level: int

    @property
    def hits(self) -> BoolArray:
        """(n, T) True where the level was needed."""
        return np.asarray(self.marks > self.level - 1)

    def history(self) -> SparseHistory:
        """The series as the model sees them, from minute 0 on."""
        asked = self.marks > 0
        minute = np.nonzero(asked)[1]
        marks = self.marks[asked].astype(np.float32)
        need = np.where(marks > 1, self.level, 1).astype(np.int16)
        indptr = np.r_[0, np.cumsum(asked.sum(axis=1))].astype(np.int64)
        since = np.zeros(len(self.marks), np.int32)
        return SparseHistory(minute.astype(np.int32), need, indptr, since, self.marks.shape[1], marks)


@dataclass(frozen=True, slots=True)
class Sample:
    """Drawn questions, what happened, and the weight that makes the draw fair."""

    asked: Questions
    happened: BoolArray
    weight: Float32Array


@dataclass(frozen=True, slots=True)
class Days:
    """counts: (n, T) calls to learn from. apart: (m, T) 0/1 series that nothing learned from may resemble, or None."""

    counts: FloatArray
    apart: BoolArray | None


def read_training_days(traces: Path) -> tuple[Days, dict[str, object]]:
    """The exemplars (n, 1440) unlike every series of the evaluation set, and what was read and dropped.

    InputError where a file is absent: without the evaluation set nothing could be dropped.
    """
    exemplars, kept_apart = traces / EXEMPLARS, traces / EVALUATION
    for path in (exemplars, kept_apart):
        if not path.is_file():
            raise InputError(f"{path}: is needed for training and is not there")
    trace = read_exemplars(exemplars)
    counts = _dense(trace, trace.count)
    other = read_concurrency(kept_apart)
    evaluation = _dense(other, other.concurrency) >= NEED_FLOOR
    alike = is_alike(counts > 0, evaluation)
    useful = ~alike & (counts > 0).any(axis=1)
    read: dict[str, object] = {
        "file": exemplars.name,
        "sha256": trace.sha256,
        "kept_apart_sha256": other.sha256,
        "exemplars": len(counts),
        "dropped_alike": int(alike.sum()),
        "used": int(useful.sum()),
    }
    return Days(counts[useful], evaluation), read


def is_alike(on: BoolArray, apart: BoolArray | None) -> BoolArray:
    """(n,) whether each 0/1 series of (n, T) resembles one of `apart` (m, T); none where nothing is kept apart."""
    if apart is None:
        return np.zeros(len(on), dtype=np.bool_)
    alike: BoolArray = resemblance(on, apart).max(axis=1, initial=0.0) >= ALIKE
    return alike


def _dense(trace: Trace, values: Float32Array) -> FloatArray:
    dense = np.zeros((trace.functions, trace.minutes))
    dense[np.repeat(np.arange(trace.functions), np.diff(trace.indptr)), trace.minute] = values
    return dense


def resemblance(series: BoolArray, others: BoolArray, longest_shift: int = LONGEST_SHIFT) -> FloatArray:
    """Largest Jaccard index of each series with each other over shifts within `longest_shift`; (n, m)."""
    best = np.zeros((len(series), len(others)))
    right = others.astype(np.float32)
    for shift in range(-longest_shift, longest_shift + 1):
        left = np.zeros(series.shape, np.float32)
        source = slice(max(0, -shift), series.shape[1] - max(0, shift))
        left[:, max(0, shift) : series.shape[1] - max(0, -shift)] = series[:, source]
        both = left @ right.T
        either = left.sum(axis=1)[:, None] + right.sum(axis=1)[None, :] - both
        np.maximum(best, both / np.maximum(either, 1.0), out=best)
    return best


def bent_parts(days: Days, *, apps: int, timers: int, rng: np.random.Generator) -> list[Part]:
    """The exemplars as they are, turned, united to `apps` apps, both of the latter as second levels, made timers.

    What was made and came to resemble a series kept apart is left out, so some parts are a little smaller than asked.
    """
    counts = days.counts
    turned = with_durations(turn(counts, rng), rng)
    united = unite(counts, apps, rng)
    bent = (
        ("day", counts, 1),
        ("turned", turned, 1),
        ("apps", united, 1),
        ("timers", made_timers(timers, counts, rng), 1),
        ("second_level", over_bound(with_durations(turn(counts, rng), rng), rng), 2),
        ("second_level_apps", over_bound(united, rng), 2),
    )
    return [Part(name, marks[~is_alike(marks > 0, days.apart)], level) for name, marks, level in bent]


def turn(series: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Each row turned (circularly) by its own random offset."""
    minutes = series.shape[1]
    offsets = rng.integers(0, minutes, len(series))
    source = (np.arange(minutes)[None, :] - offsets[:, None]) % minutes
    return np.take_along_axis(series, source, axis=1)


def with_durations(counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Counts as marks: a mean duration per row, which the mean over a minute's calls leaves by a small spread."""
    spread = rng.choice(_SPREAD, len(counts), p=_SPREAD_SHARE)[:, None]
    noise = rng.normal(0.0, 1.0, counts.shape) * spread / np.sqrt(np.maximum(counts, 1.0))
    return np.asarray(counts * np.exp(noise))


def unite(counts: FloatArray, apps: int, rng: np.random.Generator) -> FloatArray:
    """Marks of `apps` applications, each the sum of 2 to 5 turned functions with durations of their own."""
    united = np.zeros((apps, counts.shape[1]))
    for app in united:
        members = rng.choice(len(counts), rng.integers(2, 6))
        durations = np.exp(rng.normal(0.0, _DURATION_SIGMA, members.size))[:, None]
        app += (with_durations(turn(counts[members], rng), rng) * durations).sum(axis=0)
    return united


def over_bound(marks: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Series scaled so that a drawn quantile of their marks is 1; those that would never exceed it are left out."""
    scaled = []
    for series in marks:
        asked = series[series > 0]
        if asked.size == 0:
            continue
        bound = np.quantile(asked, rng.uniform(0.2, 0.995)) * rng.choice([1.0, 1.0001, 0.98])
        if (asked > bound).any() and np.ptp(asked) > 1e-9 * bound:
            scaled.append(series / bound)
    return np.array(scaled).reshape(-1, marks.shape[1])


def draw(part: Part, rate: float, rng: np.random.Generator, *, longest_ahead: int = 0) -> Sample:
    """Minutes of a part, those of an uncertain outcome more often, each weighted by one over its chance.

    The chance follows the row's recent hit rate, in which nothing of the minute itself enters; minutes with a hit are
    drawn more often. `longest_ahead` > 0 also draws how many minutes ahead is asked, evenly from 0.
    """
    hits = part.hits
    lately = _recent_rate(hits)
    doubt = np.sqrt(lately * (1 - lately)) + 0.02
    ahead = rng.integers(0, longest_ahead + 1, hits.shape, dtype=np.int32)
    at = np.arange(hits.shape[1])[None, :] + ahead
    inside = at < hits.shape[1]
    happened = np.take_along_axis(hits, np.where(inside, at, 0), axis=1)
    chance = np.clip(rate * doubt * np.where(happened, 2.0, 1.0), 0.02, 1.0) * inside
    row, minute = np.nonzero(rng.random(hits.shape) < chance)
    level = np.full(row.size, part.level, np.int32)
    asked = Questions(row.astype(np.int32), level, minute.astype(np.int32), ahead[row, minute])
    return Sample(asked, happened[row, minute], (1 / chance[row, minute]).astype(np.float32))


def _recent_rate(hits: BoolArray) -> FloatArray:
    """Share of hits before each minute, forgetting with 60 minutes; (n, T)."""
    keep = np.exp(-1 / 60.0)
    rate = np.zeros(hits.shape)
    level = np.full(len(hits), 0.02)
    for minute in range(hits.shape[1]):
        rate[:, minute] = level
        level = keep * level + (1 - keep) * hits[:, minute]
    return np.clip(rate, 0.0, 1.0)

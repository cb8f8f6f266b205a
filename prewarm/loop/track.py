"""What was forecast, kept warm and then needed, minute by minute, beside what KA-10 would have done on the same calls.

A savings figure is only believed when it is counted live on the user's own calls. So each tick writes down what it kept
warm, the next one what was needed, and both meet the keep-alive rule of ten minutes in the same row. A minute whose
demand is not known counts for neither side. Minutes and memory follow protocol A of the benchmarks: a cold instance is
held for its whole minute, waste is what was held and not used.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from prewarm.domain import BoolArray, FloatArray, Int32Array, IntArray

KEEP_ALIVE_MIN = 10
_CELLS = 4_000_000  # bound of the per-function rings: about 56 MB
_MAX_MINUTES = 1_440
_MIN_MINUTES = 60
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Outlook:
    """The forecast of the next minute per function, (n,) each: mean, and the 10 % and 90 % quantiles of the need."""

    mean: FloatArray
    low: Int32Array
    high: Int32Array


@dataclass(slots=True)
class Score:
    """Cold starts and wasted GB-seconds per function, ours and KA-10's, since the start. (n,) each."""

    cold: IntArray
    cold_ka10: IntArray
    waste_gb_s: FloatArray
    waste_ka10_gb_s: FloatArray

    @classmethod
    def zeros(cls, n: int) -> Score:
        """Nothing counted yet."""
        return cls(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n), np.zeros(n))


@dataclass(frozen=True, slots=True)
class FleetMinute:
    """One minute of the whole fleet, as the page draws it."""

    minute: int
    need: int
    mean: float
    sd: float
    warm: int
    warm_ka10: int
    cold: int
    cold_ka10: int
    waste_gb_s: float
    waste_ka10_gb_s: float
    known: int
    """Functions whose demand in this minute is known; `need` is the sum over these alone."""
    unknown: int


@dataclass(slots=True)
class Track:
    """Rings of the last `width` minutes for n functions, and the fleet's minutes of a day."""

    n: int = 0
    width: int = _MAX_MINUTES
    need: Int32Array = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    warm: Int32Array = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    mean: FloatArray = field(default_factory=lambda: np.zeros((0, 0), np.float64))
    low: Int32Array = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    high: Int32Array = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    score: Score = field(default_factory=lambda: Score.zeros(0))
    fleet: list[FleetMinute] = field(default_factory=list)
    stamp: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Which minute each column of the rings holds."""

    def resize(self, n: int) -> None:
        """Make room for functions up to `n`; what is known of the old ones is kept, newest minutes first."""
        if self.stamp.size and n <= self.need.shape[1]:
            self.n = max(self.n, n)
            return
        room = n + max(64, n // 4)
        width = int(np.clip(_CELLS // room, _MIN_MINUTES, _MAX_MINUTES))
        keep = np.sort(self.stamp)[-width:] if self.stamp.size else self.stamp
        keep = keep[keep > 0]
        for name, fill in (("need", UNKNOWN), ("warm", UNKNOWN), ("low", UNKNOWN), ("high", UNKNOWN), ("mean", np.nan)):
            old = getattr(self, name)
            new = np.full((width, room), fill, dtype=old.dtype)
            if keep.size:
                new[keep % width, : self.n] = old[keep % self.width, : self.n]
            setattr(self, name, new)
        self.stamp = np.zeros(width, np.int64)
        self.stamp[keep % width] = keep
        self.width = width
        old_score = self.score
        self.score = Score.zeros(room)
        for name in Score.__slots__:
            getattr(self.score, name)[: self.n] = getattr(old_score, name)[: self.n]
        self.n = n

    def decided(self, minute: int, warm: Int32Array, outlook: Outlook) -> None:
        """What is kept warm in `minute`, and what was forecast for it."""
        self.resize(len(warm))
        column = self._open(minute)
        n = len(warm)
        self.warm[column, :n] = warm
        self.mean[column, :n] = outlook.mean
        self.low[column, :n] = outlook.low
        self.high[column, :n] = outlook.high

    def needed(self, minute: int, concurrency: FloatArray, memory_gb: FloatArray) -> FleetMinute | None:
        """Close `minute`: (n,) mean concurrency, NaN where unknown; adds to the score and returns the fleet's row.

        None, and nothing happens, for a minute that was closed before.
        """
        if self.fleet and minute <= self.fleet[-1].minute:
            return None
        n = len(concurrency)
        self.resize(n)
        column = self._open(minute)
        known = np.isfinite(concurrency)
        used = np.where(known, concurrency, 0.0)
        need = np.where(used < 1.6e-5, 0, np.ceil(used)).astype(np.int32)
        ka10 = self.kept_by_ka10(minute)[:n]
        self.need[column, :n] = np.where(known, need, UNKNOWN)
        warm = self.warm[column, :n]
        row = self._score(known & (warm >= 0), need=need, used=used, warm=warm, ka10=ka10, memory_gb=memory_gb)
        mean = np.nan_to_num(self.mean[column, :n])
        spread = np.maximum(self.high[column, :n] - self.low[column, :n], 0) / 2.563  # 10 % to 90 % of a normal
        closed = FleetMinute(
            minute=minute,
            need=int(need.sum()),
            mean=float(mean.sum()),
            sd=float(np.sqrt((np.maximum(spread**2, mean * (mean < 1))).sum())),
            warm=int(np.maximum(warm, 0).sum()),
            warm_ka10=int(ka10.sum()),
            cold=row[0],
            cold_ka10=row[1],
            waste_gb_s=row[2],
            waste_ka10_gb_s=row[3],
            known=int(known.sum()),
            unknown=int((~known).sum()),
        )
        self.fleet.append(closed)
        del self.fleet[:-_MAX_MINUTES]
        return closed

    def kept_by_ka10(self, minute: int) -> Int32Array:
        """The largest need of the ten minutes before `minute`, (room,)."""
        columns = [m % self.width for m in range(minute - KEEP_ALIVE_MIN, minute) if self.stamp[m % self.width] == m]
        if not columns:
            return np.zeros(self.need.shape[1], np.int32)
        kept: Int32Array = np.maximum(self.need[columns].max(axis=0), 0)
        return kept

    def minutes(self, last: int, count: int) -> IntArray:
        """The recorded minutes among the `count` up to `last`, rising."""
        wanted = np.arange(last - min(count, self.width) + 1, last + 1)
        found: IntArray = wanted[self.stamp[wanted % self.width] == wanted]
        return found

    def _open(self, minute: int) -> int:
        column = minute % self.width
        if self.stamp[column] != minute:
            self.stamp[column] = minute
            for ring in (self.need, self.warm, self.low, self.high):
                ring[column] = UNKNOWN
            self.mean[column] = np.nan
        return column

    def _score(
        self,
        counted: BoolArray,
        *,
        need: Int32Array,
        used: FloatArray,
        warm: Int32Array,
        ka10: Int32Array,
        memory_gb: FloatArray,
    ) -> tuple[int, int, float, float]:
        n = len(need)
        result: list[float] = []
        sides = (
            (warm, self.score.cold, self.score.waste_gb_s),
            (ka10, self.score.cold_ka10, self.score.waste_ka10_gb_s),
        )
        for held, cold_sum, waste_sum in sides:
            cold = np.where(counted, np.maximum(need - held, 0), 0)
            waste = np.where(counted, 60 * memory_gb * np.maximum(held + cold - used, 0), 0.0)
            cold_sum[:n] += cold
            waste_sum[:n] += waste
            result += [float(cold.sum()), float(waste.sum())]
        return int(result[0]), int(result[2]), result[1], result[3]

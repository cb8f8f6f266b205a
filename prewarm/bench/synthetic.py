"""`prewarm bench calendar`, `concurrency` and `cascade`: what each part gains, on the frozen synthetic set (A3.6).

Public function traces are a day long and nearly 0/1, so these three parts can only be shown on made-up demand; every
row says so. The learned chances are asked once for the measured days and shared: the variants differ only in what is
done with them. Gain is the cost (RUM) without the part over the cost with it, on the functions that the part speaks
about, with an interval by bootstrap over those functions; the same for all functions stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S, BoolArray, FloatArray, FunctionKey, Int32Array, IntArray
from prewarm.forecast.experts.opinions import Opinions
from prewarm.sim.minute import MINUTE_S, MinuteWorkload, cold_starts
from prewarm.sim.ours import Event, Extras, asked_of, run, shipped
from prewarm.sim.policies import policy
from prewarm.traces.synth import FROZEN_DAYS, FROZEN_FUNCTIONS, FROZEN_SEED, SyntheticTrace, synthesize

DAY = 1440
WARM_UP_DAYS = 1  # of the experts' weights, not counted
MEASURED_DAYS = 2  # Friday and Saturday of the second week: a working day and a weekend day
MEASURED_FROM = 11
RESAMPLES = 2000
BASELINES = ("ka-10", "hh-4h", "clairvoyant")

Told = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """The set, its workload, the measured minutes [first, last), and the opinions from the warm-up on."""

    synthetic: SyntheticTrace
    workload: MinuteWorkload
    extras: Extras
    asked: list[Opinions]
    begin: int
    first: int
    last: int

    def costs(self, allocations: Int32Array) -> FloatArray:
        """RUM of each function over the measured minutes, (n,)."""
        part = slice(self.first, self.last)
        need, warm = self.workload.need[:, part], allocations[:, part]
        cold = cold_starts(need, warm)
        idle = np.maximum(warm + cold - self.workload.concurrency[:, part], 0.0).sum(axis=1)
        price = IDLE_COST_PER_GB_S * MINUTE_S * self.workload.memory_gb
        return np.asarray(COLD_COST * cold.sum(axis=1) + price * idle)

    def ours(self, extras: Extras) -> FloatArray:
        """Our costs with these extras."""
        return self.costs(run(self.workload, self.asked, extras, first=self.begin)[0])


def run_calendar(data_dir: Path, *, seed: int, quick: bool, plot: Path | None, progress: Told) -> BenchResult:
    """With and without what the calendar says: earlier days, and the events that people announced."""
    del data_dir, plot
    measured = _measured(seed, quick, progress)
    spoken = _rows(measured, "seasonal", "promotion", "timer", "growth")
    without = replace(measured.extras, calendar=False, events=())
    return _compared("calendar", measured, spoken, without, {"earlier days only": replace(measured.extras, events=())})


def run_concurrency(data_dir: Path, *, seed: int, quick: bool, plot: Path | None, progress: Told) -> BenchResult:
    """With levels above the first, and without: kept at the last need where an instance is worth keeping."""
    del data_dir, plot
    measured = _measured(seed, quick, progress)
    busy: BoolArray = np.any(measured.workload.need[:, measured.begin : measured.last] > 1, axis=1)
    return _compared("concurrency", measured, busy, replace(measured.extras, upper_levels=False), {})


def run_cascade(data_dir: Path, *, seed: int, quick: bool, plot: Path | None, progress: Told) -> BenchResult:
    """With and without the service graph, on the functions that others call."""
    del data_dir, plot
    measured = _measured(seed, quick, progress)
    called = {call.callee for call in measured.synthetic.graph}
    rows = np.array([key in called for key in measured.workload.keys])
    return _compared("cascade", measured, rows, replace(measured.extras, calls=()), {})


def _measured(seed: int, quick: bool, progress: Told) -> Measured:
    functions = FROZEN_FUNCTIONS // 5 if quick else FROZEN_FUNCTIONS
    synthetic = synthesize(seed or FROZEN_SEED, functions, days=FROZEN_DAYS)
    workload = synthetic_workload(synthetic)
    first = MEASURED_FROM * DAY
    begin, last = first - WARM_UP_DAYS * DAY, first + MEASURED_DAYS * DAY
    extras = Extras(calls=synthetic.graph, events=announced(synthetic), epoch_minute=int(synthetic.trace.start_minute))
    asked = asked_of(workload, shipped(), extras, lambda share: progress(share, "asking the models"), (begin, last))
    return Measured(synthetic, workload, extras, asked, begin, first, last)


def synthetic_workload(synthetic: SyntheticTrace) -> MinuteWorkload:
    """The set at minute grain, its needs from the derived concurrency."""
    trace = synthetic.trace
    return MinuteWorkload(
        trace.keys,
        np.nan_to_num(trace.dense_concurrency()).astype(np.float64),
        trace.need(rule="concurrency"),
        trace.memory_mb / 1000.0,
        trace.start_minute,
    )


def announced(synthetic: SyntheticTrace) -> tuple[Event, ...]:
    """The announcements as a policy hears them: the expected peak over what an instance serves in a minute."""
    rows = {FunctionKey(key): row for row, key in enumerate(synthetic.trace.keys)}
    start, duration_ms = synthetic.trace.start_minute, synthetic.trace.duration_ms
    events = []
    for entry in synthetic.calendar:
        row = rows[entry.function]
        busy = entry.peak_per_minute * float(duration_ms[row]) / 60_000.0
        events.append(
            Event(
                entry.name,
                np.array([row], np.int32),
                entry.start_minute - start,
                entry.end_minute - start,
                entry.announced_minute - start,
                max(1, int(np.ceil(busy))),
            )
        )
    return tuple(events)


def _compared(
    name: str, measured: Measured, spoken: BoolArray, without: Extras, more: dict[str, Extras]
) -> BenchResult:
    costs = {"prewarm": measured.ours(measured.extras), "prewarm without the part": measured.ours(without)}
    costs |= {label: measured.ours(extras) for label, extras in more.items()}
    for baseline in BASELINES:
        costs[baseline] = measured.costs(policy(baseline).allocations(measured.workload))
    rows = [_row(label, cost, costs["prewarm"], spoken) for label, cost in costs.items()]
    rng = np.random.default_rng(0)
    gains = bootstrap_gain(costs["prewarm without the part"][spoken], costs["prewarm"][spoken], rng)
    low, gain, high = gains
    rows.append({"interval of": "gain", "2.5 %": low, "estimate": gain, "97.5 %": high, "functions": int(spoken.sum())})
    goal = Goal("gain", 1.05, gain, gain >= 1.05 and low > 1.0, "higher")
    return BenchResult(
        name,
        measured.synthetic.seed,
        {"synthetic": measured.synthetic.trace.sha256},
        installed_versions(("prewarm-fleet", "lightgbm", "numpy")),
        rows,
        [goal],
    )


def _row(label: str, cost: FloatArray, ours: FloatArray, spoken: BoolArray) -> Row:
    return {
        "policy (synthetic set)": label,
        "RUM of these functions": float(cost[spoken].sum()),
        "over ours": float(cost[spoken].sum() / ours[spoken].sum()),
        "RUM of all": float(cost.sum()),
        "over ours, all": float(cost.sum() / ours.sum()),
    }


def bootstrap_gain(without: FloatArray, with_part: FloatArray, rng: np.random.Generator) -> tuple[float, float, float]:
    """Ratio of total costs, resampled over functions: 2.5 %, the estimate, 97.5 %."""
    draws: IntArray = rng.integers(0, len(without), (RESAMPLES, len(without)))
    ratios = without[draws].sum(axis=1) / with_part[draws].sum(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(without.sum() / with_part.sum()), float(high)


def _rows(measured: Measured, *shapes: str) -> BoolArray:
    return np.array([shape in shapes for shape in measured.synthetic.shapes])

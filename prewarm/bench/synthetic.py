"""`prewarm bench calendar`, `concurrency` and `cascade`: what each part gains, on the frozen synthetic set (A3.6).

Public function traces are a day long and nearly 0/1, so these three parts can only be shown on made-up demand; every
row says so. The learned chances are asked once for the measured days and shared: the variants differ only in what is
done with them. Gain is the cost (RUM) without the part over the cost with it, on the functions that the part speaks
about, with an interval by bootstrap over those functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S, BoolArray, FloatArray, FunctionKey, Int32Array, IntArray
from prewarm.forecast.experts.opinions import Opinions, shipped_model
from prewarm.sim.minute import MINUTE_S, MinuteWorkload, cold_starts
from prewarm.sim.ours import Event, Extras, asked_of, run
from prewarm.sim.policies import policy
from prewarm.traces.synth import FROZEN_DAYS, FROZEN_FUNCTIONS, FROZEN_SEED, SyntheticTrace, synthesize

DAY = 1440
WARM_UP_DAYS = 1  # in which the experts earn their weights, not counted
MEASURED_FROM = 11  # Friday of the second week
BELIEVED_MIN = 3  # minutes of an announced event for which the announcement counts; then what is seen is believed
MOST_PROMOTED = 80  # instances, nearly all promotions
MOST_LEVELS = 16  # each level is a question a minute: functions that need hundreds would take the whole run
HINT_SPREAD = 0.3  # log sd of announced peaks, as the generator says of its announcers
RESAMPLES = 2000
BASELINES = ("ka-10", "clairvoyant")

Told = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """The set, the replayed functions, the measured minutes [first, last), and the opinions from the warm-up on.

    spoken: (n,) the replayed functions that the part speaks about; the others are only their callers.
    """

    synthetic: SyntheticTrace
    workload: MinuteWorkload
    extras: Extras
    asked: list[Opinions]
    spoken: BoolArray
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
    measured = _measured(seed, quick, progress, _with_a_calendar, days=1)
    without = replace(measured.extras, calendar=False, events=())
    result = _compared("calendar", measured, without, {"earlier days only": replace(measured.extras, events=())})
    result.rows.extend(_by_shape(measured, without))
    return result


def _by_shape(measured: Measured, without: Extras) -> list[Row]:
    """The gain of each shape alone, those included that the part is not about."""
    shape_of = dict(zip(measured.synthetic.trace.keys, measured.synthetic.shapes, strict=True))
    shapes = np.array([shape_of[key] for key in measured.workload.keys])
    ours, plain = measured.ours(measured.extras), measured.ours(without)
    return [
        {"shape": shape, "functions": int((shapes == shape).sum()), "gain": float(plain[at].sum() / ours[at].sum())}
        for shape in sorted(set(shapes.tolist()))
        if (at := shapes == shape).any()
    ]


def run_concurrency(data_dir: Path, *, seed: int, quick: bool, plot: Path | None, progress: Told) -> BenchResult:
    """With levels above the first, and without: kept at the last need where an instance is worth keeping."""
    del data_dir, plot
    measured = _measured(seed, quick, progress, _busy, days=1)
    return _compared("concurrency", measured, replace(measured.extras, upper_levels=False), {})


def run_cascade(data_dir: Path, *, seed: int, quick: bool, plot: Path | None, progress: Told) -> BenchResult:
    """With and without the service graph, on the functions that others call."""
    del data_dir, plot
    measured = _measured(seed, quick, progress, _in_the_graph, days=1)
    return _compared("cascade", measured, replace(measured.extras, calls=()), {})


Chosen = tuple[BoolArray, BoolArray]
"""Which functions of the set are replayed, and which of all functions the part speaks about, (n,) each."""


def _with_a_calendar(synthetic: SyntheticTrace, workload: MinuteWorkload) -> Chosen:
    """Promotions, and timers that come six times a day or less; seasons and growth are replayed and shown beside."""
    rare = (workload.need > 0).sum(axis=1) <= 6 * FROZEN_DAYS
    small = workload.need[:, : MEASURED_FROM * DAY].max(axis=1) <= MOST_PROMOTED
    shapes = np.array(synthetic.shapes)
    spoken = small & ((shapes == "promotion") | ((shapes == "timer") & rare))
    return spoken | (small & np.isin(shapes, ("seasonal", "growth"))), spoken


def _busy(synthetic: SyntheticTrace, workload: MinuteWorkload) -> Chosen:
    """Functions that needed a second instance before the measured days, and no more than 16."""
    del synthetic
    highest = workload.need[:, : MEASURED_FROM * DAY].max(axis=1)
    spoken: BoolArray = (highest > 1) & (highest <= MOST_LEVELS)
    return spoken, spoken


def _in_the_graph(synthetic: SyntheticTrace, workload: MinuteWorkload) -> Chosen:
    """The called functions, replayed with their callers."""
    called = {call.callee for call in synthetic.graph}
    calling = {call.caller for call in synthetic.graph}
    spoken = np.array([key in called for key in workload.keys])
    return spoken | np.array([key in calling for key in workload.keys]), spoken


def _measured(
    seed: int, quick: bool, progress: Told, choose: Callable[[SyntheticTrace, MinuteWorkload], Chosen], *, days: int
) -> Measured:
    synthetic = synthesize(seed or FROZEN_SEED, FROZEN_FUNCTIONS // 5 if quick else FROZEN_FUNCTIONS, days=FROZEN_DAYS)
    everybody = synthetic_workload(synthetic)
    replayed, spoken = choose(synthetic, everybody)
    workload = everybody.select(np.flatnonzero(replayed))
    first = MEASURED_FROM * DAY
    span = (first - WARM_UP_DAYS * DAY, first + days * DAY)
    events = announced(synthetic, workload.keys)
    extras = Extras(calls=synthetic.graph, events=events, epoch_minute=int(synthetic.trace.start_minute))
    asked = asked_of(workload, shipped_model(), extras, lambda share: progress(share, "asking the models"), span)
    return Measured(synthetic, workload, extras, asked, spoken[replayed], span[0], first, span[1])


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


def announced(synthetic: SyntheticTrace, keys: Sequence[str]) -> tuple[Event, ...]:
    """The announcements about `keys` as a policy hears them: the expected peak over what an instance serves."""
    rows = {FunctionKey(key): row for row, key in enumerate(keys)}
    lasting_ms = dict(zip(synthetic.trace.keys, synthetic.trace.duration_ms.tolist(), strict=True))
    start = synthetic.trace.start_minute
    events = []
    for entry in synthetic.calendar:
        row = rows.get(entry.function)
        if row is None:
            continue
        busy = entry.peak_per_minute * lasting_ms[entry.function] / 60_000.0
        events.append(
            Event(
                entry.name,
                np.array([row], np.int32),
                entry.start_minute - start,
                min(entry.end_minute, entry.start_minute + BELIEVED_MIN) - start,
                entry.announced_minute - start,
                max(1, int(np.ceil(busy))),
                spread=HINT_SPREAD,
            )
        )
    return tuple(events)


def _compared(name: str, measured: Measured, without: Extras, more: dict[str, Extras]) -> BenchResult:
    spoken = measured.spoken
    costs = {"prewarm": measured.ours(measured.extras), "prewarm without the part": measured.ours(without)}
    costs |= {label: measured.ours(extras) for label, extras in more.items()}
    for baseline in BASELINES:
        costs[baseline] = measured.costs(policy(baseline).allocations(measured.workload))
    costs["hh-4h, without ARIMA"] = measured.costs(_hybrid(measured))
    ours = float(costs["prewarm"][spoken].sum())
    rows: list[Row] = [
        {
            "policy (synthetic set)": label,
            "RUM": float(cost[spoken].sum()),
            "over ours": float(cost[spoken].sum()) / ours,
        }
        for label, cost in costs.items()
    ]
    rng = np.random.default_rng(0)
    low, gain, high = bootstrap_gain(costs["prewarm without the part"][spoken], costs["prewarm"][spoken], rng)
    rows.append({"interval of": "gain", "2.5 %": low, "estimate": gain, "97.5 %": high, "functions": int(spoken.sum())})
    return BenchResult(
        name,
        measured.synthetic.seed,
        {"synthetic": measured.synthetic.trace.sha256},
        installed_versions(("prewarm-fleet", "lightgbm", "numpy")),
        rows,
        [Goal("gain", 1.05, gain, gain >= 1.05 and low > 1.0, "higher")],
    )


def _hybrid(measured: Measured) -> Int32Array:
    """The hybrid histogram of four hours over the measured days; fits of its ARIMA branch would take hours here."""
    from prewarm.forecast.local.hybrid import HybridHistogram

    kept = np.zeros_like(measured.workload.need)
    part = slice(measured.begin, measured.last)
    kept[:, part] = HybridHistogram(240, use_arima=False).allocations(measured.workload.need[:, part])
    return kept


def bootstrap_gain(without: FloatArray, with_part: FloatArray, rng: np.random.Generator) -> tuple[float, float, float]:
    """Ratio of total costs, resampled over functions: 2.5 %, the estimate, 97.5 %."""
    draws: IntArray = rng.integers(0, len(without), (RESAMPLES, len(without)))
    ratios = without[draws].sum(axis=1) / with_part[draws].sum(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(without.sum() / with_part.sum()), float(high)

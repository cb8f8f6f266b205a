"""Replay of a trace through policies: the same work for each, decided only from what was known before.

Returns plain rows, which prewarm.sim.report prints, draws or writes as JSON. With an allocations folder, what each
policy kept warm is written for anyone to recount.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from prewarm.domain import FloatArray, InputError, Int32Array
from prewarm.sim.minute import MinuteWorkload, Score, Tally
from prewarm.sim.policies import check_names, policy
from prewarm.sim.requests import TIMEOUT_S, ClusterSettings, Outcome, RequestFunction
from prewarm.sim.startup import LogNormalStart
from prewarm.sim.workloads import InstanceKind, minute_workload, request_functions
from prewarm.traces.model import Trace

Mode = Literal["minute", "request"]
Told = Callable[[float, str], None]

START = LogNormalStart.of_mean_sd(2.3, 1.15)  # start-up time of the latency protocol (benchmarks A3.3)
CONCURRENCY_LIMIT = 100  # Knative's default, kept by 93 % of the applications at one provider
SETTLED_S = 1e-6  # waiting of less is rounding
REFERENCE = "ka-10"
PART_CELLS = 150_000_000  # function-minutes held at a time, about 16 bytes each
COUPLED = "faascache-"  # policies in which functions compete


@dataclass(frozen=True, slots=True)
class Waits:
    """Exact percentiles of the time between call and start of service, over all calls, in ms; time-outs count whole."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """One policy's row; `wait_ms` only at request grain. `allocations` (n, T) only at minute grain."""

    name: str
    score: Score
    wait_ms: Waits | None = None
    allocations: Int32Array | None = None


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How to replay. `cold_weight` multiplies the price of a cold start in the policies that weigh it, never in RUM."""

    mode: Mode = "minute"
    cold_weight: float = 1.0
    seed: int = 0
    allocations: Path | None = None

    def __post_init__(self) -> None:
        if not 0 < self.cold_weight < float("inf"):
            raise InputError(f"cold weight: must be above 0, is {self.cold_weight}")
        if self.seed < 0:
            raise InputError(f"seed: must be 0 or more, is {self.seed}")
        if self.mode == "request" and self.allocations is not None:
            raise InputError("allocations: are decided by the minute; leave out --mode request")


@dataclass(frozen=True, slots=True)
class Replay:
    """What was replayed and what came of it.

    workload: the functions of the trace, or the first part of them where they were replayed in parts.
    """

    trace: Trace
    workload: MinuteWorkload
    mode: Mode
    policies: tuple[PolicyResult, ...]
    unknown_minutes: int


def replay(trace: Trace, names: Sequence[str], options: ReplayOptions, *, progress: Told | None = None) -> Replay:
    """Run every policy in `names` over the trace; `progress` is told the share done and the policy at work."""
    check_names(names)
    if options.mode == "minute":
        return _by_minute(trace, names, options, progress)
    workload = minute_workload(trace)
    results = _by_request(trace, workload, names, options, _Steps(len(names), progress))
    return Replay(trace, workload, "request", tuple(results), _unknown(workload))


class _Steps:
    """Turns the progress of one step after another into progress of the whole."""

    def __init__(self, steps: int, told: Told | None) -> None:
        self._steps = max(1, steps)
        self._told = told

    def of(self, index: int, name: str) -> Callable[[float], None] | None:
        """What step number `index` may tell its own share to."""
        told = self._told
        if told is None:
            return None
        return lambda share: told((index + share) / self._steps, name)


def _by_minute(trace: Trace, names: Sequence[str], options: ReplayOptions, told: Told | None) -> Replay:
    """Part by part where the trace is large; policies then see some functions at a time, and a cache cannot."""
    parts = list(trace.row_chunks(PART_CELLS))
    coupled = [name for name in names if name.startswith(COUPLED)]
    if len(parts) > 1 and coupled:
        raise InputError(f"policy {coupled[0]!r}: needs all {trace.functions} functions at once, which are too many")
    chosen = [policy(name, cold_weight=options.cold_weight) for name in names]
    steps = _Steps(len(parts) * len(names), told)
    tallies = [Tally() for _ in names]
    shown: list[tuple[MinuteWorkload, list[Int32Array]]] = []
    unknown = 0
    for part, rows in enumerate(parts):
        workload = minute_workload(trace.select(np.arange(rows.start, rows.stop)) if len(parts) > 1 else trace)
        unknown += _unknown(workload)
        kept = []
        for index, each in enumerate(chosen):
            warm = each.allocations(workload, progress=steps.of(part * len(names) + index, each.name))
            tallies[index].add(workload, warm)
            if options.allocations is not None:
                write_allocations(options.allocations / f"{each.name}.csv", trace.labels[rows], warm, append=part > 0)
            kept.append(warm)
        shown = shown or [(workload, kept)]
    rows_of = zip(names, tallies, shown[0][1], strict=True)
    results = tuple(PolicyResult(name, tally.score(), allocations=warm) for name, tally, warm in rows_of)
    return Replay(trace, shown[0][0], "minute", results, unknown)


def _unknown(workload: MinuteWorkload) -> int:
    return 0 if workload.unknown is None else int(workload.unknown.sum())


def write_allocations(path: Path, labels: Sequence[str], warm: Int32Array, *, append: bool = False) -> None:
    """`app_id,0,1,...`: instances kept warm in each minute, as decided before it; labels as they stand in the trace."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if append else "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            if not append:
                rows.writerow(["app_id", *range(warm.shape[1])])
            rows.writerows([label, *row.tolist()] for label, row in zip(labels, warm, strict=True))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error


def _by_request(
    trace: Trace, workload: MinuteWorkload, names: Sequence[str], options: ReplayOptions, steps: _Steps
) -> list[PolicyResult]:
    from prewarm.sim.cluster import simulate
    from prewarm.sim.request_policies import scalers

    functions = request_functions(
        trace, InstanceKind(CONCURRENCY_LIMIT, START), rng=np.random.default_rng([options.seed, 1])
    )
    settings = ClusterSettings(horizon_s=workload.minutes * 60.0)
    outcomes: dict[str, list[Outcome]] = {}
    for index, name in enumerate(dict.fromkeys([*names, REFERENCE])):
        told = steps.of(min(index, len(names) - 1), name)
        chosen = scalers(name, functions, workload, cold_weight=options.cold_weight)
        outcomes[name] = []
        for row, (function, scaler) in enumerate(zip(functions, chosen, strict=True)):
            rng = np.random.default_rng([options.seed, 2, row])
            outcomes[name] += simulate([function], [scaler], settings, rng=rng)
            if told is not None:
                told((row + 1) / len(functions))
    reference = waste_gb_s(functions, outcomes[REFERENCE])
    return [_request_result(name, functions, outcomes[name], reference) for name in names]


def _request_result(
    name: str, functions: Sequence[RequestFunction], outcomes: Sequence[Outcome], reference_gb_s: float
) -> PolicyResult:
    calls = np.array([len(each.wait_s) for each in outcomes])
    cold = np.array([int((each.wait_s > SETTLED_S).sum()) for each in outcomes])
    called = calls > 0
    rates = cold[called] / calls[called]
    quantiles = [float(np.quantile(rates, level)) if rates.size else None for level in (0.5, 0.75, 0.9)]
    waste = waste_gb_s(functions, outcomes)
    row = Score(
        cold=int(cold.sum()),
        needed=int(calls.sum()),
        cold_rate=float(cold.sum() / calls.sum()) if called.any() else None,
        cold_rate_p50=quantiles[0],
        cold_rate_p75=quantiles[1],
        cold_rate_p90=quantiles[2],
        always_cold=float((rates == 1.0).mean()) if rates.size else None,
        waste_gb_s=waste,
        waste_minutes=sum(each.held_s - each.used_s for each in outcomes) / 60.0,
        waste_vs_ka10=waste / reference_gb_s if reference_gb_s > 0 else None,
        rum=None,
    )
    return PolicyResult(name, row, wait_ms=waits([each.wait_s for each in outcomes]))


def waste_gb_s(functions: Sequence[RequestFunction], outcomes: Sequence[Outcome]) -> float:
    """Memory held less memory used by running work (by share of slots), GB-seconds."""
    pairs = zip(functions, outcomes, strict=True)
    return float(sum(each.memory_gb * (outcome.held_s - outcome.used_s) for each, outcome in pairs))


def waits(waits_s: Sequence[FloatArray], *, timeout_s: float = TIMEOUT_S) -> Waits | None:
    """Exact percentiles over all calls (NaN, the run ended first, left out); None without calls."""
    together = np.concatenate(waits_s) if waits_s else np.zeros(0)
    together = np.minimum(together[~np.isnan(together)], timeout_s) * 1000.0
    if not together.size:
        return None
    p50, p95, p99 = np.quantile(together, [0.5, 0.95, 0.99])
    return Waits(float(p50), float(p95), float(p99))

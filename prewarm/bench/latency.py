"""`prewarm bench latency`: how long do calls wait that would have been cold, when a promotion begins (benchmarks A3.3).

Everything is simulated. Cold calls are those that find no free slot under Knative's autoscaler with its published
defaults; the same calls are then timed under our rule. Announced and repeating promotions have goals; an unannounced
one is reported beside its floor, since no rule can use instances before they have started.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prewarm.bench.latency_cases import KNOWN, CaseRuns, PromotionCase, run_case
from prewarm.bench.latency_fleet import APPS, MATRIX, fleet_rows, read_fleet
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import FloatArray, InputError
from prewarm.sim.promotion import Absorption, absorption
from prewarm.sim.requests import TIMEOUT_S
from prewarm.sim.startup import ConstantStart, LogNormalStart, StartLaw, measured_by_language

BASE = ("LogNormal 2.3 s, cv 0.5", LogNormalStart.of_mean_sd(2.3, 1.15))
OTHERS: tuple[tuple[str, StartLaw], ...] = (
    ("constant 0.808 s", ConstantStart(0.808)),
    ("LogNormal mean 3.24 s, sd 7.10 s", LogNormalStart.of_mean_sd(3.24, 7.10)),
    ("LogNormal mean 3.15 s, P99 4.18 s", LogNormalStart.of_mean_p99(3.15, 4.18)),
)
INIT_TIMES = "lambda-perf/init_duration_ms.csv"
RAMPS_S = (0.0, 10.0, 60.0)
LIMITS = (10, 100)
START_RATES = (2.0, 20.0)
PROMOTIONS = len(RAMPS_S) * len(LIMITS) * len(START_RATES)
FLEET_POLICIES = ("ka-10", "hh-4h", "prewarm")

Progress = Callable[..., None]
Percentiles = dict[str, float | None]


def run(
    data_dir: Path,
    *,
    seed: int,
    quick: bool = False,
    plot: Path | None = None,
    progress: Progress | None = None,
    fleet_policies: Sequence[str] = FLEET_POLICIES,
) -> BenchResult:
    """Every promotion, every start-up law, and set A; `quick` leaves out the other laws by language and set A."""
    del plot  # the figures of this benchmark are its table
    files = [data_dir / name for name in (INIT_TIMES, MATRIX, APPS)]
    for path in files:
        if not path.is_file():
            raise InputError(f"{path}: is missing; --data or PREWARM_TRACES must name the public traces")
    laws = _laws(data_dir, quick=quick)
    told = _Told(progress, PROMOTIONS + len(laws) + (0 if quick else 2 * (1 + len(fleet_policies))))
    cases = [judge(run_case(case, seed=seed)) for case in _told_cases(told)]
    rows = [row for case in cases for row in _promotion_rows(case)]
    for name, law in laws:
        told(f"start-up law: {name}")
        rows.append(_law_row(name, judge(run_case(PromotionCase(0.0, 10, 20.0, law), seed=seed))))
    if not quick:
        fleet = read_fleet(data_dir)
        for law_named in (BASE, OTHERS[0]):
            rows += fleet_rows(fleet, fleet_policies, law_named, seed=seed, told=told)
    sums = {path.name: _sha256(path) for path in files}
    versions = installed_versions(["prewarm-fleet", "numpy", "numba"])
    return BenchResult("latency", seed, sums, versions, rows, _goals(cases))


class _Told:
    """Counts what is done against what there is to do."""

    def __init__(self, progress: Progress | None, everything: int) -> None:
        self._progress = progress
        self._done = 0
        self._all = everything

    def __call__(self, doing: str) -> None:
        if self._progress is not None:
            self._progress(self._done / self._all, doing)
        self._done += 1


def _told_cases(told: _Told) -> Iterator[PromotionCase]:
    for limit in LIMITS:
        for ramp_s in RAMPS_S:
            for starts_per_s in START_RATES:
                told(f"promotion, ramp {ramp_s:.0f} s, limit {limit}, {starts_per_s:.0f} starts/s")
                yield PromotionCase(ramp_s, limit, starts_per_s, BASE[1])


def _laws(data_dir: Path, *, quick: bool) -> list[tuple[str, StartLaw]]:
    by_language = {} if quick else measured_by_language(data_dir / INIT_TIMES)
    return [*OTHERS, *((f"init times, {language}", law) for language, law in by_language.items())]


@dataclass(frozen=True, slots=True)
class Judged:
    """What is kept of a case: percentiles of the cold calls' waiting and absorption by run; the floor's percentiles."""

    case: PromotionCase
    cold_calls: int
    waited: dict[str, Percentiles]
    absorbed: dict[str, Absorption]
    most_instances: dict[str, int]
    instance_s: dict[str, float]
    floor: Percentiles | None


def judge(found: CaseRuns) -> Judged:
    """Reduce a case's runs to the figures of the table."""
    promotion = found.case.promotion
    return Judged(
        found.case,
        int(found.cold.sum()),
        {name: percentiles(found.cold_path_ms(name)) for name in found.runs},
        {
            name: absorption(promotion, found.arrival, outcome.wait_s, timeout_s=TIMEOUT_S)
            for name, outcome in found.runs.items()
        },
        {name: int(outcome.timeline[:, 1].max()) for name, outcome in found.runs.items()},
        {name: outcome.held_s for name, outcome in found.runs.items()},
        None if found.floor_s is None else percentiles(1000.0 * found.floor_s[found.cold]),
    )


def percentiles(waited_ms: FloatArray) -> Percentiles:
    """Exact percentiles; None where no call was cold."""
    levels = (50, 95, 99)
    return {f"p{level}_ms": float(np.quantile(waited_ms, level / 100)) if waited_ms.size else None for level in levels}


def _promotion_rows(judged: Judged) -> list[Row]:
    """A row for each run, and one for the floor of the unannounced."""
    what = judged.case
    columns: Row = {
        "ramp_s": what.ramp_s,
        "limit": what.concurrency_limit,
        "starts_per_s": what.starts_per_s,
        "cold calls of kpa": judged.cold_calls,
    }
    rows: list[Row] = []
    for name, absorbed in judged.absorbed.items():
        figures: Row = {
            "absorb_s": absorbed.absorb_s,
            "fluctuation %": None if absorbed.fluctuation is None else 100.0 * absorbed.fluctuation,
            "success %": 100.0 * absorbed.success,
            "most instances": judged.most_instances[name],
            "instance_s": judged.instance_s[name],
        }
        rows.append({"promotion": name, **columns, **judged.waited[name], **figures})
    if judged.floor is not None:
        blank = dict.fromkeys(("absorb_s", "fluctuation %", "success %", "most instances", "instance_s"))
        rows.append({"promotion": "floor, unannounced", **columns, **judged.floor, **blank})
    return rows


def _law_row(name: str, judged: Judged) -> Row:
    """One start-up law: step, limit 10, 20 starts a second."""
    row: Row = {"start-up law": name, "cold calls of kpa": judged.cold_calls}
    for run_name in ("kpa", *KNOWN):
        row |= {f"{run_name} {level}": judged.waited[run_name][level] for level in ("p95_ms", "p99_ms")}
    row["floor p99_ms"] = judged.floor["p99_ms"] if judged.floor is not None else None
    return row


def _goals(cases: Sequence[Judged]) -> list[Goal]:
    """Latency of the promotions with limit 10, worst case; absorption of the step, worst over limits and rates."""
    known = ("announced", "repeating")
    waited = [each.waited[name] for each in cases if each.case.concurrency_limit == 10 for name in known]
    steps = [each for each in cases if each.case.ramp_s == 0]
    told = [each.absorbed[name] for each in steps for name in known]
    untold = [each.absorbed["unannounced"] for each in steps if each.case.starts_per_s == 20.0]
    return [
        Goal.at_most("p95_ms", 250.0, _worst([each["p95_ms"] for each in waited])),
        Goal.at_most("p99_ms", 300.0, _worst([each["p99_ms"] for each in waited])),
        Goal.at_most("absorb_s", 5.0, _worst([each.absorb_s for each in told])),
        Goal.at_most("fluctuation", 0.05, _worst([each.fluctuation for each in told])),
        Goal.at_most("absorb_unannounced_s", 20.0, _worst([each.absorb_s for each in untold])),
        Goal.at_most("fluctuation_unannounced", 0.10, _worst([each.fluctuation for each in untold])),
    ]


def _worst(values: Sequence[float | None]) -> float | None:
    """The largest; None where one of them could not be had."""
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

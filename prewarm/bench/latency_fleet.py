"""Cold-path latency on the hundred applications (set A), in which counts per minute are spread evenly at random.

Calls are the mean concurrency over the mean duration, which the table of applications gives by daily invocations.
Policies that decide by the minute are floors beneath Knative's rule, the way the service acts on a cluster. Reported
without a goal (benchmarks A3.3). Nothing is fitted here.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prewarm.bench.result import Row
from prewarm.domain import FloatArray
from prewarm.sim.cluster import simulate
from prewarm.sim.replay import CONCURRENCY_LIMIT, SETTLED_S, waste_gb_s
from prewarm.sim.request_policies import scalers
from prewarm.sim.requests import TIMEOUT_S, ClusterSettings, Outcome, RequestFunction
from prewarm.sim.startup import StartLaw
from prewarm.sim.workloads import calls_of_concurrency, minute_workload, spread
from prewarm.traces.formats.concurrency import read_concurrency
from prewarm.traces.model import Trace

MATRIX = "femux-azure2019/knative100_avg_concurrency.csv"
APPS = "femux-azure2019/knative100_apps.csv"


@dataclass(frozen=True, slots=True)
class Fleet:
    """The trace, its calls per minute (n, T) and mean durations (n,) in s."""

    trace: Trace
    calls: FloatArray
    lasting_s: FloatArray

    def functions(self, start: StartLaw, *, seed: int) -> list[RequestFunction]:
        """Requests of every application, the same for every start-up law."""
        made = []
        for row, stream in enumerate(np.random.default_rng([seed, 11]).spawn(self.trace.functions)):
            arrival = spread(self.calls[row], stream)
            service = np.full(len(arrival), self.lasting_s[row])
            memory_gb = float(self.trace.memory_mb[row]) / 1000.0
            made.append(RequestFunction(self.trace.keys[row], arrival, service, CONCURRENCY_LIMIT, memory_gb, start))
        return made


def read_fleet(data_dir: Path) -> Fleet:
    """The hundred applications in the folder of the public traces."""
    trace = read_concurrency(data_dir / MATRIX, data_dir / APPS)
    busy = trace.dense_concurrency().astype(np.float64)
    daily = _daily_invocations(data_dir / APPS)
    invocations = np.array([daily[label] for label in trace.labels])
    lasting_s = np.maximum(60.0 * busy.sum(axis=1) / np.maximum(invocations, 1.0), 1e-3)
    return Fleet(trace, calls_of_concurrency(busy, lasting_s), lasting_s)


def fleet_rows(
    fleet: Fleet, names: Sequence[str], law: tuple[str, StartLaw], *, seed: int, told: Callable[[str], None]
) -> list[Row]:
    """A row for each policy: waiting of the calls that are cold under Knative's rule, and the waste in both."""
    functions = fleet.functions(law[1], seed=seed)
    workload = minute_workload(fleet.trace)
    reference: list[Outcome] = []
    rows: list[Row] = []
    for name in ("kpa", *names):
        told(f"set A, {name}, {law[0]}")
        outcomes: list[Outcome] = []
        settings = ClusterSettings(workload.minutes * 60.0)
        for row, (function, scaler) in enumerate(zip(functions, scalers(name, functions, workload), strict=True)):
            outcomes += simulate([function], [scaler], settings, rng=np.random.default_rng([seed, 12, row]))
        reference = reference or outcomes
        waited = _cold_path_ms(reference, outcomes)
        rows.append(
            {
                "set A": name,
                "start": law[0],
                "cold calls of kpa": len(waited),
                **{f"p{level}_ms": float(np.quantile(waited, level / 100)) for level in (50, 95, 99)},
                "still waiting %": 100.0 * float((waited > 1000.0 * SETTLED_S).mean()),
                "waste_gb_s": waste_gb_s(functions, outcomes),
            }
        )
    return rows


def _cold_path_ms(reference: Sequence[Outcome], outcomes: Sequence[Outcome]) -> FloatArray:
    parts = [ours.wait_s[kpa.wait_s > SETTLED_S] for kpa, ours in zip(reference, outcomes, strict=True)]
    together = np.concatenate(parts)
    waited: FloatArray = 1000.0 * np.minimum(together[~np.isnan(together)], TIMEOUT_S)
    return waited


def _daily_invocations(path: Path) -> dict[str, float]:
    with path.open(newline="", encoding="utf-8") as lines:
        return {row["app_id"]: float(row["NumInvocations"]) for row in csv.DictReader(lines)}

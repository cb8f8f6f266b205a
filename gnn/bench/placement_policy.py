"""`prewarm bench placement-policy`: the published cluster, every rule on the same runs, the bounds and the goals.

Everything is simulated, so no figure stands beside a real cluster's without saying so; the published ones are printed
for the reader, not compared. The load of the second part is the one at which the kube-scheduler's default rule fails
3.2 % of the batch and training pods. The goals are those of the shipped policy by itself; without one they are missed.
Beside it stand, as rows, the same under its guard, which hands over to the tuned rule for good where it sees another
world than that of its training, and its teacher, a rule led by a room plan made by hand.

Each run's reading is kept in the user's cache folder, so a command that was stopped goes on where it was; the table
says how many processor seconds all runs took when they were made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnn.bench.guarded import guarded
from gnn.mix.expected.chances import cache_folder
from gnn.published.bound.fill import demand_of, most_allocated
from gnn.published.bound.queueing import bare_p99_ms, p99_ms
from gnn.published.kernel.layout import TIERS
from gnn.published.kernel.replicas import SERVICE_S, replicas_for
from gnn.published.measure.contest import Contender, Fresh, Reading, Readings, paired, pooled
from gnn.published.measure.kept import Kept
from gnn.published.measure.load import StatedLoad, stated_load
from gnn.published.policy.shipped import learned, teacher
from gnn.published.rules.named import Rule, baselines, default_rule, ours, tuned
from gnn.published.world.draw import Regime, draw_world
from gnn.published.world.fleet import INSIDE_S
from gnn.published.world.web import REPLICA_CPU, REPLICA_GB
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import FloatArray, IntArray

LOADS = (0.75, 0.85, 0.95)
STEP_LOAD = 0.75
_SPARE = 1
PUBLISHED_UTILISATION, PUBLISHED_P99_MS = 0.683, 128.0
_STEPPED = (default_rule().name, ours().name, tuned().name, pooled().name)
"""Whose convergence is shown."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which rules, and which seeds: of calls and backlog, of the failure runs, and of the step run."""

    rules: tuple[Rule, ...]
    seeds: tuple[int, ...]
    failure_seeds: tuple[int, ...]
    step_seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """What one contender did, by seed: allocated share of the backlog, failed share and P99 (ms) at the stated load."""

    utilisation: FloatArray
    failed: FloatArray
    p99_ms: FloatArray


def run(
    data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Callable[..., None]
) -> BenchResult:
    """All rules on ten seeds; `quick` takes three rules, two seeds (six for failures) and the stated load only."""
    del data_dir, plot
    loads = () if quick else LOADS
    readings = Readings(Kept(cache_folder() / "placement-policy.jsonl"))
    return compare(
        _plan(seed, quick),
        candidate=learned(),
        others=[one for one in (teacher(), guarded()) if one is not None],
        loads=loads,
        seed=seed,
        progress=progress,
        readings=readings,
    )


def _plan(seed: int, quick: bool) -> Plan:
    rules = (default_rule(), ours(), tuned()) if quick else baselines()
    counts = (2, 6, 1) if quick else (10, 20, 10)
    return Plan(rules, *(tuple(range(seed, seed + count)) for count in counts))


def compare(
    plan: Plan,
    *,
    candidate: Contender | None,
    others: Sequence[Contender] = (),
    loads: Sequence[float],
    seed: int,
    progress: Callable[..., None],
    readings: Readings | None = None,
) -> BenchResult:
    """Every rule, those who are no rule (`others`) and, where there is one, the learned policy (`candidate`), against
    the bounds and the goals.
    """
    readings = readings or Readings(Kept(None))
    progress(0.0, "the stated load")
    stated = stated_load(default_rule(), plan.failure_seeds)
    rules = [Contender(rule.name, rule) for rule in plan.rules]
    everybody = [*rules, *others, *([candidate] if candidate else []), pooled()]
    found: dict[str, Figures] = {}
    for position, one in enumerate(everybody):
        progress(0.05 + 0.3 * position / len(everybody), one.name)
        found[one.name] = _figures(readings, one, stated.load, plan)
    progress(0.35, "convergence")
    moved = [one for one in everybody if one.name in _STEPPED or one is candidate or one in others]
    settled = {one.name: _settled(readings, one, plan.step_seeds) for one in moved}
    progress(0.45, "bounds")
    bounds = _bounds(stated.load, plan.seeds)
    rows = [_stated_row(stated, found[default_rule().name]), *_rows(found, bounds)]
    by_load = [one for one in everybody if not isinstance(one.policy, Fresh)]  # a guarded one takes minutes a load
    pairs = [(load, one) for load in loads for one in by_load]
    for position, (load, one) in enumerate(pairs):
        progress(0.5 + 0.5 * position / len(pairs), f"{one.name} at {load:.0%}")
        rows.append(_load_row(readings, one, load, plan))
    rows += [_settled_row(name, waits) for name, waits in settled.items()]
    rows.append({"processor s of all runs": readings.kept.computed_s, "of them now": readings.kept.fresh_s})
    medians = {name: float(np.median(waits)) for name, waits in settled.items()}
    goals = _goals(found, bounds, candidate, medians)
    return BenchResult(
        "placement-policy", seed, {}, installed_versions(("prewarm-fleet", "numba", "numpy", "scipy")), rows, goals
    )


def _figures(readings: Readings, one: Contender, load: float, plan: Plan) -> Figures:
    return Figures(
        readings.over(one, Regime.BACKLOG, 1.0, plan.seeds, lambda run: run.utilisation),
        readings.over(one, Regime.FAILURES, load, plan.failure_seeds, lambda run: run.failure_rate),
        readings.over(one, Regime.CALLS, load, plan.seeds, lambda run: run.p99_ms),
    )


def _settled(readings: Readings, one: Contender, seeds: Sequence[int]) -> FloatArray:
    """Seconds by seed; a run that never settles counts as longer than all."""
    waits = readings.over(one, Regime.STEP, STEP_LOAD, seeds, lambda run: run.settles_s)
    return np.nan_to_num(waits, nan=np.inf)


def _settled_row(name: str, waits: FloatArray) -> Row:
    never = int(np.isinf(waits).sum())
    spread = " ".join("never" if np.isinf(wait) else f"{wait:.0f}" for wait in np.sort(waits))
    return {"after the change": name, "seconds (median)": float(np.median(waits)), "never": never, "sorted": spread}


@dataclass(frozen=True, slots=True)
class Bounds:
    """Most of the cores that can be allocated, mean over the seeds; P99 in ms that no placement goes below."""

    utilisation: float
    p99_ms: float


def _bounds(load: float, seeds: Sequence[int]) -> Bounds:
    """The integer program for the backlog; the higher of bare service with two hops inside and one pool a service.

    The pools have one replica more than the rates ask for: the rule's most of the last minute often has it.
    """
    fills, p99 = [], [bare_p99_ms(INSIDE_S)]
    for seed in seeds:
        backlog = draw_world(Regime.BACKLOG, 1.0, seed)
        replicas = int(_replicas(backlog.web.rates[0]).sum())
        fills.append(most_allocated(backlog.fleet, demand_of(backlog.jobs, replicas, (REPLICA_CPU, REPLICA_GB))))
        rates = draw_world(Regime.CALLS, load, seed).web.rates[0]
        p99.append(p99_ms(_replicas(rates)[:, None] + _SPARE, rates, np.array([[INSIDE_S]])))
    return Bounds(float(np.mean(fills)), max(p99[0], float(np.mean(p99[1:]))))


def _replicas(rates: FloatArray) -> IntArray:
    """What the replica rule asks for at these rates, (services,)."""
    return np.repeat([replicas_for(float(rate) * SERVICE_S) for rate in rates], TIERS).astype(np.int64)


def _stated_row(stated: StatedLoad, default: Figures) -> Row:
    return {
        "stated load": stated.load,
        "default fails %": 100.0 * stated.rate,
        "within 3.2 +- 0.3": stated.found,
        "its utilisation": stated.utilisation,
        "published": PUBLISHED_UTILISATION,
        "its P99 ms": float(default.p99_ms.mean()),
        "published ms": PUBLISHED_P99_MS,
    }


def _rows(found: dict[str, Figures], bounds: Bounds) -> list[Row]:
    """A row each, differences from the default rule with their intervals; then the bounds."""
    default = found[default_rule().name]
    rows: list[Row] = []
    for name, one in found.items():
        rows.append(
            {
                "rule": name,
                "backlog": float(one.utilisation.mean()),
                "% of bound": 100.0 * float(one.utilisation.mean()) / bounds.utilisation,
                "- default": _interval(one.utilisation, default.utilisation),
                "fails %": 100.0 * float(one.failed.mean()),
                "- default ": _interval(100.0 * one.failed, 100.0 * default.failed),
                "P99 ms": float(one.p99_ms.mean()),
                "- default  ": _interval(one.p99_ms, default.p99_ms),
            }
        )
    return [
        *rows,
        {"bound": "integer program, backlog", "value": bounds.utilisation},
        {"bound": "P99 ms", "value": bounds.p99_ms},
    ]


def _interval(ours: FloatArray, theirs: FloatArray) -> str:
    mean, low, high = paired(ours, theirs)
    return f"{mean:+.3g} ({low:+.3g}..{high:+.3g})"


def _load_row(readings: Readings, one: Contender, load: float, plan: Plan) -> Row:
    runs: list[Reading] = [readings.of(one, Regime.FAILURES, load, seed) for seed in plan.failure_seeds]
    return {
        "load": load,
        "rule": one.name,
        "fails %": 100.0 * float(np.mean([run.failure_rate for run in runs])),
        "gangs failed %": 100.0 * sum(run.gangs_failed for run in runs) / max(sum(run.gangs for run in runs), 1.0),
        "allocated": float(np.mean([run.utilisation for run in runs])),
        "P99 ms, first seed": readings.of(one, Regime.CALLS, load, plan.failure_seeds[0]).p99_ms,
    }


def _goals(
    found: dict[str, Figures], bounds: Bounds, candidate: Contender | None, settled: dict[str, float]
) -> list[Goal]:
    """The learned policy's; None, and so missed, without one."""
    ours = None if candidate is None else found[candidate.name]
    default, pool = found[default_rule().name], found[pooled().name]

    def value(figure: Callable[[Figures], float]) -> float | None:
        return None if ours is None else figure(ours)

    base, alone = float(default.utilisation.mean()), settled[pooled().name]
    return [
        Goal.at_least("utilisation", 0.88, value(lambda one: float(one.utilisation.mean()))),
        Goal.at_least("vs_bound", 0.97, value(lambda one: float(one.utilisation.mean()) / bounds.utilisation)),
        Goal.at_least(
            "gap_closed", 0.80, value(lambda one: (float(one.utilisation.mean()) - base) / (bounds.utilisation - base))
        ),
        Goal.at_most("p99_ms", 75.0, value(lambda one: float(one.p99_ms.mean()))),
        Goal.at_least(
            "p99_vs_default", 0.33, value(lambda one: 1.0 - float(one.p99_ms.mean() / default.p99_ms.mean()))
        ),
        Goal.at_most(
            "failures_vs_pooled", 0.2, value(lambda one: 100.0 * float(one.failed.mean() - pool.failed.mean()))
        ),
        Goal.at_least(
            "failures_vs_default", 0.60, value(lambda one: 1.0 - float(one.failed.mean() / default.failed.mean()))
        ),
        Goal.at_most(
            "convergence_s", 30.0 if alone <= 30.0 else 45.0, None if candidate is None else settled[candidate.name]
        ),
    ]

"""`prewarm bench serverless-mix`: what placements of warm instances cost in ten simulated days (W11).

Everything here is simulated: public marginals and exemplars, a made-up fleet. All policies get the same forecasts and
are played by the same rules; a second table has rules with forecasts of their own. The regret split says what lies
between a policy and the bound: knowing what will happen, knowing where calls come from, knowing the callers' mix, and
deciding well with what can be seen. How much the last can be is said by what the best sets of pools would be expected
to cost with the same forecasts and the true mix, beside what the tuned rule paid for the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnn.bench.mix_day import FORETOLD, GROUPS, OUTCOME, PLACED, WorldDay
from gnn.mix.bound.foresight import RollingHorizon
from gnn.mix.expected.chances import cache_folder, exemplar_chances
from gnn.mix.policy.played import LEARNED
from gnn.mix.replay import Outcome
from gnn.mix.rules.table import MARKET, RULE
from gnn.mix.world.draw import EVALUATION_SEEDS
from gnn.mix.world.source import Source, read_source
from gnn.published.measure.kept import Kept
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import FloatArray, PrewarmError

QUICK_SEEDS = 2
GOAL, STRETCH = 0.06, 0.09
RESAMPLES = 5_000
BOUND = "bound"

READINGS = "serverless-mix.jsonl"
"""In the cache folder: what was read of each world, so that a bench that was stopped goes on."""

Told = Callable[[float, str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """J by seed of one policy, and its outcomes."""

    name: str
    outcomes: tuple[Outcome, ...]

    @property
    def costs(self) -> FloatArray:
        """J of each seed, (seeds,)."""
        return np.array([outcome.total for outcome in self.outcomes])


def run(data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Told) -> BenchResult:
    """All rules, the bound and the regret split on the evaluation worlds; `quick` takes two of the ten."""
    del plot
    source = read_source(data_dir)
    seeds = EVALUATION_SEEDS[:QUICK_SEEDS] if quick else EVALUATION_SEEDS
    chances = exemplar_chances(source, cache_folder(), lambda share: progress(0.1 * share, "forecasts"))
    kept = Kept(cache_folder() / READINGS)
    days = []
    for number, world_seed in enumerate(seeds):
        progress(0.1 + 0.9 * number / len(seeds), f"world {world_seed}")
        days.append(WorldDay(source, chances, world_seed, kept).read())
    measured = [Measured(name, tuple(day.outcomes[name] for day in days)) for name in days[0].outcomes]
    bounds = np.array([day.bound for day in days])
    check_bounds(bounds, measured)
    result = _result(source, seed, bounds, {one.name: one for one in measured})
    result.rows.extend(_left_rows(np.array([day.left for day in days])))
    rule = next(one for one in measured if one.name == RULE).costs
    owns = {key: Measured(key[0], tuple(day.own[key] for day in days)) for key in days[0].own}
    result.rows.extend(_own_row(key, one, rule) for key, one in owns.items())
    return result


def check_bounds(bounds: FloatArray, measured: Sequence[Measured]) -> None:
    """PrewarmError where a policy is cheaper than the bound on any seed: then the bound is none."""
    for one in measured:
        below = np.flatnonzero(one.costs < bounds)
        if len(below):
            raise PrewarmError(f"serverless-mix: {one.name} costs less than the bound on world {below[0]}")


def paired_gain(ours: FloatArray, theirs: FloatArray, rng: np.random.Generator) -> tuple[float, float, float]:
    """Share of `theirs` saved by `ours`, resampled over the worlds in pairs: 2.5 %, the estimate, 97.5 %."""
    draws = rng.integers(0, len(ours), (RESAMPLES, len(ours)))
    gains = 1.0 - ours[draws].sum(axis=1) / theirs[draws].sum(axis=1)
    low, high = np.quantile(gains, [0.025, 0.975])
    return float(low), float(1.0 - ours.sum() / theirs.sum()), float(high)


def goals_of(learned: Measured | None, rule: FloatArray, clairvoyant: FloatArray, seed: int) -> list[Goal]:
    """The gain over the tuned rule: 6 %, or half the way to the clairvoyant placement where that is less, and the lower
    end of its 95 % interval above 0. Without a learned policy both are missed.
    """
    half = 0.5 * float(1.0 - clairvoyant.sum() / rule.sum())
    target = min(GOAL, half)
    if learned is None:
        return [Goal.at_least("j_vs_rule", target, None), Goal.at_least("interval_low", 0.0, None)]
    low, gain, _ = paired_gain(learned.costs, rule, np.random.default_rng(seed))
    return [Goal.at_least("j_vs_rule", target, gain), Goal("interval_low", 0.0, low, low > 0.0, "higher")]


def _result(source: Source, seed: int, bounds: FloatArray, measured: Mapping[str, Measured]) -> BenchResult:
    rule = measured[RULE].costs
    market = measured[MARKET].costs
    rows = [_row(one, rule, bounds, seed) for one in measured.values()]
    for one, row in zip(measured.values(), rows, strict=True):
        row["gain on rule in room %"] = 100.0 * float(1.0 - one.costs.sum() / market.sum())
    rows.append(_bound_row(bounds, rule, rows[0]))
    rows.extend(_split(bounds, measured))
    versions = installed_versions(("prewarm-fleet", "lightgbm", "numba", "numpy"))
    goals = goals_of(measured.get(LEARNED), rule, measured[PLACED].costs, seed)
    return BenchResult("serverless-mix", seed, dict(source.sha256), versions, rows, goals)


def _row(one: Measured, rule: FloatArray, bounds: FloatArray, seed: int) -> Row:
    """Means over the worlds; the interval is that of the gain over the tuned rule."""
    parts = [outcome.row() for outcome in one.outcomes]
    means = {key: float(np.mean([part[key] for part in parts])) for key in parts[0]}
    low, gain, high = paired_gain(one.costs, rule, np.random.default_rng(seed))
    beside = {"bound / J %": 100.0 * float(bounds.sum() / one.costs.sum()), "gain %": 100.0 * gain}
    interval = "-" if one.name == RULE else f"{100 * low:.1f} to {100 * high:.1f}"
    return {"policy (simulated)": one.name, **means, **beside, "95 %": interval}


def _bound_row(bounds: FloatArray, rule: FloatArray, like: Row) -> Row:
    empty: Row = dict.fromkeys(like)
    gain = 100.0 * float(1.0 - bounds.sum() / rule.sum())
    return empty | {"policy (simulated)": BOUND, "J": float(bounds.mean()), "bound / J %": 100.0, "gain %": gain}


def _split(bounds: FloatArray, measured: Mapping[str, Measured]) -> list[Row]:
    """Mean J from the bound up to the tuned rule, each step beside the one before."""
    names = [name for name in (OUTCOME, PLACED, FORETOLD, RollingHorizon().name, LEARNED, MARKET) if name in measured]
    names.append(RULE)
    costs = [float(bounds.mean()), *(float(measured[name].costs.mean()) for name in names)]
    return [
        {"regret split": name, "J": cost, "step": cost - before, "step % of rule": 100.0 * (cost - before) / costs[-1]}
        for name, cost, before in zip([BOUND, *names], costs, costs[:1] + costs[:-1], strict=True)
    ]


def _left_rows(left: FloatArray) -> list[Row]:
    """left: (worlds, 2, 2) as `left_to_gain`; means over worlds."""
    means = left.mean(axis=0)
    return [
        {
            "functions that never need two instances": name,
            "best sets expected": float(best),
            "tuned rule paid": float(paid),
            "left to gain %": 100.0 * float(1.0 - best / paid),
        }
        for name, (best, paid) in zip(GROUPS, means, strict=True)
    ]


def _own_row(name: tuple[str, str], one: Measured, rule: FloatArray) -> Row:
    gain = 100.0 * float(1.0 - one.costs.sum() / rule.sum())
    return {"policy with its own forecast": name[0], "forecast": name[1], "J": float(one.costs.mean()), "gain %": gain}

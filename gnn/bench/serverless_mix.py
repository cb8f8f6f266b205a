"""`prewarm bench serverless-mix`: what placements of warm instances cost in ten simulated days (W11).

Everything here is simulated: public marginals and exemplars, a made-up fleet. All policies get the same forecasts and
are played by the same rules. The regret split says what lies between a policy and the bound: knowing what will happen,
knowing where calls come from, knowing the callers' mix, and deciding well with what can be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnn.mix.bound.dual import lower_bound
from gnn.mix.bound.foresight import RollingHorizon, planned
from gnn.mix.bound.knowledge import foretold, outcome, placed, traced
from gnn.mix.expected.chances import cache_folder, exemplar_chances
from gnn.mix.replay import Outcome, replay
from gnn.mix.rules.table import RULE, plain_rules, tuned_rules
from gnn.mix.state import Policy
from gnn.mix.world.draw import EVALUATION_SEEDS, World, draw_world
from gnn.mix.world.source import Side, Source, read_source
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import Float32Array, FloatArray, PrewarmError

QUICK_SEEDS = 2
GOAL, STRETCH = 0.06, 0.09
RESAMPLES = 5_000
OUTCOME, PLACED, FORETOLD = "clairvoyant", "clairvoyant placement, same forecasts", "same, knowing the mix only"
BOUND = "bound"

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
    found: dict[str, list[Outcome]] = {}
    bounds: list[float] = []
    for number, world_seed in enumerate(seeds):
        progress(0.1 + 0.9 * number / len(seeds), f"world {world_seed}")
        world = draw_world(source, Side.EVALUATION, world_seed)
        called = chances[world.functions.series]
        bounds.append(lower_bound(world).value)
        for policy in contenders(world, called):
            found.setdefault(policy.name, []).append(replay(world, called, policy))
    measured = [Measured(name, tuple(outcomes)) for name, outcomes in found.items()]
    check_bounds(np.array(bounds), measured)
    return _result(source, seed, np.array(bounds), {one.name: one for one in measured})


def contenders(world: World, called: Float32Array) -> Sequence[Policy]:
    """Every policy of the table, worst informed first, for one world."""
    return (
        *plain_rules(),
        *tuned_rules(),
        RollingHorizon(),
        planned(world, foretold(world, called), FORETOLD),
        planned(world, placed(world, called), PLACED),
        planned(world, traced(world, outcome(world)), OUTCOME),
    )


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
    rows = [_row(one, rule, bounds, seed) for one in measured.values()]
    rows.append(_bound_row(bounds, rule, rows[0]))
    rows.extend(_split(bounds, measured))
    versions = installed_versions(("prewarm-fleet", "lightgbm", "numba", "numpy"))
    goals = goals_of(None, rule, measured[PLACED].costs, seed)
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
    names = (OUTCOME, PLACED, FORETOLD, RollingHorizon().name, RULE)
    costs = [float(bounds.mean()), *(float(measured[name].costs.mean()) for name in names)]
    return [
        {"regret split": name, "J": cost, "step": cost - before, "step % of rule": 100.0 * (cost - before) / costs[-1]}
        for name, cost, before in zip((BOUND, *names), costs, costs[:1] + costs[:-1], strict=True)
    ]

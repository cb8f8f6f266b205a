"""A search over the weights of the pipeline's own factors, by kind of pod, on training seeds only.

Trials are drawn by number, so that the search can be cut into shards and taken up again: each is a line of a file, and
a number that is there is not run again. Latency comes from the queueing formula on where the replicas stand, which is a
thousand times cheaper than the calls; what the search finds is then measured with calls.

    python -m gnn.published.measure.search trials.jsonl --trials 200 --shard 0/2
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnn.published.bound.queueing import p99_ms
from gnn.published.kernel.advance import advance
from gnn.published.kernel.layout import CLUSTERS, KINDS, TARGET_LOAD, WHOLE_GANGS, State
from gnn.published.measure.build import build
from gnn.published.measure.run import outcome, run_rule
from gnn.published.rules.named import Rule, default_rule, ours
from gnn.published.world.draw import FIRST_TRAINING_SEED, Regime, World, draw_world

SEEDS = tuple(range(FIRST_TRAINING_SEED, FIRST_TRAINING_SEED + 8))
BACKLOG_SEEDS = SEEDS[:2]
LOOK_EVERY_S = 1_800.0
DEFAULT, FIXED = -2, -1
"""Numbers of the trials of rules that are not drawn."""
_FASTER, _CLOSED = 0.65, 0.8
SEARCHED = ("fit", "fragmentation", "future_fill", "network", "warm", "headroom", "risk")
"""Factors that tell these clusters apart; price and steadiness are the same everywhere here."""
CENTRE: Mapping[str, Mapping[str, float]] = {
    "web": {"network": 3.0, "warm": 1.0, "future_fill": 1.0},
    "batch": {"future_fill": 1.0},
    "training": {"future_fill": 1.0},
}
"""Chains together, and no pod where it spoils room: found by hand, the search goes on from here."""
_SPREAD, _NEW, _NEW_SIZE, _HOT, _HOTTEST = 0.7, 0.3, 0.3, 0.25, 0.1


@dataclass(frozen=True, slots=True)
class Trial:
    """One rule's figures on the training seeds: failed share, formula's P99 in ms, allocated share of the backlog."""

    number: int
    weights: dict[str, dict[str, float]]
    temperature: dict[str, float]
    failed: float
    p99_ms: float
    utilisation: float

    @property
    def rule(self) -> Rule:
        """The rule that was tried."""
        return Rule(f"trial {self.number}", self.weights, self.temperature, whole_gangs=True)


def drawn_rule(number: int) -> Rule:
    """Trial 0 is the centre; others stretch its weights by LogNormal factors and may add some of the other factors.

    The temperature is 0 in three of four, else up to 0.1.
    """
    rng = np.random.default_rng([60, number])
    weights, temperature = {}, {}
    for kind in KINDS:
        known = np.array([CENTRE[kind].get(name, 0.0) for name in SEARCHED])
        added = np.where((known == 0) & (rng.random(len(SEARCHED)) < _NEW), _NEW_SIZE, 0.0)
        size = (known + added) * np.exp(rng.normal(0.0, _SPREAD, len(SEARCHED)))
        heat = float(rng.uniform(0.0, _HOTTEST)) if rng.random() < _HOT else 0.0
        if number == 0:
            size, heat = known, 0.0
        weights[kind] = {name: round(float(one), 4) for name, one in zip(SEARCHED, size, strict=True) if one > 0}
        temperature[kind] = round(heat, 4)
    return Rule(f"trial {number}", weights, temperature, whole_gangs=True)


def measured(rule: Rule, load: float, number: int) -> Trial:
    """One trial at the stated load."""
    looks, failed = [], []
    for seed in SEEDS:
        world = draw_world(Regime.FAILURES, load, seed)
        state = build(world)
        state["weights"][0] = rule.table
        state["f"][0, [TARGET_LOAD, WHOLE_GANGS]] = rule.target_load, rule.whole_gangs
        looks += list(_looks(state, world))
        failed.append(outcome(state, world).failure_rate)
    backlog = [run_rule(draw_world(Regime.BACKLOG, 1.0, seed), rule).utilisation for seed in BACKLOG_SEEDS]
    weights = {kind: dict(rule.weights[kind]) for kind in KINDS}
    figures = float(np.mean(failed)), float(np.mean(looks)), float(np.mean(backlog))
    return Trial(number, weights, dict(rule.temperature), *figures)


def _looks(state: State, world: World) -> Iterator[float]:
    """P99 by formula every half hour, to the end of the run."""
    for until in np.arange(LOOK_EVERY_S, world.duration_s + 1.0, LOOK_EVERY_S):
        advance(state, float(until), False)
        sim = state[0]
        clusters = int(sim["count"][CLUSTERS])
        yield p99_ms(sim["ready"][:, :clusters], sim["rate"].copy(), sim["delay_s"][:clusters, :clusters])


def run_shard(file: Path, load: float, numbers: range) -> None:
    """Run what is not in the file yet, the default rule and the fixed one first."""
    done = {trial.number for trial in read_trials(file)} if file.exists() else set()
    fixed = {DEFAULT: default_rule(), FIXED: ours()}
    with file.open("a", encoding="utf-8") as lines:
        for number in (*fixed, *numbers):
            if number not in done:
                trial = measured(fixed[number] if number < 0 else drawn_rule(number), load, number)
                fields = {name: getattr(trial, name) for name in Trial.__dataclass_fields__}
                lines.write(json.dumps(fields) + "\n")
                lines.flush()


def read_trials(file: Path) -> list[Trial]:
    """All trials of a file, in its order."""
    return [Trial(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def best(trials: Sequence[Trial]) -> Trial:
    """Fewest failures among those whose P99 and backlog would meet the goals; where none does, among the good P99s.

    The goals are the default rule's P99 less 35 % (two points to spare) and 80 % of the backlog's gap closed.
    """
    default = next(trial for trial in trials if trial.number == DEFAULT)
    quick = [trial for trial in trials if trial.p99_ms <= _FASTER * default.p99_ms]
    wanted = default.utilisation + _CLOSED * (1.0 - default.utilisation)
    return min([trial for trial in quick if trial.utilisation >= wanted] or quick, key=lambda trial: trial.failed)


def settings(trials: Sequence[Trial], load: float) -> dict[str, object]:
    """The best trial as it is kept, with what it was found on."""
    found = best(trials)
    kept = {name: getattr(found, name) for name in Trial.__dataclass_fields__}
    return {**kept, "trials": len(trials), "load": load, "seeds": list(SEEDS)}


def main() -> None:
    """The command line of this search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--load", type=float, required=True)
    parser.add_argument("--write", type=Path, help="Keep the best of all trials in the file here.")
    options = parser.parse_args()
    first, step = map(int, options.shard.split("/"))
    run_shard(options.file, options.load, range(first, options.trials, step))
    if options.write is not None:
        text = json.dumps(settings(read_trials(options.file), options.load), indent=2)
        options.write.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

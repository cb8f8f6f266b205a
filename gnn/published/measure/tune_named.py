"""The named baselines with settings of their own, found with trials by number on training seeds, as the fixed rule was.

Each keeps what makes it what it is; drawn are its target, its temperature, and the weights of the scorers beside it.
Trial 0 is the published setting. Lines of a file that are there are not run again.

    python -m gnn.published.measure.tune_named named.jsonl --load 0.82 --write gnn/published/rules/named.json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from gnn.published.kernel.layout import KINDS
from gnn.published.measure.search import SEEDS, Trial, measured
from gnn.published.rules.named import Rule, by_name

_MS_A_POINT = 7.0
"""So many ms of P99 weigh as much as a point of failures or of the backlog: a tenth of the goal."""
_BESIDE, _SPREAD, _HOTTEST = 0.3, 0.7, 0.1
_Draw = Callable[[Rule, np.random.Generator], Rule]


def _beside(rule: Rule, rng: np.random.Generator, names: Sequence[str]) -> Rule:
    """The rule with other weights of the scorers beside its own; each may be left out."""
    own = dict(rule.weights[KINDS[0]])
    for name in names:
        drawn = _BESIDE * np.exp(_SPREAD * rng.standard_normal())
        own[name] = round(float(drawn), 4) if rng.random() < 0.5 else 0.0
    return dataclasses.replace(rule, weights=dict.fromkeys(KINDS, own))


def _trimaran(rule: Rule, rng: np.random.Generator) -> Rule:
    target = round(float(rng.uniform(0.3, 0.95)), 3)
    return dataclasses.replace(_beside(rule, rng, ("balanced", "least_allocated")), target_load=target)


def _diktyo(rule: Rule, rng: np.random.Generator) -> Rule:
    return _beside(rule, rng, ("least_allocated", "balanced", "most_allocated"))


def _karmada(rule: Rule, rng: np.random.Generator) -> Rule:
    heat = round(float(rng.uniform(0.0, _HOTTEST)), 4)
    drawn = _beside(rule, rng, ("least_allocated", "balanced", "most_allocated"))
    return dataclasses.replace(drawn, temperature=dict.fromkeys(KINDS, heat))


def _fgd(rule: Rule, rng: np.random.Generator) -> Rule:
    return _beside(rule, rng, ("fragmentation", "balanced", "most_allocated"))


FAMILIES: Mapping[str, _Draw] = {
    "target load (Trimaran)": _trimaran,
    "network-aware (Diktyo)": _diktyo,
    "Karmada available replicas": _karmada,
    "FGD with future fill": _fgd,
}


def drawn(family: str, number: int) -> Rule:
    """A trial's rule; 0 is the published one."""
    rule = by_name(family)
    if number == 0:
        return rule
    return FAMILIES[family](rule, np.random.default_rng([61, list(FAMILIES).index(family), number]))


def cost(trial: Trial) -> float:
    """Points of failures, of the backlog that is left idle, and of P99."""
    return 100.0 * trial.failed + 100.0 * (1.0 - trial.utilisation) + trial.p99_ms / _MS_A_POINT


def run(file: Path, load: float, trials: int) -> dict[str, dict[str, object]]:
    """Run what is not in the file yet; the best setting of each family, as it is kept."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    done = {(line["family"], line["number"]): line["cost"] for line in lines}
    with file.open("a", encoding="utf-8") as out:
        for number in range(trials):
            for family in FAMILIES:
                if (family, number) not in done:
                    done[family, number] = cost(measured(drawn(family, number), load, number))
                    told = {"family": family, "number": number, "cost": done[family, number]}
                    out.write(json.dumps(told) + "\n")
                    out.flush()
    return {family: _kept(family, done, load, trials) for family in FAMILIES}


def _kept(family: str, done: Mapping[tuple[str, int], float], load: float, trials: int) -> dict[str, object]:
    number = min(range(trials), key=lambda one: done[family, one])
    rule = drawn(family, number)
    return {
        "weights": rule.weights[KINDS[0]],
        "temperature": rule.temperature[KINDS[0]],
        "target_load": rule.target_load,
        "whole_gangs": rule.whole_gangs,
        "trial": number,
        "trials": trials,
        "cost": round(done[family, number], 4),
        "published_cost": round(done[family, 0], 4),
        "load": load,
        "seeds": list(SEEDS),
    }


def main() -> None:
    """The command line of this search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--load", type=float, required=True)
    parser.add_argument("--write", type=Path, required=True, help="Keep the best of each family here.")
    options = parser.parse_args()
    text = json.dumps(run(options.file, options.load, options.trials), indent=2)
    options.write.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Search for the factor rule's settings on training seeds, and write the best beside the rule.

Random draws first, then steps around the best four; every trial plays the same worlds. What is least: mean over sizes
of (ratio - 1) + 10 x (share of the clairvoyant's requests that is lost), which trades about as the goals do.

    python -m gnn.sizes.measure.tune trials.jsonl --seconds 300 --write
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnn.sizes.measure.bound import clairvoyant
from gnn.sizes.play import Policy, play
from gnn.sizes.rules.holes import Holes
from gnn.sizes.rules.weighted import TUNED_FILE, Settings, admitting
from gnn.sizes.world import World, draw_world

SIZES = (32, 64, 128)
SEEDS = tuple(range(10_000, 10_005))
PRICE = 10.0
"""Of all requests lost, beside a ratio of 2."""
_EXPLORED, _BEST = 0.35, 4


def cost(policy: Policy, worlds: Mapping[int, Sequence[tuple[World, int]]]) -> tuple[float, dict[str, float]]:
    """What is least, and ratio and acceptance of each size. worlds: by size, with the clairvoyant's requests."""
    parts: dict[str, float] = {}
    costs = []
    for size, played in worlds.items():
        runs = [play(world, policy) for world, _ in played]
        latency = float(sum(np.nansum(run.latency_ms) for run in runs))
        ratio = latency / float(sum(np.nansum(run.optimum_ms) for run in runs))
        accepted = sum(int(run.accepted.sum()) for run in runs) / sum(most for _, most in played)
        parts |= {f"ratio at {size}": ratio, f"accepted at {size}": accepted}
        costs.append(ratio - 1.0 + PRICE * (1.0 - accepted))
    return float(np.mean(costs)), parts


def worlds_of(sizes: Sequence[int], seeds: Sequence[int]) -> dict[int, list[tuple[World, int]]]:
    """Worlds by size, each with the clairvoyant's number of requests."""
    drawn = {size: [draw_world(size, seed) for seed in seeds] for size in sizes}
    return {size: [(world, clairvoyant(world).accepted) for world in worlds] for size, worlds in drawn.items()}


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Settings from the whole range."""
    level = float(np.exp(rng.uniform(np.log(8.0), np.log(50.0))))
    shape = np.concatenate([rng.uniform(0.2, 1.0, 4), rng.uniform(0.0, 0.4, 4)])
    lower = float(rng.uniform(0.05, 0.5))
    return {
        "weights": {
            "near": 1.0,
            "below": lower,
            "rest": 1.0 - lower,
            "holes": 1.0,
            "room": float(rng.uniform(0.0005, 0.005)),
            "whole": float(rng.uniform(0.0005, 0.01)),
        },
        "cost_ms": [float(one) for one in level * shape],
        "power": float(rng.choice([0.0, 0.25, 0.5])),
        "spared": float(rng.uniform(0.0, 0.35)),
    }


def stepped(best: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Settings near others."""

    def about(value: float, size: float = 0.25) -> float:
        return float(value * np.exp(rng.normal(0.0, size)))

    return {
        "weights": {name: value if name == "near" else about(value) for name, value in best["weights"].items()},
        "cost_ms": [about(one) for one in best["cost_ms"]],
        "power": max(0.0, best["power"] + float(rng.normal(0.0, 0.1))),
        "spared": max(0.0, best["spared"] + float(rng.normal(0.0, 0.05))),
    }


def settings_of(told: Mapping[str, Any]) -> Settings:
    """Settings as the rule reads them."""
    return Settings(dict(told["weights"]), Holes(tuple(told["cost_ms"]), told["power"]), told["spared"])


def search(file: Path, seconds: float, seed: int) -> None:
    """Add trials to a file until time is over; what is there counts."""
    rng = np.random.default_rng(seed)
    worlds, known = worlds_of(SIZES, SEEDS), read_trials(file)
    begun = time.monotonic()
    with file.open("a", encoding="utf-8") as lines:
        while (gone := (time.monotonic() - begun) / seconds) < 1.0:
            best = sorted(known, key=lambda trial: float(trial["cost"]))[:_BEST]
            told = drawn(rng) if gone < _EXPLORED or not best else stepped(best[int(rng.integers(len(best)))], rng)
            value, parts = cost(admitting(settings_of(told), "trial"), worlds)
            known.append({"cost": value, "parts": parts, **told})
            lines.write(json.dumps(known[-1]) + "\n")
            lines.flush()


def read_trials(file: Path) -> list[dict[str, Any]]:
    """All trials of a file, none where there is no file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """The command line of this search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="Keep the best of all trials beside the rule.")
    options = parser.parse_args()
    search(options.file, options.seconds, options.seed)
    if options.write:
        trials = read_trials(options.file)
        best = min(trials, key=lambda trial: float(trial["cost"]))
        kept = {**best, "trials": len(trials), "sizes": SIZES, "seeds": SEEDS}
        TUNED_FILE.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

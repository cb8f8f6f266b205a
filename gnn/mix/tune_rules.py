"""`python -m gnn.mix.tune_rules DATA TRIALS`: tune the rules on training worlds and write the shipped settings.

TRIALS is a file of JSON lines to which every trial is added at once: a run that is stopped is started again with the
same file and goes on. The result, with its budget, stands beside the rules and is committed.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import orjson

from gnn.mix.expected.chances import cache_folder, exemplar_chances
from gnn.mix.tuning import SPACES, Played, Trial, best_of, trials
from gnn.mix.world.draw import draw_world
from gnn.mix.world.source import Side, read_source
from prewarm.domain import InputError

TUNED = Path(__file__).parent / "rules" / "tuned.json"
SEEDS = (0, 1, 2)  # of training worlds
BUDGET_MIN = 129_600  # simulated minutes a rule: thirty candidates on three days


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.argument("trials_file", type=click.Path(path_type=Path))
@click.option("--budget", default=BUDGET_MIN, show_default=True, help="Simulated minutes for each rule.")
@click.option("--rule", "names", multiple=True, type=click.Choice(list(SPACES)), help="Only these [default: all].")
def main(data: Path, trials_file: Path, budget: int, names: tuple[str, ...]) -> None:
    """Tune and write the settings."""
    source = read_source(data)
    chances = exemplar_chances(source, cache_folder())
    worlds = [draw_world(source, Side.TRAINING, seed) for seed in SEEDS]
    played: list[Played] = [(world, chances[world.functions.series]) for world in worlds]
    made = read_trials(trials_file)
    for number, name in enumerate(SPACES):
        if names and name not in names:
            continue
        done = made.setdefault(name, [])
        for trial in trials(SPACES[name], played, budget, np.random.default_rng(number), tuple(done)):
            done.append(trial)
            with trials_file.open("ab") as file:
                file.write(orjson.dumps({"rule": name, "settings": trial.settings, "cost": trial.cost}) + b"\n")
    before = orjson.loads(TUNED.read_bytes()) if TUNED.is_file() else {}
    TUNED.write_bytes(orjson.dumps(before | _summary(made), option=orjson.OPT_INDENT_2) + b"\n")


def read_trials(path: Path) -> dict[str, list[Trial]]:
    """Trials by rule in the order in which they were made; none where there is no file."""
    made: dict[str, list[Trial]] = {}
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            entry = orjson.loads(line)
            made.setdefault(entry["rule"], []).append(Trial(entry["settings"], entry["cost"]))
        except (ValueError, KeyError) as broken:
            raise InputError(f"{path}: a line is no trial ({broken})") from broken
    return made


def _summary(made: dict[str, list[Trial]]) -> dict[str, object]:
    summary: dict[str, object] = {}
    for name, done in made.items():
        best = best_of(done)
        simulated = len(done) * len(SEEDS) * 1440
        summary[name] = {"settings": best.settings, "training_j": best.cost, "simulated_minutes": simulated}
    return summary


if __name__ == "__main__":
    main()

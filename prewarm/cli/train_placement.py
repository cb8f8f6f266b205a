"""`prewarm train placement`: learn a placement policy in one of the worlds, and write its weights with a card."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import orjson

from prewarm.cli.learn_part import need_learn, shipped
from prewarm.cli.progress import progress_bar


@click.command(epilog="Example: prewarm train placement --task fleet --minutes 20 --plot curve.png")
@click.option("--task", "name", default="fleet", show_default=True, help="World: fleet, published, sizes, mix.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    default=20.0,
    show_default=True,
    help="Most wall clock.",
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Folder [default: build/placement-TASK-SEED]."
)
@click.option("--resume", is_flag=True, help="Go on from the checkpoint in the folder.")
@click.option("--install", is_flag=True, help="Also write weights and card over the shipped ones.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw the learning curve (PNG or SVG).")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def placement(
    *,
    name: str,
    seed: int,
    minutes: float,
    out: Path | None,
    resume: bool,
    install: bool,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Learn to place in a world of simulated fleets: first from its teacher, then by trying.

    The best weights by score on validation worlds are kept: 0 is the tuned rule. Ends with 1 where nothing beat it.
    """
    need_learn()
    from gnn.train import card, loop, picture
    from gnn.train.plan import Plan
    from gnn.train.tasks import find

    task = find(name)
    plan = dataclasses.replace(getattr(task, "plan", Plan()), seconds=60.0 * minutes)
    folder = out or Path("build") / f"placement-{name}-{seed}"
    with progress_bar(f"train {name}") as progress:
        trained = loop.train(task, plan, folder, progress=progress, seed=seed, resume=resume)
    told = card.facts(task, plan, trained, seed=seed, command=_command())
    files = [trained.weights, trained.weights.with_suffix(".md")]
    card.write_card(files[1], told)
    if install:
        _install(files, shipped(name))
    if plot is not None:
        picture.draw(trained.curve, plot, f"{name}, seed {seed}")
    _tell(told, folder, as_json=as_json)
    return 0 if trained.score > 0 else 1


def _install(files: list[Path], target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    for file in files:
        target.with_suffix(file.suffix).write_bytes(file.read_bytes())


def _command() -> str:
    return shlex.join(["prewarm", *sys.argv[1:]])


def _tell(told: dict[str, Any], folder: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode())
        return
    click.echo(f"{told['task']}: written to {folder}")
    for key in ("validation_score", "questions", "updates", "wall_s", "kib"):
        click.echo(f"  {key}: {told[key]}")
    for key, value in told["validation_parts"].items():
        click.echo(f"  {key}: {value:.4g}")
    if not told["validation_score"] > 0:
        click.echo("  nothing that was learned is better than the tuned rule")

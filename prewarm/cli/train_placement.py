"""`prewarm train placement`: learn a placement policy in one of the worlds, and write its weights with a card."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from prewarm.cli.learn_part import need_learn, numbers_of, shipped
from prewarm.cli.progress import progress_bar
from prewarm.domain import InputError

if TYPE_CHECKING:
    from gnn.train.plan import Plan
    from gnn.train.spread import OverRay
    from gnn.train.task import Task

FORMS = ("weights", "residual", "direct")
"""As `gnn.forms.Form` names them, which is not imported for a list of options."""


@click.command(epilog="Example: prewarm train placement --task fleet --minutes 20 --plot curve.png")
@click.option("--task", "name", default="fleet", show_default=True, help="World: fleet, published, sizes, mix.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option("--seeds", help="Several runs, 0-2 or 0,3,7, in place of --seed; the best by validation is the result.")
@click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    default=20.0,
    show_default=True,
    help="Most wall clock of a run.",
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Folder [default: build/placement-TASK-SEED]."
)
@click.option("--resume", is_flag=True, help="Go on from the checkpoint in the folder.")
@click.option("--form", type=click.Choice(FORMS), help="What an action says [default: the world's own].")
@click.option("--ray", metavar="ADDRESS", help="Spread the work over a Ray cluster: HOST:PORT or auto.")
@click.option("--install", is_flag=True, help="Also write weights and card over the shipped ones.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw the learning curve (PNG or SVG).")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def placement(
    *,
    name: str,
    seed: int,
    seeds: str | None,
    minutes: float,
    out: Path | None,
    resume: bool,
    form: str | None,
    ray: str | None,
    install: bool,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Learn to place in a world of simulated fleets: first from its teacher, then by trying.

    The best weights by score on validation worlds are kept: 0 is the tuned rule. Ends with 1 where nothing beat it.
    """
    need_learn()
    from gnn.forms import Form
    from gnn.train.plan import Plan
    from gnn.train.spread import OverRay
    from gnn.train.tasks import find

    task, numbers = find(name, None if form is None else Form(form)), [seed] if seeds is None else numbers_of(seeds)
    plan = dataclasses.replace(getattr(task, "plan", Plan()), seconds=60.0 * minutes)
    folders = [_folder(out, name, one, several=len(numbers) > 1) for one in numbers]
    spread = None if ray is None else OverRay(ray)
    try:
        if spread is not None and len(numbers) > 1:
            runs = _there(task, plan, numbers, folders, spread=spread, resume=resume)
        else:
            runs = _here(task, plan, numbers, folders, spread=spread, resume=resume)
    finally:
        if spread is not None:
            spread.close()
    best = max(runs, key=lambda run: float(run.told["validation_score"]))
    if install:
        _install(best.folder / f"placement-{name}.npz", shipped(name))
    if plot is not None:
        from gnn.train import picture

        picture.draw(best.curve, plot, f"{name}, seed {best.told['seed']}")
    _tell(runs, best, as_json=as_json)
    return 0 if best.told["validation_score"] > 0 else 1


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """What became of a seed."""

    folder: Path
    told: dict[str, Any]
    curve: list[dict[str, Any]]


def _here(
    task: Task, plan: Plan, seeds: Sequence[int], folders: Sequence[Path], *, spread: OverRay | None, resume: bool
) -> list[_Run]:
    """One after another; a cluster, where there is one, plays lessons and validation worlds."""
    from gnn.train import card, loop

    runs = []
    with progress_bar(f"train {task.name}") as progress:
        for number, (seed, folder) in enumerate(zip(seeds, folders, strict=True)):
            part = _part_of(progress, number, len(seeds))
            trained = loop.train(task, plan, folder, progress=part, seed=seed, resume=resume, spread=spread)
            told = card.facts(task, plan, trained, seed=seed, command=_command())
            card.write_card(trained.weights.with_suffix(".md"), told)
            runs.append(_Run(folder, told, trained.curve))
    return runs


def _there(
    task: Task, plan: Plan, seeds: Sequence[int], folders: Sequence[Path], *, spread: OverRay, resume: bool
) -> list[_Run]:
    """All at once, each run on one processor of the cluster."""
    from gnn.train.several import Training

    if resume:
        raise InputError(
            "--resume: several runs on a cluster leave no checkpoints; resume them one by one, without --ray"
        )
    products = spread.map(Training(task, plan, _command()), seeds)
    for product, folder in zip(products, folders, strict=True):
        product.write(folder)
    return [_Run(folder, one.told, one.curve) for one, folder in zip(products, folders, strict=True)]


def _folder(out: Path | None, name: str, seed: int, *, several: bool) -> Path:
    if out is None:
        return Path("build") / f"placement-{name}-{seed}"
    return out / str(seed) if several else out


def _part_of(progress: Callable[[float, str], None], number: int, many: int) -> Callable[[float, str], None]:
    def part(share: float, doing: str) -> None:
        progress((number + share) / many, doing)

    return part


def _install(weights: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    for file in (weights, weights.with_suffix(".md")):
        target.with_suffix(file.suffix).write_bytes(file.read_bytes())


def _command() -> str:
    return shlex.join(["prewarm", *sys.argv[1:]])


def _tell(runs: Sequence[_Run], best: _Run, *, as_json: bool) -> None:
    if as_json:
        told = [run.told for run in runs] if len(runs) > 1 else best.told
        click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode())
        return
    for run in runs:
        _tell_one(run)
    if len(runs) > 1:
        click.echo(f"best: seed {best.told['seed']}")


def _tell_one(run: _Run) -> None:
    told = run.told
    click.echo(f"{told['task']}: written to {run.folder}")
    for key in ("validation_score", "questions", "updates", "wall_s", "kib"):
        click.echo(f"  {key}: {told[key]}")
    for key, value in told["validation_parts"].items():
        click.echo(f"  {key}: {value:.4g}")
    if not told["validation_score"] > 0:
        click.echo("  nothing that was learned is better than the tuned rule")

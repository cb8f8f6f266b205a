"""`prewarm bench NAME`: measure, print the table, write the JSON, and exit 1 where a goal is missed.

Benchmarks are found by the entry points `prewarm.bench`, so that other packages bring theirs. Each is a function
`run(data_dir, *, seed, progress, **options) -> BenchResult`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import click
import orjson

from prewarm.bench.result import BenchResult, Goal
from prewarm.cli.progress import progress_bar
from prewarm.domain import InputError

Run = Callable[..., BenchResult]


def _found() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in sorted(entry_points(group="prewarm.bench"), key=lambda item: item.name)}


@click.command(epilog="Example: prewarm bench coldstart --data ../traces --json coldstart.json")
@click.argument("name", metavar="NAME")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the public traces [default: $PREWARM_TRACES].")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write the result here.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw the result here, where it has one.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option("--quick", is_flag=True, help="Leave out what takes longest (more seeds, ablations); goals still count.")
def bench(name: str, data: Path | None, json_file: Path | None, plot: Path | None, seed: int, quick: bool) -> int:
    """Measure NAME against its goals; `prewarm bench list` names them all.

    Prints baselines, ours and bounds, then the goals. Exit status 1 when a goal is missed.
    """
    found = _found()
    if name == "list":
        for known in found:
            click.echo(known)
        return 0
    if name not in found:
        raise InputError(f"bench {name!r}: unknown; known are {', '.join(found)}")
    run: Run = found[name].load()
    folder = data or Path(os.environ.get("PREWARM_TRACES") or "data/traces")
    with progress_bar(f"bench {name}") as progress:
        result = run(folder, seed=seed, quick=quick, plot=plot, progress=progress)
    if json_file is not None:
        json_file.write_bytes(orjson.dumps(result.to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY))
    _print(result)
    return 0 if result.met else 1


def _print(result: BenchResult) -> None:
    """The rows as tables, one for each set of columns, then the goals."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    groups: dict[tuple[str, ...], list[dict[str, object]]] = {}
    for row in result.rows:
        groups.setdefault(tuple(row), []).append(row)
    for columns, rows in groups.items():
        table = Table(*columns, box=None, pad_edge=False)
        for row in rows:
            table.add_row(*(_cell(row[column]) for column in columns))
        console.print(table, "")
    goals = Table("goal", "target", "value", "", title=None, box=None, pad_edge=False)
    for goal in result.goals:
        goals.add_row(
            goal.name, f"{_sign(goal)} {_cell(goal.target)}", _cell(goal.value), "met" if goal.met else "MISSED"
        )
    console.print(goals)


def _sign(goal: Goal) -> str:
    return {"lower": "<=", "higher": ">=", "near": "="}[goal.better]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

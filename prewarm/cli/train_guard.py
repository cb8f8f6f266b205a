"""`prewarm train guard`: what a placement policy usually sees, and how far off is too far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import orjson

from prewarm.cli.learn_part import need_learn, shipped
from prewarm.cli.progress import progress_bar
from prewarm.domain import InputError

if TYPE_CHECKING:
    from gnn.guard.fit import Fit, Stream

FROM = 30_000
"""Seeds of runs: training ones, beyond those that a policy is usually trained on."""
EVENTS_S = (2.0, 10.0)
"""Seconds between two questions of a run in `fleet`, drawn by its logarithm, so that a run is several times as long as
what is remembered, as the service's is; it takes a longer pause for the longest of these.
"""


@click.command(epilog="Example: prewarm train guard --task fleet --runs 300 --install")
@click.option("--task", "name", type=click.Choice(["fleet", "published", "mix"]), default="fleet", show_default=True)
@click.option("--runs", type=click.IntRange(3), default=300, show_default=True, help="Runs, a quarter to fit.")
@click.option("--rate", type=click.FloatRange(0, 1), default=0.005, show_default=True, help="False alarms by run.")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder [default: build/guard-TASK].")
@click.option("--install", is_flag=True, help="Also write it beside the shipped weights.")
@click.option("--json", "as_json", is_flag=True, help="Print what was fitted as JSON.")
def guard(*, name: str, runs: int, rate: float, seed: int, out: Path | None, install: bool, as_json: bool) -> int:
    """Fit the detector of what the shipped policy of a world was made for."""
    need_learn()
    from gnn.guard.detector import write_detector
    from gnn.guard.fit import fit

    streams = {"fleet": _fleet, "published": _published, "mix": _mix}[name]
    with progress_bar(f"guard {name}") as progress:
        found = streams(runs, seed, progress)
    detector = fit(found, np.random.default_rng(seed), replace(_settings(name), rate=rate))
    folder = out or Path("build") / f"guard-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    targets = [folder / f"guard-{name}.npz"]
    targets += [shipped(name).with_name(f"guard-{name}.npz")] if install else []
    for target in targets:
        target.parent.mkdir(exist_ok=True)
        write_detector(target, detector)
    told = {
        "task": name,
        "runs": runs,
        "rows": sum(len(one.at) for one in found),
        "calibrated_on": int(detector.runs),
        "false_alarms_by_run": float(detector.rate),
        "limit": float(detector.unit),
        "kib": round(targets[0].stat().st_size / 1024, 1),
        "file": str(targets[0]),
    }
    click.echo(orjson.dumps(told).decode() if as_json else "\n".join(f"{key}: {value}" for key, value in told.items()))
    return 0


def _settings(name: str) -> Fit:
    from gnn.bench.ood_mix import FIT
    from gnn.guard.fit import Fit

    return FIT if name == "mix" else Fit()


def _fleet(runs: int, seed: int, progress: Callable[[float, str], None]) -> list[Stream]:
    from gnn.fleet.env import FleetEnv
    from gnn.guard.asked import row
    from gnn.guard.from_env import streams
    from gnn.student import read_student

    path = shipped("fleet")
    if not path.exists():
        raise InputError(f"{path}: there are no weights to guard; train placement --task fleet --install first")
    student = read_student(path)
    first = FROM + 1_000 * seed
    least, most = EVENTS_S
    steps_s = least * (most / least) ** np.random.default_rng([seed, FROM]).random(runs)
    apart = list(zip(range(first, first + runs), steps_s.tolist(), strict=True))
    return streams(FleetEnv(student.shape.rule, first), student.act, row, apart, progress=progress)


def _published(runs: int, seed: int, progress: Callable[[float, str], None]) -> list[Stream]:
    from gnn.bench.ood import streams
    from gnn.bench.shifts import mind

    return streams(mind(), runs, seed, progress)


def _mix(runs: int, seed: int, progress: Callable[[float, str], None]) -> list[Stream]:
    from gnn.bench.mix_usual import streams
    from gnn.mix.policy.shipped import learned
    from gnn.mix.policy.worlds import public_source

    policy = learned()
    if policy is None:
        raise InputError("guard: there are no weights to guard; train placement --task mix --install first")
    return streams(policy, public_source(), runs, seed, progress)

"""`prewarm train WHICH`: fit a shipped model anew, from the public data, with its card.

Each model is a function `train(traces, seed, out_dir, *, progress) -> card`; the same data, seed and versions give the
same model. `--install` writes over the shipped one.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import click
import orjson

from prewarm.cli.progress import progress_bar

# name -> (module, function, folder of the shipped model, one line)
_MODELS = {
    "levels": ("prewarm.forecast.levels.train", "train_levels", "prewarm/forecast/levels/models", "boosted trees"),
    "sequence": (
        "prewarm.forecast.levels.neural_train",
        "train_neural",
        "prewarm/forecast/levels/models",
        "sequence model (needs torch: the extra `learn`)",
    ),
    "forecast": (
        "prewarm.forecast.dense.train_regions",
        "train_regions",
        "prewarm/forecast/dense/models",
        "busy series",
    ),
}


@click.command(epilog="Example: prewarm train levels --data ../traces --out build/levels")
@click.argument("which", type=click.Choice(list(_MODELS)), metavar="|".join(_MODELS))
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the public traces [default: $PREWARM_TRACES].")
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Folder to write to [default: build/WHICH]."
)
@click.option("--install", is_flag=True, help="Write over the shipped model instead.")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def train(which: str, data: Path | None, seed: int, out: Path | None, install: bool, as_json: bool) -> int:
    """Fit one of the shipped models from the public traces and write it with its card.

    levels: chances of the coming minute by boosted trees. sequence: the network beside them. forecast: busy series.
    """
    module, name, shipped, _ = _MODELS[which]
    folder = data or Path(os.environ.get("PREWARM_TRACES") or "data/traces")
    target = _package_folder(shipped) if install else out or Path("build") / which
    work = getattr(importlib.import_module(module), name)
    with progress_bar(f"train {which}") as progress:
        card = work(folder, seed, target, progress=progress)
    if as_json:
        click.echo(orjson.dumps(card, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode())
    else:
        click.echo(f"{which}: written to {target}")
        for key, value in card.items():
            click.echo(f"  {key}: {str(value)[:140]}")
    return 0


def _package_folder(relative: str) -> Path:
    import prewarm

    return Path(prewarm.__file__).parents[1] / relative

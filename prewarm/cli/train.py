"""`prewarm train WHICH`: fit a shipped model anew, with its card.

Each forecasting model is a function `train(traces, seed, out_dir, *, progress) -> card`; the same data, seed and
versions give the same model. `--install` writes over the shipped one. `placement` and `guard` are commands of their
own.
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
    "levels": (
        "prewarm.forecast.levels.train",
        "train_levels",
        "prewarm/forecast/levels/models",
        "Fit the chances of the coming minute by boosted trees.",
    ),
    "sequence": (
        "prewarm.forecast.levels.neural_train",
        "train_neural",
        "prewarm/forecast/levels/models",
        "Fit the network beside them (needs torch: make learn).",
    ),
    "forecast": (
        "prewarm.forecast.dense.train_regions",
        "train_regions",
        "prewarm/forecast/dense/models",
        "Fit the model of busy series.",
    ),
}
_PLACEMENT = "Learn to place over a fleet (needs torch: make learn)."
_GUARD = "Fit what tells that a fleet is not what a placement policy was made for."


class _Models(click.Group):
    """A command for each model, made when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [*_MODELS, "placement", "guard"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name == "placement":
            from prewarm.cli.train_placement import placement

            return placement
        if cmd_name == "guard":
            from prewarm.cli.train_guard import guard

            return guard
        return _command(cmd_name) if cmd_name in _MODELS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            raise click.UsageError(f"{args[0]!r} is not one of {', '.join(self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        told = [(name, line) for name, (_, _, _, line) in _MODELS.items()]
        with formatter.section("Models"):
            formatter.write_dl([*told, ("placement", _PLACEMENT), ("guard", _GUARD)])


@click.group(cls=_Models, epilog="Example: prewarm train levels --data ../traces --out build/levels")
def train() -> None:
    """Train a shipped model anew and write it with its card."""


def _command(which: str) -> click.Command:
    module, name, shipped, line = _MODELS[which]

    @click.command(name=which, help=f"{line} Public traces in, model and card out.")
    @click.option("--data", type=click.Path(path_type=Path), help="Folder of the traces [default: $PREWARM_TRACES].")
    @click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
    @click.option(
        "--out", type=click.Path(path_type=Path, file_okay=False), help=f"Folder to write to [default: build/{which}]."
    )
    @click.option("--install", is_flag=True, help="Write over the shipped model instead.")
    @click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
    def fit(data: Path | None, seed: int, out: Path | None, install: bool, as_json: bool) -> int:
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

    return fit


def _package_folder(relative: str) -> Path:
    import prewarm

    return Path(prewarm.__file__).parents[1] / relative

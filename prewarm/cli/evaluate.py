"""`prewarm evaluate placement`: weights against the tuned rule of their world, paired, with intervals."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

from prewarm.cli.learn_part import need_learn, seeds_of, shipped
from prewarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from gnn.train.evaluate import Evaluation

_SAME = ("ours", "rule", "optimum")
"""Parts that are the same measure of three who decide."""


@click.group()
def evaluate() -> None:
    """Measure what was learned on worlds that training never sees."""


@evaluate.command(epilog="Example: prewarm evaluate placement --task fleet --seeds 0-9")
@click.option("--task", "name", default="fleet", show_default=True, help="World: fleet, published, sizes, mix.")
@click.option("--weights", type=click.Path(path_type=Path, dir_okay=False), help="File of weights [default: shipped].")
@click.option(
    "--against", type=click.Path(path_type=Path, dir_okay=False), help="Other weights to compare with, world by world."
)
@click.option("--seeds", default="0-9", show_default=True, help="Evaluation worlds, below 100: 0-9 or 0,3,7.")
@click.option("--card", is_flag=True, help="Write the figures into the card beside the weights.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def placement(*, name: str, weights: Path | None, against: Path | None, seeds: str, card: bool, as_json: bool) -> int:
    """Play each world with the learned policy and with the rule. Ends with 1 where it is not better than the rule.

    An interval covers 95 % of the means of as many worlds drawn anew.
    """
    need_learn()
    from gnn.train.card import add_evaluation
    from gnn.train.evaluate import apart, weights_for
    from gnn.train.evaluate import evaluate as judged
    from gnn.train.tasks import find

    wanted = seeds_of(seeds)
    file = weights or shipped(name)
    students = [weights_for(find(name), one) for one in (file, against) if one is not None]
    with progress_bar(f"evaluate {name}") as progress:
        found, *others = [judged(find(name, one.shape.form), one, wanted, progress) for one in students]
    more = apart(found, others[0]) if others else None
    if card:
        add_evaluation(file.with_suffix(".md"), dataclasses.asdict(found))
    if as_json:
        told = {"task": name, **dataclasses.asdict(found), "against": more}
        click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2).decode())
    else:
        _tell(name, found)
    if more is not None and not as_json:
        click.echo(f"  against {against}: {more[0]:+.4f}, 95 % interval {more[1]:+.4f} to {more[2]:+.4f}")
    return 0 if found.low > 0 else 1


def _tell(name: str, found: Evaluation) -> None:
    better = sum(one > 0 for one in found.by_seed)
    click.echo(
        f"{name}: {found.score:+.4f} against the tuned rule, 95 % interval {found.low:+.4f} to {found.high:+.4f}"
    )
    click.echo(f"  better in {better} of {len(found.seeds)} worlds; {found.declined} questions left to the rule")
    for key in [*(one for one in _SAME if one in found.parts), *(one for one in found.parts if one not in _SAME)]:
        click.echo(f"  {key}: {found.parts[key]:.5g}")

"""`prewarm forecast FILE` and `prewarm backtest FILE`: what comes next, and which model would have known it best.

Both take a CSV of `timestamp,value` (or `function,timestamp,value`); forecast also takes the JSON body of
`POST /v1/forecasts`, so that what the service is asked can be asked here.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
import orjson

from prewarm.cli.progress import progress_bar
from prewarm.cli.series_file import read_json, read_series
from prewarm.domain import Forecast, InputError
from prewarm.forecast.backtest import Backtest, GoOn, Plan
from prewarm.forecast.backtest import backtest as score_models
from prewarm.forecast.batch import Forecaster, Levels
from prewarm.forecast.local.calendar import zone_named
from prewarm.forecast.local.classical import Wishes
from prewarm.forecast.metrics import Costs, Scores
from prewarm.forecast.models import IN_AUTO, NAMES, Setting, model_named
from prewarm.forecast.select import select
from prewarm.forecast.series import Series, SeriesBatch
from prewarm.forecast.stateless import STEPS, Request, answer, checked_levels, forecast_json, parse_request, whole

SHOWN_STEPS = 15
SHOWN_SERIES = 10

_FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


def _setting(season: int | None, trend: str, seasonal: str, zone: str) -> Setting:
    return Setting(zone_named(zone, "--zone"), Wishes(season, trend, seasonal))


def _levels(text: str) -> Levels:
    try:
        return checked_levels([float(part) for part in text.split(",")])
    except ValueError:
        raise InputError(f"--quantiles: must be numbers between commas, is {text[:40]!r}") from None


@click.command(
    epilog="Examples: prewarm forecast calls.csv --steps 60 --json;  "
    "prewarm forecast calls.csv --model sarima --season 1440;  prewarm forecast request.json"
)
@click.argument("file", type=_FILE)
@click.option("--model", default="auto", show_default=True, metavar="NAME", help=f"One of {', '.join(NAMES)}.")
@click.option("--steps", default=15, show_default=True, help="Steps to forecast, 1 to 1440.")
@click.option("--quantiles", default="0.5,0.9,0.99", show_default=True, help="Levels between 0 and 1.")
@click.option("--step", "step_s", type=int, help="Seconds a step [default: the commonest distance of the rows].")
@click.option("--season", type=int, help="Season in steps, for seasonal models [default: a day].")
@click.option("--trend", default="add", show_default=True, help="add or mul, for holt_winters.")
@click.option("--seasonal", default="add", show_default=True, help="add or mul, for holt_winters.")
@click.option("--zone", default="UTC", show_default=True, help="Time zone of daily profiles, as Europe/Berlin.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to the standard output.")
def forecast(file: Path, *, as_json: bool, **options: str | int | None) -> int:
    """Forecast the demand in FILE: a CSV of timestamp,value or function,timestamp,value ("-" reads standard input).

    Gaps and empty values are unknown, never zero. A FILE that ends in .json is a request as POST /v1/forecasts takes
    it; the options are then those in the file.
    """
    request = parse_request(read_json(file)) if file.suffix == ".json" else _request(file, options)
    found = answer(request)
    if as_json:
        click.echo(orjson.dumps({"forecasts": [forecast_json(one) for one in found]}, option=orjson.OPT_INDENT_2))
    else:
        _show_forecasts(found)
    return 0


def _request(file: Path, options: dict[str, str | int | None]) -> Request:
    season, step_s = options["season"], options["step_s"]
    setting = _setting(
        None if season is None else whole(season, "--season", 2, 100_000),
        str(options["trend"]),
        str(options["seasonal"]),
        str(options["zone"]),
    )
    model = str(options["model"])
    model_named(model, setting, place="--model")
    steps = whole(options["steps"], "--steps", *STEPS)
    levels = _levels(str(options["quantiles"]))
    step = None if step_s is None else whole(step_s, "--step", 1, 86_400)
    return Request(read_series(file, step), model, steps, levels, setting)


def _show_forecasts(found: Sequence[Forecast]) -> None:
    """A table a series, the first steps of it; --json has them all."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    for one in found[:SHOWN_SERIES]:
        record = forecast_json(one)
        console.print(f"{one.function}: {one.model}, data {one.data}", f"  {one.reason}", sep="\n", markup=False)
        table = Table("at", "mean", *(f"q{level:g}" for level in one.levels), "P(N>=1)", box=None, pad_edge=False)
        steps = record["steps"]
        assert isinstance(steps, list)
        for i, step in enumerate(steps[:SHOWN_STEPS]):
            quantiles = (f"{q:.2f}" for q in one.quantiles[i])
            table.add_row(str(step["at"]), f"{one.mean[i]:.2f}", *quantiles, f"{one.p_at_least[i, 0]:.3f}")
        console.print(table)
        if len(steps) > SHOWN_STEPS:
            console.print(f"... {len(steps) - SHOWN_STEPS} further steps (--json has them)")
    if len(found) > SHOWN_SERIES:
        console.print(f"... {len(found) - SHOWN_SERIES} further series (--json has them)")


@click.command(
    epilog="Examples: prewarm backtest calls.csv;  "
    "prewarm backtest calls.csv --models smoothing,tsb,sarima --steps 15 --folds 20 --json"
)
@click.argument("file", type=_FILE)
@click.option("--models", default=",".join(IN_AUTO), show_default=True, help="Models to compare.")
@click.option("--steps", type=int, help="Steps scored after each origin [default: by the length of the history].")
@click.option("--folds", default=8, show_default=True, help="Origins at which the past is cut.")
@click.option("--window", type=int, help="Steps of past that a model sees [default: all before the origin].")
@click.option("--cost-cold", default=Costs().cold, show_default=True, help="Price of one missing instance a step.")
@click.option("--cost-idle", default=Costs().idle, show_default=True, help="Price of one idle instance a step.")
@click.option("--budget", "budget_s", default=60.0, show_default=True, help="Seconds a model may take.")
@click.option("--step", "step_s", type=int, help="Seconds a step [default: the commonest distance of the rows].")
@click.option("--season", type=int, help="Season in steps, for seasonal models [default: a day].")
@click.option("--zone", default="UTC", show_default=True, help="Time zone of daily profiles.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to the standard output.")
def backtest(file: Path, *, models: str, season: int | None, zone: str, as_json: bool, **options: float | None) -> int:
    """Score models on FILE by rolling origin: newsvendor cost, pinball loss, absolute error, coverage.

    FILE is a CSV of timestamp,value or function,timestamp,value. Each model sees only what lies before an origin and is
    scored on the steps after it; the cheapest of each function is marked.
    """
    chosen = [model_named(n.strip(), _setting(season, "add", "add", zone), place="--models") for n in models.split(",")]
    costs = Costs(float(options["cost_cold"] or 0), float(options["cost_idle"] or 0))
    if not (costs.cold > 0 and costs.idle > 0 and math.isfinite(costs.cold + costs.idle)):
        raise InputError("--cost-cold and --cost-idle: must be above 0")
    step_s = options["step_s"]
    series = read_series(file, None if step_s is None else whole(step_s, "--step", 1, 86_400))
    rows: list[dict[str, object]] = []
    with progress_bar("backtest") as progress:
        groups = _side_by_side(series)
        for number, batch in enumerate(groups):
            plan = _plan(batch.values.shape[1], options)
            progress(number / len(groups), batch.names[0])
            rows.extend(_scored(batch, chosen, plan, costs=costs, budget_s=float(options["budget_s"] or 0)))
    if as_json:
        click.echo(orjson.dumps({"rows": rows}, option=orjson.OPT_INDENT_2))
    else:
        _show_rows(rows)
    return 0


def _plan(length: int, options: dict[str, float | None]) -> Plan:
    steps, folds, window = options["steps"], int(options["folds"] or 0), options["window"]
    asked = whole(15 if steps is None else int(steps), "--steps", *STEPS)
    suited = Plan.suited(length, asked, None if window is None else whole(int(window), "--window", 1, 1_000_000))
    return Plan(
        steps=suited.steps if steps is None else asked,
        folds=whole(folds, "--folds", 1, 10_000),
        stride=suited.stride if steps is None else asked,
        window=suited.window,
    )


def _side_by_side(series: Sequence[Series]) -> list[SeriesBatch]:
    """Series with the same step and end in one batch each, so that they are scored together."""
    groups: dict[tuple[int, float], list[Series]] = {}
    for one in series:
        groups.setdefault((one.step_s, one.end), []).append(one)
    return [SeriesBatch.of(group) for group in groups.values()]


def _scored(
    batch: SeriesBatch, models: Sequence[Forecaster], plan: Plan, *, costs: Costs, budget_s: float
) -> list[dict[str, object]]:
    """A row a function and model, in the order of functions."""
    scores: dict[str, Scores] = {}
    seconds: dict[str, float] = {}
    span_s, folds = 0.0, 0
    for model in models:
        began = time.perf_counter()
        tested = score_models(batch, [model], plan, costs=costs, go_on=_until(began + budget_s))
        seconds[model.name] = (time.perf_counter() - began) / len(batch.names)
        scores |= tested.scores
        span_s, folds = tested.span_s, tested.folds
    choice = select(list(scores), Backtest(scores, span_s, folds).costs(), span_s)
    rows: list[dict[str, object]] = []
    for row, (name, why) in enumerate(zip(batch.names, choice.reasons(), strict=True)):
        for number, (model_name, score) in enumerate(scores.items()):
            best = int(choice.chosen[row]) == number and not np.isnan(score.cost[row])
            rows.append(
                {
                    "function": name,
                    "model": model_name,
                    "cost": _figure(score.cost[row]),
                    "pinball": _figure(score.pinball[row]),
                    "mae": _figure(score.mae[row]),
                    "coverage": _figure(score.coverage[row]),
                    "steps": int(score.steps[row]),
                    "seconds": round(seconds[model_name], 4),
                    "chosen": best,
                    "reason": why if best else None,
                }
            )
    return rows


def _until(deadline: float) -> GoOn:
    return lambda _: time.perf_counter() < deadline


def _figure(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 6)


def _show_rows(rows: Sequence[dict[str, object]]) -> None:
    from rich.console import Console
    from rich.table import Table

    columns = ("function", "model", "cost", "pinball", "mae", "coverage", "steps", "seconds", "chosen")
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        cells = ["" if row[c] is None else str(row[c]) for c in columns[:-1]]
        table.add_row(*cells, f"<- {row['reason']}" if row["chosen"] else "")
    Console(width=None if sys.stdout.isatty() else 180, highlight=False).print(table)

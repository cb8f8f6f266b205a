"""`prewarm replay TRACE`: what would each policy have cost on this trace?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from prewarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from prewarm.sim.replay import Replay

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    epilog="Example: prewarm replay knative100_avg_concurrency.csv --apps knative100_apps.csv "
    "--policy kpa,ka-10,hh-4h,prewarm,clairvoyant --plot costs.png"
)
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--apps", type=_FILE, help="Table with each app's memory, for a concurrency matrix.")
@click.option(
    "--policy",
    "policies",
    default="ka-10,prewarm,clairvoyant",
    show_default=True,
    help="Comma-separated: ka-<minutes>, kpa, hh-1h, hh-4h, faascache-<GB>, never-unload, clairvoyant, prewarm.",
)
@click.option("--mode", type=click.Choice(["minute", "request"]), default="minute", show_default=True)
@click.option("--strict", is_flag=True, help="A rejected row is an error (otherwise they are counted and shown).")
@click.option(
    "--cold-weight", default=1.0, show_default=True, help="Multiplies the price of a cold start in decisions."
)
@click.option("--allocations", type=click.Path(path_type=Path, file_okay=False), help="Write what was kept warm here.")
@click.option("--plot", type=_FILE, help="Draw cold starts against waste here (png, svg, pdf).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON to the standard output.")
@click.option("--seed", default=0, show_default=True, help="Seed of what the request mode draws.")
def replay(trace: Path, apps: Path | None, policies: str, **options: object) -> int:
    """Replay TRACE (a file or folder of any public format) through policies and compare them.

    Every policy sees the same calls, and for a minute only what was known before it. Waste is memory held and not
    used; RUM is 0.808 for each cold start plus waste / 99.69 GB·s.
    """
    from prewarm.sim.replay import ReplayOptions
    from prewarm.sim.replay import replay as run
    from prewarm.sim.report import check_figure
    from prewarm.traces.detect import read_trace

    plot = cast("Path | None", options["plot"])
    if plot is not None:
        check_figure(plot)
    chosen = ReplayOptions(
        mode=cast("Literal['minute', 'request']", options["mode"]),
        cold_weight=cast("float", options["cold_weight"]),
        seed=cast("int", options["seed"]),
        allocations=cast("Path | None", options["allocations"]),
    )
    names = [name.strip() for name in policies.split(",") if name.strip()]
    with progress_bar("read") as reading:
        read = read_trace(
            trace,
            apps=apps,
            strict=bool(options["strict"]),
            progress=lambda file, done, size: reading(done / max(1, size), file),
        )
    with progress_bar("replay") as progress:
        result = run(read, names, chosen, progress=progress)
    _show(result, trace, as_json=bool(options["as_json"]), plot=plot)
    return 0


def _show(result: Replay, trace: Path, *, as_json: bool, plot: Path | None) -> None:
    from prewarm.sim import report

    if plot is not None:
        report.draw(result, plot)
    if as_json:
        import orjson

        click.echo(orjson.dumps(report.to_json(result, trace), option=orjson.OPT_INDENT_2).decode())
        return
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    console.print(report.to_table(result))
    rejected = result.trace.report.rejected_rows
    if rejected:
        click.echo(f"{rejected} rows of the trace were rejected", err=True)

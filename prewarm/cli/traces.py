"""`prewarm traces info|synth|fetch`: look at a trace, make one, or download the public originals."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import orjson

from prewarm.cli.progress import progress_bar
from prewarm.domain import InputError, rfc3339

if TYPE_CHECKING:
    from prewarm.traces.fetch import Fetched
    from prewarm.traces.manifest import Original
    from prewarm.traces.marginals import MarginalCheck
    from prewarm.traces.model import Trace

_FOLDER = click.Path(path_type=Path, file_okay=False)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON to the standard output.")
_LONG = ("rejected", "merged", "sources")  # told by the warnings
_SHOWN = 20  # warnings shown to a person; --json has them all


@click.group(epilog="Example: prewarm traces synth traces-2026 --functions 2000 --days 14 --seed 2026")
def traces() -> None:
    """Describe, make or fetch traces."""


@traces.command(epilog="Example: prewarm traces info ./data/traces/azure2019 --json")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--apps", type=click.Path(path_type=Path, dir_okay=False), help="Memory table of a concurrency matrix.")
@click.option("--strict", is_flag=True, help="Refuse the trace at its first broken row (exit status 2).")
@click.option("--marginals", is_flag=True, help="Compare with the real marginals; exit status 1 if one is off.")
@_JSON
def info(path: Path, *, apps: Path | None, strict: bool, marginals: bool, as_json: bool) -> int:
    """Read the trace at PATH (a file or folder of any format) and say what is in it.

    Broken rows are counted and named by file and line; they do not change the exit status.
    """
    from prewarm.traces.detect import read_trace
    from prewarm.traces.marginals import check_marginals, fitted_reference

    with progress_bar("reading") as progress:
        trace = read_trace(
            path, apps=apps, strict=strict, progress=lambda name, done, size: progress(done / max(size, 1), name)
        )
    facts = _facts(path, trace)
    checks = check_marginals(trace, fitted_reference()) if marginals else ()
    if as_json:
        _print_json(facts | ({"marginals": [_check_facts(one) for one in checks]} if marginals else {}))
        return 0 if all(one.met for one in checks) else 1
    _print_facts({name: value for name, value in facts.items() if name not in _LONG}, as_json=False)
    for one in checks:
        click.echo(f"{one.name}: distance {one.distance:.3f}, limit {one.limit:.3f}: {'met' if one.met else 'MISSED'}")
    _print_warnings(trace)
    return 0 if all(one.met for one in checks) else 1


def _print_warnings(trace: Trace) -> None:
    warnings = trace.report.warnings()
    for line in warnings[:_SHOWN]:
        click.echo(f"  {line}", err=True)
    if len(warnings) > _SHOWN:
        click.echo(f"  and {len(warnings) - _SHOWN} more; --json shows all", err=True)


def _facts(path: Path, trace: Trace) -> dict[str, object]:
    totals = trace.totals()
    dated = trace.start_minute > 366 * 1440
    return {
        "path": str(path),
        "format": trace.format,
        "sha256": trace.sha256,
        "functions": trace.functions,
        "minutes": trace.minutes,
        "unknown_minutes": int((~trace.known).sum()),
        "start": rfc3339(trace.start_minute * 60) if dated else None,
        "invocations": None if np.isnan(totals).all() else int(totals.sum()),
        "busy_function_minutes": int((np.nan_to_num(trace.concurrency) > 0).sum()),
        "most_instances_needed": int(trace.need_entries(rule="concurrency").max(initial=0)),
        "median_memory_mb": float(np.median(trace.memory_mb)),
        "median_duration_ms": float(np.median(trace.duration_ms)),
        "triggers": dict(Counter(trigger or "unknown" for trigger in trace.trigger).most_common()),
        "rows_read": trace.report.rows_read,
        "rejected_rows": trace.report.rejected_rows,
        "counters": dict(trace.report.counters),
        "rejected": [str(row) for row in trace.report.rejected],
        "merged": [str(key) for key in trace.report.merged],
        "sources": [{"name": one.name, "sha256": one.sha256, "bytes": one.size_bytes} for one in trace.sources],
    }


@traces.command(epilog="Example: prewarm traces synth traces-2026 --functions 2000 --days 14 --seed 2026")
@click.argument("folder", type=_FOLDER)
@click.option("--functions", default=2000, show_default=True, help="How many functions.")
@click.option("--days", default=14, show_default=True, help="How many days, from Monday 2026-03-23.")
@click.option("--seed", default=2026, show_default=True, help="The same seed gives the same counts.")
@click.option("--timezone", default="Europe/Berlin", show_default=True, help="Where the people live.")
@_JSON
def synth(folder: Path, *, functions: int, days: int, seed: int, timezone: str, as_json: bool) -> None:
    """Write a synthetic trace into FOLDER (absent or empty): files of the Azure 2019 schema.

    Beside them stand graph.csv (who calls whom), calendar.csv (announced promotions) and shapes.csv.
    """
    from prewarm.traces.synth import synthesize
    from prewarm.traces.synth_files import claim_folder, write_synthetic

    claim_folder(folder)
    with progress_bar("synthesizing") as progress:
        made = synthesize(seed, functions, days=days, timezone=timezone)
        write_synthetic(folder, made, lambda day, of: progress(day / of, f"day {day} of {of}"))
    facts = {
        "folder": str(folder),
        "synthetic": True,
        "seed": seed,
        "functions": functions,
        "days": days,
        "timezone": timezone,
        "counts_sha256": made.trace.sha256,
        "invocations": int(made.trace.totals().sum()),
        "calls_in_graph": len(made.graph),
        "announced_events": len(made.calendar),
        "shapes": dict(Counter(made.shapes).most_common()),
    }
    _print_facts(facts, as_json=as_json)


def _check_facts(check: MarginalCheck) -> dict[str, object]:
    return {
        "name": check.name,
        "distance": check.distance,
        "limit": check.limit,
        "met": check.met,
        "synthetic": check.synthetic,
        "real": check.real,
    }


@traces.command(epilog="Example: prewarm traces fetch azure2019 --to ./data/traces; prewarm traces fetch --list")
@click.argument("names", nargs=-1)
@click.option("--to", "folder", type=_FOLDER, default=Path("data/traces"), show_default=True, help="Where to put them.")
@click.option("--manifest", type=click.Path(path_type=Path, dir_okay=False), help="Another list of addresses.")
@click.option("--list", "only_list", is_flag=True, help="Show what can be fetched, with its licence.")
@_JSON
def fetch(names: tuple[str, ...], folder: Path, *, manifest: Path | None, only_list: bool, as_json: bool) -> None:
    """Download the public originals of the data sets NAMES; an interrupted download goes on where it stopped.

    The sha256 of each is verified, or recorded in traces.lock.json at the first download.
    """
    from prewarm.traces.fetch import fetch as fetch_original
    from prewarm.traces.manifest import read_manifest

    originals = read_manifest(manifest)
    if only_list:
        _print_list(originals, as_json=as_json)
        return
    known = dict.fromkeys(original.name for original in originals)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        what = f"{unknown[0]!r} is unknown" if unknown else "name at least one data set"
        raise InputError(f"traces fetch: {what}; known are {', '.join(known)}")
    fetched = []
    for original in originals:
        if original.name in names:
            with progress_bar(original.file) as progress:
                fetched.append(
                    fetch_original(
                        original,
                        folder,
                        progress=lambda _, done, size, bar=progress: bar(done / size if size else 0.0),  # type: ignore[misc]
                    )
                )
            if not as_json:
                click.echo(_fetched_line(fetched[-1]))
    if as_json:
        _print_json([_fetched_facts(one) for one in fetched])


def _print_list(originals: tuple[Original, ...], *, as_json: bool) -> None:
    if as_json:
        _print_json(
            [
                {
                    "name": one.name,
                    "file": one.file,
                    "addresses": one.addresses,
                    "sha256": one.sha256,
                    "size_bytes": one.size_bytes,
                    "licence": one.licence,
                    "about": one.about,
                }
                for one in originals
            ]
        )
        return
    for one in originals:
        click.echo(f"{one.name}/{one.file}\n  {one.about}\n  {one.licence}\n  {one.addresses[0]}")


def _fetched_line(one: Fetched) -> str:
    how = "downloaded" if one.downloaded else "there already"
    sure = "sum recorded" if one.first else "sum verified"
    return f"{one.path}: {one.size_bytes:,} bytes, {how}, {sure}"


def _fetched_facts(one: Fetched) -> dict[str, object]:
    return {
        "path": str(one.path),
        "sha256": one.sha256,
        "bytes": one.size_bytes,
        "downloaded": one.downloaded,
        "recorded": one.first,
    }


def _print_facts(facts: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        _print_json(facts)
        return
    for name, value in facts.items():
        click.echo(f"{name.replace('_', ' ')}: {_text(value)}")


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items()) or "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "-" if value is None else str(value)


def _print_json(value: object) -> None:
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")

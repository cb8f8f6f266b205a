"""What a replay is shown as: JSON by the API's names, a table for a terminal, and a figure.

Figures that do not apply are null and a dash. Drawing needs matplotlib, which is loaded only then.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prewarm.domain import InputError
from prewarm.sim.minute import Score
from prewarm.sim.replay import PolicyResult, Replay, Waits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

Json = dict[str, object]

FIGURES = (".png", ".svg", ".pdf")


def to_json(replay: Replay, path: Path) -> Json:
    """The result as `prewarm replay --json` prints it; path: the trace as it was named."""
    trace = replay.trace
    return {
        "trace": {
            "path": str(path),
            "sha256": trace.sha256,
            "functions": trace.functions,
            "minutes": trace.minutes,
            "rejected_rows": trace.report.rejected_rows,
            "unknown_minutes": replay.unknown_minutes,
        },
        "mode": replay.mode,
        "policies": [_policy_json(result) for result in replay.policies],
    }


def _policy_json(result: PolicyResult) -> Json:
    row = result.score
    names = ("cold", "cold_rate", "cold_rate_p50", "cold_rate_p75", "cold_rate_p90", "always_cold")
    wasted = ("waste_gb_s", "waste_minutes", "waste_vs_ka10", "rum")
    return {
        "name": result.name,
        **{name: getattr(row, name) for name in (*names, *wasted)},
        "needed": row.needed,
        "wait_ms": _waits_json(result.wait_ms),
    }


def _waits_json(wait_ms: Waits | None) -> Json | None:
    return None if wait_ms is None else {"p50": wait_ms.p50, "p95": wait_ms.p95, "p99": wait_ms.p99}


def to_table(replay: Replay) -> Table:
    """The table for a terminal; waste is in GB-s, or in function-minutes where need is only called or not."""
    from rich.table import Table

    binary = replay.workload.binary and replay.mode == "minute"
    unit = "waste min" if binary else "waste GB·s"
    columns = ["policy", "cold", "cold %", "P50 %", "P75 %", "P90 %", "always cold %", unit, "x KA-10"]
    columns += ["RUM"] if replay.mode == "minute" and not binary else []
    columns += ["wait P50 ms", "P95", "P99"] if replay.mode == "request" else []
    table = Table(box=None, pad_edge=False)
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at == 0 else "right", no_wrap=True)
    for result in replay.policies:
        table.add_row(*_cells(result, binary=binary, request=replay.mode == "request"))
    return table


def _cells(result: PolicyResult, *, binary: bool, request: bool) -> list[str]:
    row = result.score
    rates = [row.cold_rate, row.cold_rate_p50, row.cold_rate_p75, row.cold_rate_p90, row.always_cold]
    waste = row.waste_minutes if binary else row.waste_gb_s
    cells = [result.name, f"{row.cold:,}", *(_number(rate, "{:.2f}", 100.0) for rate in rates)]
    cells += [_number(waste, "{:,.0f}"), _number(row.waste_vs_ka10, "{:.3f}")]
    if not request and not binary:
        cells.append(_number(row.rum, "{:,.0f}"))
    if request:
        wait = result.wait_ms
        shown = (None, None, None) if wait is None else (wait.p50, wait.p95, wait.p99)
        cells += [_number(value, "{:,.0f}") for value in shown]
    return cells


def _number(value: float | None, form: str, times: float = 1.0) -> str:
    return "-" if value is None else form.format(value * times)


def check_figure(path: Path) -> None:
    """InputError where no figure can be written there, told before a long replay rather than after it."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("plot: needs matplotlib; install prewarm-fleet[plot]")
    if path.suffix not in FIGURES:
        raise InputError(f"plot: {path} must end in one of {', '.join(FIGURES)}")
    if not path.absolute().parent.is_dir():
        raise InputError(f"plot: {path.parent} is no folder")


def draw(replay: Replay, path: Path) -> None:
    """A figure in `path` (its ending tells the format): cold starts against waste, and one function's day."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 8), height_ratios=[3, 2], layout="constrained")
    try:
        _draw_costs(above, replay)
        _draw_day(below, replay)
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be drawn ({error})") from error
    finally:
        plt.close(figure)


def _draw_costs(axes: Axes, replay: Replay) -> None:
    """Every policy as a point: down and left is better."""
    binary = replay.workload.binary and replay.mode == "minute"
    scores: Sequence[Score] = [result.score for result in replay.policies]
    waste = [row.waste_minutes if binary else (row.waste_gb_s or 0.0) for row in scores]
    for result, across, row in zip(replay.policies, waste, scores, strict=True):
        ours = result.name == "prewarm"
        axes.scatter([across], [row.cold], s=70 if ours else 40, marker="*" if ours else "o", zorder=3)
        axes.annotate(result.name, (across, row.cold), xytext=(5, 4), textcoords="offset points", fontsize=9)
    axes.set_xlabel("waste, function-minutes" if binary else "waste, GB·s")
    axes.set_ylabel("cold starts")
    axes.set_yscale("symlog", linthresh=10)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.12)
    axes.grid(visible=True, alpha=0.3)
    axes.set_title(f"{replay.trace.functions} functions, {replay.trace.minutes} minutes, {replay.mode} mode")


def _draw_day(axes: Axes, replay: Replay) -> None:
    """Need and warm instances of one function over time: one that is called in about one minute of twenty."""
    need = replay.workload.need
    row = int(np.argmin(np.abs((need > 0).sum(axis=1) - need.shape[1] / 20)))
    hours = np.arange(need.shape[1]) / 60.0
    highest = max(1, int(need[row].max()))
    for at, result in enumerate(result for result in replay.policies if result.allocations is not None):
        assert result.allocations is not None
        base = -(at + 1) * (highest + 0.4)
        axes.fill_between(hours, base, base + result.allocations[row], step="post", linewidth=0, label=result.name)
        axes.annotate(result.name, (hours[-1], base), xytext=(4, 0), textcoords="offset points", fontsize=8)
    axes.fill_between(hours, 0, need[row], step="post", color="black", linewidth=0.4, label="needed")
    axes.annotate("needed", (hours[-1], 0), xytext=(4, 0), textcoords="offset points", fontsize=8)
    axes.set_xlabel("hour of the trace")
    axes.set_yticks([])
    axes.margins(x=0.0)
    axes.set_title(f"instances of {replay.workload.keys[row]}: needed, and kept warm by each policy", fontsize=9)

"""The picture of `prewarm bench coldstart`: cold starts against wasted memory, ours a curve, the others points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prewarm.bench.coldstart_points import Point
from prewarm.bench.result import Row
from prewarm.domain import InputError


def draw_pareto(path: Path, points: Sequence[Point], rows: Sequence[Row]) -> None:
    """Write the picture; InputError where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as absent:
        raise InputError("plot: needs matplotlib; install prewarm-fleet[plot]") from absent
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([point.waste_gb_s for point in points], [max(point.cold, 1) for point in points], "o-", label="prewarm")
    for row in rows:
        if "cold %" in row and isinstance(row["waste GB s"], float) and isinstance(row["cold"], int | float):
            axes.plot(row["waste GB s"], max(row["cold"], 1), "kx")
            axes.annotate(str(row["policy"]), (row["waste GB s"], max(row["cold"], 1)), fontsize=7)
    axes.set_xlabel("wasted memory, GB s")
    axes.set_ylabel("cold starts")
    axes.set_yscale("log")
    axes.set_title("Simulated: 93 public applications, one day, minute protocol")
    axes.legend()
    figure.savefig(path)

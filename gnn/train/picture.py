"""The learning curve as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prewarm.domain import InputError


def draw(curve: Sequence[Mapping[str, Any]], path: Path, title: str) -> None:
    """Score on validation seeds by questions answered. Raises InputError where matplotlib is not there."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("pictures need matplotlib: pip install 'prewarm-fleet[plot]'") from error
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    questions = [entry["questions"] for entry in curve]
    axes.plot(questions, [entry["score"] for entry in curve], marker="o", label="learned")
    axes.axhline(0.0, color="grey", linestyle="--", label="tuned rule")
    axes.set(xlabel="questions answered while exploring", ylabel="score on validation seeds", title=title)
    axes.legend()
    figure.savefig(path, dpi=120)

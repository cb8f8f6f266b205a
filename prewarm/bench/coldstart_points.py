"""The sweep of the price of a cold start, and how a row is read off it (benchmarks A3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prewarm.bench.result import Row
from prewarm.sim.chances import ChanceModel
from prewarm.sim.minute import MinuteWorkload, score
from prewarm.sim.ours import Extras, asked_of, run

CHOICES: tuple[float, ...] = tuple(2.0 ** (k / 4) for k in range(-16, 17))


@dataclass(frozen=True, slots=True)
class Point:
    """One weight of a cold start and what came of it; `rum` is at weight 1 always."""

    weight: float
    cold: int
    waste_gb_s: float
    rum: float


def sweep(
    workload: MinuteWorkload, model: ChanceModel, extras: Extras | None = None, weights: Sequence[float] = CHOICES
) -> list[Point]:
    """The day decided at every weight, from one asking of the model."""
    extras = extras or Extras()
    asked = asked_of(workload, model, extras)
    points = []
    for weight, kept in zip(weights, run(workload, asked, extras, cold_weights=weights), strict=True):
        result = score(workload, kept)
        points.append(Point(weight, result.cold, result.waste_gb_s or 0.0, result.rum or 0.0))
    return points


def last_under(points: Sequence[Point], waste_gb_s: float) -> Point | None:
    """The last point, by rising weight, that wastes no more than `waste_gb_s`; None where none does."""
    under = [point for point in points if point.waste_gb_s <= waste_gb_s]
    return under[-1] if under else None


def best_on_both(points: Sequence[Point], limits: tuple[float, float]) -> Point:
    """The point that is nearest to both limits (cold starts, GB s): the smallest of the larger excess."""
    cold, waste = limits
    return min(points, key=lambda point: max(point.cold / cold, point.waste_gb_s / waste))


def sweep_row(policy: str, point: Point) -> Row:
    """A point's row of the Pareto table."""
    return {
        "policy": policy,
        "cold weight": round(point.weight, 4),
        "cold": point.cold,
        "waste GB s": point.waste_gb_s,
        "RUM": point.rum,
    }

"""What every benchmark returns: rows for the table and goals that are met or missed.

The shape is that of `prewarm bench NAME --json FILE`. A result is plain data, so that a missed goal is recorded and
printed like any other figure and only the exit status tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

Row = dict[str, object]
Direction = Literal["lower", "higher", "near"]


@dataclass(frozen=True, slots=True)
class Goal:
    """One figure beside its target; `better` says which side of the target is good (`near`: within a tolerance)."""

    name: str
    target: float
    value: float | None
    met: bool
    better: Direction

    @classmethod
    def at_most(cls, name: str, target: float, value: float | None) -> Goal:
        """A figure that must not exceed `target`; None (not measured) is a miss."""
        return cls(name, target, value, value is not None and value <= target, "lower")

    @classmethod
    def at_least(cls, name: str, target: float, value: float | None) -> Goal:
        """A figure that must reach `target`; None (not measured) is a miss."""
        return cls(name, target, value, value is not None and value >= target, "higher")

    @classmethod
    def near(cls, name: str, target: float, value: float | None, tolerance: float) -> Goal:
        """A figure to be reproduced: within `tolerance`, a share of `target` (0 asks for equality)."""
        met = value is not None and abs(value - target) <= tolerance * abs(target)
        return cls(name, target, value, met, "near")

    def to_json(self) -> Row:
        """The goal as the API writes it; a figure that is not finite becomes null."""
        finite = self.value is not None and math.isfinite(self.value)
        return {
            "name": self.name,
            "target": self.target,
            "value": self.value if finite else None,
            "met": self.met,
            "better": self.better,
        }


@dataclass(frozen=True, slots=True)
class BenchResult:
    """Everything a benchmark measured; `trace_sha256` maps each file's name to its sum."""

    bench: str
    seed: int
    trace_sha256: dict[str, str]
    versions: dict[str, str]
    rows: list[Row] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)

    @property
    def met(self) -> bool:
        """True when every goal is met; a benchmark without goals is met."""
        return all(goal.met for goal in self.goals)

    def to_json(self) -> Row:
        """The result as `prewarm bench NAME --json FILE` writes it."""
        return {
            "bench": self.bench,
            "seed": self.seed,
            "trace_sha256": dict(self.trace_sha256),
            "versions": dict(self.versions),
            "rows": [dict(row) for row in self.rows],
            "goals": [goal.to_json() for goal in self.goals],
        }


def installed_versions(distributions: Iterable[str]) -> dict[str, str]:
    """Version of each installed distribution; one that is absent is left out."""
    found: dict[str, str] = {}
    for name in distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found

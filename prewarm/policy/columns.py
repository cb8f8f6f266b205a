"""The settings of all functions as columns, so that a tick over 50,000 of them is arithmetic on arrays.

Patterns are matched once, when a function appears or the settings change; what depends on the hour (windows) is looked
up at each tick for the few functions that have any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np

from prewarm.domain import BoolArray, FloatArray, Int32Array
from prewarm.settings import FunctionPolicy, Window

UNBOUNDED = 2_000_000_000
MIB_IN_GB = 1024 * 1024 / 1e9


@dataclass(frozen=True, slots=True)
class Measured:
    """What was seen of each function, (n,) each, NaN where nothing was: memory of an instance and its start-up time."""

    memory_mib: FloatArray
    start_s: FloatArray


@dataclass(frozen=True, slots=True)
class PolicyColumns:
    """One row a function: prices for one step, bounds that hold now, rates of change, lead time. All (n,)."""

    cold_cost: FloatArray
    idle_cost: FloatArray
    latency_goal_ms: FloatArray
    minimum: Int32Array
    maximum: Int32Array
    step_up: Int32Array
    step_down: Int32Array
    down_delay_s: FloatArray
    start_s: FloatArray
    memory_gb: FloatArray
    memory_assumed: BoolArray
    budget_gb: float | None = None


@dataclass(frozen=True, slots=True)
class PolicyTable:
    """Compiled settings: columns without windows, and the functions whose bounds move with the hour."""

    columns: PolicyColumns
    windows: tuple[tuple[int, tuple[Window, ...]], ...]

    def at(self, now: float) -> PolicyColumns:
        """The columns with the bounds of the windows that are open at `now`."""
        if not self.windows:
            return self.columns
        minimum, maximum = self.columns.minimum.copy(), self.columns.maximum.copy()
        for row, windows in self.windows:
            for window in windows:
                if is_open(window, now):
                    minimum[row] = minimum[row] if window.min is None else window.min
                    maximum[row] = maximum[row] if window.max is None else window.max
        return replace(self.columns, minimum=minimum, maximum=np.maximum(maximum, minimum))


def is_open(window: Window, now: float) -> bool:
    """Whether `now` lies in the window by its own wall clock, across midnight and clock changes."""
    local = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(window.zone))
    minute, day = local.hour * 60 + local.minute, local.weekday()
    if window.start_minute < window.end_minute:
        return day in window.days and window.start_minute <= minute < window.end_minute
    opened_today = minute >= window.start_minute and day in window.days
    opened_yesterday = minute < window.end_minute and (day - 1) % 7 in window.days
    return opened_today or opened_yesterday


def compile_policy(
    keys: Sequence[str],
    policy_of: Callable[[str], FunctionPolicy],
    measured: Measured,
    *,
    step_s: float,
    default_start_s: float,
    budget_gb: float | None = None,
) -> PolicyTable:
    """Columns for `keys` in order; memory unknown both in settings and measurement is the fleet's median (or 256 MiB).

    `default_start_s` stands in where a start-up time was neither set nor measured.
    """
    policies = [policy_of(key) for key in keys]
    memory_mib = _first_known([policy.memory_mib for policy in policies], measured.memory_mib)
    assumed = ~np.isfinite(memory_mib)
    typical = float(np.median(memory_mib[~assumed])) if not assumed.all() else 256.0
    memory_gb = np.where(assumed, typical, memory_mib) * MIB_IN_GB
    start_s = np.where(np.isfinite(measured.start_s), measured.start_s, np.nan)
    start_s = np.where(np.isfinite(start_s), start_s, _floats([policy.start_s for policy in policies]))
    columns = PolicyColumns(
        cold_cost=_floats([policy.cold_cost for policy in policies]),
        idle_cost=_floats([policy.idle_cost_per_gb_s for policy in policies]) * memory_gb * step_s,
        latency_goal_ms=_floats([policy.latency_goal_ms for policy in policies]),
        minimum=_counts([policy.min for policy in policies]),
        maximum=_counts([policy.max for policy in policies]),
        step_up=_counts([policy.step_up for policy in policies]),
        step_down=_counts([policy.step_down for policy in policies]),
        down_delay_s=_floats([policy.down_delay_s for policy in policies]),
        start_s=np.where(np.isfinite(start_s), start_s, default_start_s),
        memory_gb=memory_gb,
        memory_assumed=assumed,
        budget_gb=budget_gb,
    )
    return PolicyTable(columns, tuple((row, item.windows) for row, item in enumerate(policies) if item.windows))


def _floats(values: Sequence[float | None]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _counts(values: Sequence[int | None]) -> Int32Array:
    return np.array([UNBOUNDED if value is None else value for value in values], dtype=np.int32)


def _first_known(told: Sequence[float | None], seen: FloatArray) -> FloatArray:
    said = _floats(told)
    return np.where(np.isfinite(said), said, seen)

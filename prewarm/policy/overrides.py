"""What people said wins: pin, floor, ceiling, freeze, exclude, pause up or down, each until it expires."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from prewarm.domain import Action, FunctionKey, Int32Array, Override


def is_active(override: Override, now: float) -> bool:
    """Whether it still holds."""
    return override.expires_at is None or now < override.expires_at


def apply_overrides(
    target: Int32Array,
    current: Int32Array,
    rows: Mapping[FunctionKey, int],
    overrides: Iterable[Override],
    *,
    now: float,
) -> tuple[Int32Array, dict[int, tuple[Override, ...]]]:
    """Counts after all active overrides, and which ones spoke for which row.

    Several on one function act in the order given; a pin, freeze or exclusion has the last word over bounds and pauses.
    """
    result = target.copy()
    spoken: dict[int, tuple[Override, ...]] = {}
    last_word = (Action.PIN, Action.FREEZE, Action.EXCLUDE)
    for override in sorted(overrides, key=lambda item: item.action in last_word):
        row = rows.get(override.function)
        if row is None or not is_active(override, now):
            continue
        result[row] = _overridden(override, int(result[row]), int(current[row]))
        spoken[row] = (*spoken.get(row, ()), override)
    return np.maximum(result, 0), spoken


def _overridden(override: Override, target: int, current: int) -> int:
    value = override.value if override.value is not None else 0
    match override.action:
        case Action.PIN:
            return value
        case Action.FLOOR:
            return max(target, value)
        case Action.CEILING:
            return min(target, value)
        case Action.FREEZE:
            return current
        case Action.EXCLUDE:
            return 0
        case Action.PAUSE_UP:
            return min(target, current)
        case Action.PAUSE_DOWN:
            return max(target, current)

"""Where each pool may be and how many there: what clusters, nodes and people allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from federation.pools.question import Limits
from federation.pools.tick.sites import Sites
from prewarm.domain import Action, FunctionKey, IntArray, Override
from prewarm.policy.overrides import is_active

_LAST_WORD = (Action.PIN, Action.FREEZE, Action.EXCLUDE)


def limits_of(sites: Sites, before: IntArray, size: IntArray) -> Limits:
    """The limits before anybody speaks: a cluster's standing, and what its nodes could take beside what is there."""
    most = np.where(sites.full[None, :], before, before + sites.fits(size))
    least = np.where(sites.kept[None, :], before, 0)
    allowed = np.broadcast_to(~sites.left[None, :], before.shape)
    return Limits(allowed.copy(), least, most)


def spoken(
    limits: Limits,
    overrides: Iterable[Override],
    *,
    rows: Mapping[FunctionKey, int],
    names: tuple[str, ...],
    before: IntArray,
    now: float,
) -> dict[tuple[int, int], tuple[Override, ...]]:
    """Apply what people said of single clusters to `limits` in place; who spoke, by (row, column).

    They win over scores and standing, but not over a cluster that is gone.
    """
    columns = {name: column for column, name in enumerate(names)}
    heard: dict[tuple[int, int], tuple[Override, ...]] = {}
    for one in sorted(overrides, key=lambda each: each.action in _LAST_WORD):
        row, column = rows.get(one.function), columns.get(one.cluster or "")
        if row is None or column is None or not is_active(one, now):
            continue
        _say(limits, one, at=(row, column), there=int(before[row, column]))
        heard[row, column] = (*heard.get((row, column), ()), one)
    return heard


def _say(limits: Limits, one: Override, *, at: tuple[int, int], there: int) -> None:
    value = one.value or 0
    least, most = int(limits.least[at]), int(limits.most[at])
    match one.action:
        case Action.PIN:
            least, most = value, value
        case Action.FLOOR:
            least, most = max(least, value), max(most, value)
        case Action.CEILING:
            least, most = min(least, value), min(most, value)
        case Action.EXCLUDE:
            least, most = 0, 0
            limits.allowed[at] = False
        case Action.FREEZE:
            least, most = there, there
        case Action.PAUSE_UP:
            most = min(most, there)
        case Action.PAUSE_DOWN:
            least = max(least, there)
    limits.least[at], limits.most[at] = least, most

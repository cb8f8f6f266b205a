"""What people said about a workload in clusters: it wins over scores and limits until it expires."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from prewarm.domain import Action, IntArray, Override


@dataclass(frozen=True, slots=True)
class Bounds:
    """Least and most instances in each cluster, (C,), how many in all, and the words of those who said so."""

    least: IntArray
    most: IntArray
    replicas: int
    frozen: bool
    words: tuple[str, ...]


def spoken_of(overrides: Iterable[Override], key: str, *, now: float) -> tuple[Override, ...]:
    """Overrides of one workload that still hold, those with the last word at the end."""
    last_word = (Action.PIN, Action.FREEZE, Action.EXCLUDE)
    active = [one for one in overrides if one.function == key and (one.expires_at is None or now < one.expires_at)]
    return tuple(sorted(active, key=lambda one: one.action in last_word))


def bounds_of(
    found: tuple[Override, ...], names: tuple[str, ...], *, before: IntArray, replicas: int, limit: IntArray
) -> Bounds:
    """The bounds that overrides set; `limit` is what was allowed before they are asked."""
    least, most = np.zeros_like(before), limit.copy()
    total, fixed = replicas, False
    for one in found:
        if one.cluster is None:
            total, fixed = _total(one, total, before), fixed or one.action is Action.FREEZE
            _everywhere(one, least, most, before)
        elif one.cluster in names:
            _in_cluster(one, names.index(one.cluster), least, most, before)
    return Bounds(least, np.maximum(most, least), total, fixed, tuple(_words(one, names) for one in found))


def _total(one: Override, total: int, before: IntArray) -> int:
    """Instances in all after an override that names no cluster."""
    value = one.value or 0
    there = int(before.sum())
    chosen = {
        Action.PIN: value,
        Action.FLOOR: max(total, value),
        Action.CEILING: min(total, value),
        Action.FREEZE: there,
        Action.EXCLUDE: 0,
        Action.PAUSE_UP: min(total, there),
        Action.PAUSE_DOWN: max(total, there),
    }
    return chosen[one.action]


def _everywhere(one: Override, least: IntArray, most: IntArray, before: IntArray) -> None:
    """Pauses and freezes without a cluster hold in each of them."""
    if one.action in (Action.PAUSE_UP, Action.FREEZE):
        np.minimum(most, before, out=most)
    if one.action in (Action.PAUSE_DOWN, Action.FREEZE):
        np.maximum(least, before, out=least)


def _in_cluster(one: Override, at: int, least: IntArray, most: IntArray, before: IntArray) -> None:
    value = one.value or 0
    match one.action:
        case Action.PIN:
            least[at] = most[at] = value
        case Action.FLOOR:
            least[at] = max(least[at], value)
        case Action.CEILING:
            most[at] = min(most[at], value)
        case Action.EXCLUDE:
            least[at] = most[at] = 0
        case Action.FREEZE:
            least[at] = most[at] = before[at]
        case Action.PAUSE_UP:
            most[at] = min(most[at], before[at])
        case Action.PAUSE_DOWN:
            least[at] = max(least[at], before[at])


def _words(one: Override, names: tuple[str, ...]) -> str:
    where = f" in {one.cluster}" if one.cluster else ""
    value = f" {one.value}" if one.value is not None else ""
    nobody = "" if one.cluster is None or one.cluster in names else f" (no cluster is called {one.cluster})"
    return f"{one.action.value}{value}{where} by {one.owner}: {one.reason}{nobody}"

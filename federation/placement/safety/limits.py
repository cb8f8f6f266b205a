"""Limits on what one decision may change: they veto or shrink a change, and never enlarge one.

Each limit cancels part of what would be taken from clusters; what would have been added in exchange is cancelled with
it, so that a move which may not finish does not begin. A person's override is exempt: it wins over everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from prewarm.domain import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Change:
    """A proposed change, a column a cluster: from `before` to `target`, with the scores that order what is cancelled.

    before leaves out instances that are gone. told: clusters in which a person's word asks for it.
    """

    names: tuple[str, ...]
    before: IntArray
    target: IntArray
    scores: FloatArray
    told: BoolArray


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be changed: moves left in this hour, instances taken from a cluster at once and by its budget."""

    moves: int
    step_down: int | None
    disruptions: Mapping[str, int]
    paused: bool


def shrink(change: Change, allowed: Allowance) -> tuple[IntArray, tuple[str, ...]]:
    """The target after all limits, and what each of them said."""
    if allowed.paused:
        held = np.where(change.told, change.target, change.before)
        said = ("placement is paused: nothing is placed or moved",) if (held != change.target).any() else ()
        return held, said
    target = change.target
    if not change.before.any():  # nothing can be taken from anywhere
        return target, ()
    vetoes: list[str] = []
    for limit in (_steps, _disruptions, _moves):
        target, words = limit(change, target, allowed)
        vetoes += words
    return target, tuple(vetoes)


def _steps(change: Change, target: IntArray, allowed: Allowance) -> tuple[IntArray, list[str]]:
    """At most `step_down` fewer in a cluster."""
    if allowed.step_down is None:
        return target, []
    least = np.where(change.told, 0, change.before - allowed.step_down)
    text = f"at most {allowed.step_down} instances fewer at once in"
    return _raised(change, target, least, text)


def _disruptions(change: Change, target: IntArray, allowed: Allowance) -> tuple[IntArray, list[str]]:
    """At most as many fewer in a cluster as its disruption budget allows."""
    if not allowed.disruptions:
        return target, []
    budget = np.array([allowed.disruptions.get(name, 1 << 40) for name in change.names], dtype=np.int64)
    return _raised(change, target, change.before - budget, "its disruption budget allows no more in")


def _moves(change: Change, target: IntArray, allowed: Allowance) -> tuple[IntArray, list[str]]:
    """At most `moves` instances leave one cluster for another; a move that a person asked for is not counted."""
    fewer = np.where(change.told, 0, np.maximum(change.before - target, 0))
    more = np.maximum(target - change.before, 0)
    moved = int(min(fewer.sum(), more.sum()))
    excess = moved - max(allowed.moves, 0)
    if excess <= 0:
        return target, []
    kept = target + _taken(excess, fewer, change.scores) - _taken(excess, more, -change.scores)
    return kept, [f"{excess} of {moved} moves wait: {max(allowed.moves, 0)} left in this hour"]


def _raised(change: Change, target: IntArray, least: IntArray, text: str) -> tuple[IntArray, list[str]]:
    """The target with no cluster that loses instances below `least`, and as many fewer added elsewhere."""
    floor = np.minimum(np.maximum(least, 0), change.before)
    raised = np.where(target < change.before, np.maximum(target, floor), target)
    kept = raised - target
    if not kept.any():
        return target, []
    where = ", ".join(name for name, more in zip(change.names, kept.tolist(), strict=True) if more)
    added = np.maximum(target - change.before, 0)
    return raised - _taken(int(kept.sum()), added, -change.scores), [f"{text} {where}"]


def _taken(number: int, most: IntArray, order: FloatArray) -> IntArray:
    """Up to `number` taken from `most`, from the highest `order` down."""
    first = np.argsort(-order, kind="stable")
    offered = most[first]
    taken = np.zeros_like(most)
    taken[first] = np.clip(number - (np.cumsum(offered) - offered), 0, offered)
    return taken

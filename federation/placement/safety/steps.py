"""A move is two steps: the new instances first, and only when they are ready the old ones go.

Level-triggered: asked again with what runs now, it answers with what to want in each cluster next. It never takes an
instance whose place is not yet filled by a ready one, nor goes below the ready minimum, nor cuts where what we see is
old. A crash between two calls loses nothing, since nothing is remembered here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from federation.snapshot import Running


@dataclass(frozen=True, slots=True)
class Step:
    """What to want in each cluster next, by name; `waiting` says what the rest waits for, None when all is done."""

    wanted: Mapping[str, int]
    waiting: str | None


def next_step(
    target: Mapping[str, int],
    running: Mapping[str, Running],
    *,
    ready_minimum: int = 0,
    unsure: frozenset[str] = frozenset(),
) -> Step:
    """The next numbers on the way from what runs to `target`; `unsure`: clusters that are not to be cut.

    Instances are taken only as far as ready ones in the target's places stand in for them.
    """
    names = sorted({*target, *running})
    wish = {name: target.get(name, 0) for name in names}
    ready = {name: running[name].ready if name in running else 0 for name in names}
    there = {name: running[name].wanted if name in running else 0 for name in names}
    standing = sum(min(ready[name], wish[name]) for name in names)
    goal = max(sum(wish.values()), 0)
    lacking = goal - standing
    wanted, kept_back = {}, []
    spare = max(0, lacking)
    shortfall = max(0, ready_minimum - standing)
    for name in names:
        surplus = max(0, there[name] - wish[name])
        if not surplus or name in unsure:
            wanted[name] = max(wish[name], there[name]) if name in unsure else wish[name]
            continue
        kept = min(surplus, max(spare, shortfall))
        spare, shortfall = max(0, spare - kept), max(0, shortfall - kept)
        wanted[name] = wish[name] + kept
        if kept:
            kept_back.append(f"{kept} in {name}")
    waiting = f"{', '.join(kept_back)} until {lacking} more are ready" if kept_back else None
    return Step(wanted, waiting)

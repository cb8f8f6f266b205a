"""Placement as one pure function: look, filter, score, divide, shrink to what is safe, and say why.

Nothing here reads a clock or remembers anything. What changes between decisions (the columns of the fleet, the book of
promised room and its tally) comes in as values; `placer.Placer` holds them for a service, a simulator or a test.
"""

from __future__ import annotations

from dataclasses import dataclass

from federation.placement.answer import Placement
from federation.placement.divide.allot import allot
from federation.placement.explain.answering import answer
from federation.placement.factors.judged import judge
from federation.placement.filters.examine import examine
from federation.placement.filters.sieve import sieve
from federation.placement.fleet.compiled import FleetColumns
from federation.placement.fleet.follow import follow
from federation.placement.reserve.book import EMPTY, Book
from federation.placement.reserve.tally import Tally, tally_of
from federation.placement.terms import Terms
from federation.placement.workload import Workload
from federation.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Ground:
    """What a decision stands on: the fleet in columns, and the room that is promised already, with its tally."""

    fleet: FleetColumns
    book: Book
    tally: Tally


def ground(snapshot: Snapshot, book: Book = EMPTY, last: Ground | None = None) -> Ground:
    """The ground for decisions over a snapshot; what `last` has in common with it is used again."""
    return stand(follow(snapshot, None if last is None else last.fleet), book, last)


def stand(fleet: FleetColumns, book: Book, last: Ground | None = None) -> Ground:
    """The same on columns that are there."""
    return Ground(fleet, book, tally_of(book, fleet.names, None if last is None else last.tally))


def place(
    snapshot: Snapshot, workload: Workload, *, book: Book = EMPTY, terms: Terms | None = None, now: float
) -> Placement:
    """Where the instances of a workload go, with the whole reason."""
    return decide(ground(snapshot, book), workload, terms=terms or Terms(), now=now)


def decide(on: Ground, workload: Workload, *, terms: Terms, now: float) -> Placement:
    """The same on ground that is kept between decisions."""
    case = examine(on.fleet, workload, book=on.book, tally=on.tally, terms=terms, now=now)
    judged = judge(case, sieve(case))
    return answer(judged, allot(judged))

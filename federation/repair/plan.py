"""A plan of moves: put into an order that is safe to carry out, and carried out again to check it.

A move ends an item where it runs and starts it where it shall run; its target must have room at that moment. Where
items would have to change places with each other, no order is safe: such a plan needs both to run at once (`surge`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from federation.repair.board import Board, Item, Seat
from prewarm.domain import PrewarmError

PENDING = -1
"""The key of the pending item on a board."""


class Verdict(StrEnum):
    """`plan`: moves that bind it; `none`: proved that no plan of so few moves exists; `unknown`: time ran out.

    `surge`: only plans were found in which items change places with each other.
    """

    PLAN = "plan"
    NONE = "none"
    SURGE = "surge"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Move:
    """An item goes from one seat to another."""

    key: int
    source: Seat
    target: Seat


@dataclass(frozen=True, slots=True)
class Repair:
    """What the search found. fewest: no plan has fewer moves. looked: placements that were tried."""

    verdict: Verdict
    moves: tuple[Move, ...] = ()
    seat: Seat | None = None
    fewest: bool = False
    looked: int = 0


def replay(board: Board, pending: Item, repair: Repair) -> None:
    """Carry out a plan on a board, move by move, then bind; raises PrewarmError where there is no room."""
    for move in repair.moves:
        if board.seats.get(move.key) != move.source:
            raise PrewarmError(f"repair: item {move.key} does not run where the plan says")
        board.rise(move.key)
        if not board.has_room(move.key, move.target):
            raise PrewarmError(f"repair: no room for item {move.key} on node {move.target[0]}")
        board.sit(move.key, move.target)
    board.items[PENDING] = pending
    if repair.seat is None or not board.has_room(PENDING, repair.seat):
        raise PrewarmError("repair: no room for the pending item after the moves")
    board.sit(PENDING, repair.seat)


def in_order(board: Board, moves: Sequence[Move]) -> tuple[Move, ...] | None:
    """The moves in an order in which each target has room, None where there is none; `board` is left as it was."""
    left, ordered = list(moves), []
    while left:
        ready = next((move for move in left if _can_go(board, move)), None)
        if ready is None:
            break
        board.rise(ready.key)
        board.sit(ready.key, ready.target)
        ordered.append(ready)
        left.remove(ready)
    for move in reversed(ordered):
        board.rise(move.key)
        board.sit(move.key, move.source)
    return tuple(ordered) if not left else None


def _can_go(board: Board, move: Move) -> bool:
    board.rise(move.key)
    room = board.has_room(move.key, move.target)
    board.sit(move.key, move.source)
    return room

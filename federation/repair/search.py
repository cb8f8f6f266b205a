"""Exact repair: depth-first search over which items leave for which, with one more move allowed each time.

An item without a place (first the pending one) is put where it fits, or where a minimal set of smaller items can leave
for it; those are then without a place in their turn. Every plan of at most k moves is one of these paths, so a search
that ends without one is a proof; items that were moved stay where they were put, nodes that look alike are tried once,
and what failed with as many moves left is remembered. Time is asked of the caller's clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from federation.repair.board import GPU_WHOLE, Board, Item, Seat
from federation.repair.evict import Eviction, evictions
from federation.repair.plan import PENDING, Move, Repair, Verdict, in_order

MOST_MOVES = 5
_ASK_CLOCK_EVERY = 4


class _OutOfTimeError(Exception):
    """The deadline has passed."""


def repair(
    board: Board, pending: Item, *, deadline: float, clock: Callable[[], float], most: int = MOST_MOVES
) -> Repair:
    """The fewest moves, at most `most`, after which `pending` fits; the board is left as it was.

    clock and deadline are in the same seconds. `none` is a proof; `unknown` says that time ran out.
    """
    search = _Search(board, deadline, clock)
    board.items[PENDING] = pending
    try:
        if not _enough_in_sum(board, pending):
            return Repair(Verdict.NONE, fewest=True)
        for moves in range(most + 1):
            search.failed.clear()
            if search.place([PENDING], moves):
                found, seat = search.found
                return Repair(Verdict.PLAN, found, seat, fewest=not search.swaps, looked=search.looked)
        return Repair(Verdict.SURGE if search.swaps else Verdict.NONE, fewest=True, looked=search.looked)
    except _OutOfTimeError:
        return Repair(Verdict.UNKNOWN, looked=search.looked)
    finally:
        search.undo()
        del board.items[PENDING]


@dataclass(slots=True)
class _Search:
    """One search; `moved` keeps where items ran that have left, in the order of leaving."""

    board: Board
    deadline: float
    clock: Callable[[], float]
    moved: dict[int, Seat] = field(default_factory=dict)
    failed: set[tuple[object, ...]] = field(default_factory=set)
    found: tuple[tuple[Move, ...], Seat] = ((), (0, ()))
    swaps: int = 0
    looked: int = 0

    def place(self, homeless: list[int], left: int) -> bool:
        """Find places for all, with `left` more items that may leave; True leaves `found` behind."""
        self._ask_clock()
        if not homeless:
            return self._accept()
        if left == 0 and not all(self._fits_somewhere(key) for key in homeless):
            return False
        mark = self._mark(homeless, left)
        if mark in self.failed:
            return False
        key, others = homeless[0], homeless[1:]
        if self._directly(key, others, left) or (left > 0 and self._by_eviction(key, others, left)):
            return True
        self.failed.add(mark)
        return False

    def undo(self) -> None:
        """Everybody back to where the search began."""
        for key in (*self.moved, PENDING):
            if key in self.board.seats:
                self.board.rise(key)
        for key, seat in self.moved.items():
            self.board.sit(key, seat)
        self.moved.clear()

    def _directly(self, key: int, others: list[int], left: int) -> bool:
        for seat in self._open_seats(key):
            self.board.sit(key, seat)
            if self.place(others, left):
                return True
            self.board.rise(key)
        return False

    def _by_eviction(self, key: int, others: list[int], left: int) -> bool:
        item, fixed = self.board.items[key], self.moved.keys() | {PENDING}
        options: list[Eviction] = []
        for node in self._unlike(item):
            self._ask_clock()
            options.extend(evictions(self.board, node, item, fixed, left))
        options.sort(key=lambda option: (len(option[1]), sorted(map(self._size, option[1]))))
        return any(self._evict(key, others, left, option) for option in options)

    def _evict(self, key: int, others: list[int], left: int, option: tuple[Seat, tuple[int, ...]]) -> bool:
        seat, leaving = option
        self._ask_clock()
        for one in leaving:
            self.moved[one] = self.board.rise(one)
        self.board.sit(key, seat)
        homeless = sorted([*others, *leaving], key=self._size, reverse=True)
        if self.place(homeless, left - len(leaving)):
            return True
        self.board.rise(key)
        for one in reversed(leaving):
            self.board.sit(one, self.moved.pop(one))
        return False

    def _open_seats(self, key: int) -> list[Seat]:
        """Places where it fits now, one for each likeness of node and each different free share."""
        item, seats, seen = self.board.items[key], [], set()
        for node in range(len(self.board.nodes)):
            first = self.board.seat_on(node, item)
            if first is None:
                continue
            likeness = self.board.likeness(node)
            if likeness in seen:
                continue
            seen.add(likeness)
            seats.extend([first] if item.gpus != 1 or item.milli >= GPU_WHOLE else self._shares(node, item))
        seats.sort(key=lambda seat: (self.board.cpu[seat[0]], seat))
        return seats

    def _shares(self, node: int, item: Item) -> list[Seat]:
        free = self.board.gpu[node]
        return [(node, (device,)) for device in range(len(free)) if free[device] >= item.milli]

    def _unlike(self, item: Item) -> list[int]:
        """One node of each likeness that may ever take the item."""
        chosen: dict[tuple[object, ...], int] = {}
        for node, shape in enumerate(self.board.nodes):
            if shape.cpu >= item.cpu and shape.memory >= item.memory and self.board.allows(node, item):
                chosen.setdefault(self._likeness_with_moved(node), node)
        return list(chosen.values())

    def _likeness_with_moved(self, node: int) -> tuple[object, ...]:
        fixed = sorted(
            repr(self.board.items[key]) for key in self.board.running[node] if key in self.moved or key == PENDING
        )
        return (*self.board.likeness(node), tuple(fixed))

    def _fits_somewhere(self, key: int) -> bool:
        item = self.board.items[key]
        return any(self.board.seat_on(node, item) is not None for node in range(len(self.board.nodes)))

    def _accept(self) -> bool:
        """Put the moves into a safe order; a plan that has none is counted and not taken."""
        board = self.board
        targets = {key: board.rise(key) for key in (*self.moved, PENDING)}
        for key, seat in self.moved.items():
            board.sit(key, seat)
        moves = in_order(board, [Move(key, seat, targets[key]) for key, seat in self.moved.items()])
        for key in self.moved:
            board.rise(key)
        for key, seat in targets.items():
            board.sit(key, seat)
        if moves is None:
            self.swaps += 1
            return False
        self.found = (moves, targets[PENDING])
        return True

    def _mark(self, homeless: list[int], left: int) -> tuple[object, ...]:
        """The state of a search: who runs where that has moved, who has no place, how many may still leave."""
        at = tuple(
            sorted((key, self.board.seats.get(key)) for key in (*self.moved, PENDING) if key in self.board.seats)
        )
        return at, tuple(sorted(homeless)), left

    def _size(self, key: int) -> tuple[int, int, int]:
        item = self.board.items[key]
        return item.gpus * item.milli, item.cpu, item.memory

    def _ask_clock(self) -> None:
        self.looked += 1
        if self.looked % _ASK_CLOCK_EVERY == 1 and self.clock() > self.deadline:
            raise _OutOfTimeError


def _enough_in_sum(board: Board, item: Item) -> bool:
    """Whether all free room together would do: moves never make more of it."""
    may = [node for node in range(len(board.nodes)) if board.allows(node, item)]
    share = sum(sum(board.gpu[node]) for node in range(len(board.nodes)))
    return (
        bool(may)
        and sum(board.cpu) >= item.cpu
        and sum(board.memory) >= item.memory
        and share >= item.gpus * item.milli
    )

"""Which running items must leave a node so that one more fits: the smallest sets, never larger than a budget.

A set is asked for only if each of its members is needed. An item that needs at least as much as the newcomer never
leaves for it: the newcomer could take the place where that item would go, with fewer moves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import combinations

from federation.repair.board import GPU_WHOLE, Board, Item, Seat

Eviction = tuple[Seat, tuple[int, ...]]


def evictions(board: Board, node: int, item: Item, fixed: Collection[int], budget: int) -> Iterator[Eviction]:
    """Seats for the item on a node, each with a minimal set of 1 to `budget` items that must leave for it."""
    movable = [key for key in board.running[node] if key not in fixed and not item.needs_at_most(board.items[key])]
    if not movable or not board.allows(node, item) or board.nodes[node].gpus < item.gpus:
        return
    seen: set[tuple[object, ...]] = set()
    for devices in _device_sets(board, node, item):
        for leaving in _leaving(board, node, item, devices, (movable, budget)):
            mark = (tuple(sorted(map(_own(board, devices), leaving))), _room_mark(board, node, devices))
            if mark not in seen:
                seen.add(mark)
                yield (node, devices), leaving


def _own(board: Board, devices: tuple[int, ...]) -> Callable[[int], tuple[object, ...]]:
    def mark(key: int) -> tuple[object, ...]:
        item, on = board.items[key], board.seats[key][1]
        elsewhere = tuple(board.gpu[board.seats[key][0]][device] for device in on if device not in devices)
        return (item.cpu, item.memory, item.gpus, item.milli, item.models, elsewhere)

    return mark


def _room_mark(board: Board, node: int, devices: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(board.gpu[node][device] for device in devices))


def _device_sets(board: Board, node: int, item: Item) -> Iterator[tuple[int, ...]]:
    if item.gpus == 0:
        yield ()
        return
    yield from combinations(range(board.nodes[node].gpus), item.gpus)


def _leaving(
    board: Board, node: int, item: Item, devices: tuple[int, ...], choice: tuple[list[int], int]
) -> Iterator[tuple[int, ...]]:
    """Minimal sets of movable items whose leaving makes room on exactly these GPUs."""
    movable, budget = choice
    forced = _forced(board, node, item, devices)
    if len(forced) > budget or not set(forced) <= set(movable):
        return
    lacking = _lack(board, node, item, devices, forced)
    useful = [key for key in movable if key not in forced and _helps(board, key, devices, lacking)]
    for size in range(budget - len(forced) + 1):
        for more in combinations(useful, size):
            leaving = (*forced, *more)
            if (
                leaving
                and _enough(board, node, item, devices, leaving)
                and _minimal(board, node, item, devices, leaving)
            ):
                yield leaving


def _forced(board: Board, node: int, item: Item, devices: tuple[int, ...]) -> tuple[int, ...]:
    """Items on the GPUs that must be empty."""
    if item.milli < GPU_WHOLE:
        return ()
    return tuple(key for key in board.running[node] if set(board.seats[key][1]) & set(devices))


def _lack(
    board: Board, node: int, item: Item, devices: tuple[int, ...], leaving: tuple[int, ...]
) -> tuple[int, int, int]:
    cpu = item.cpu - board.cpu[node] - sum(board.items[key].cpu for key in leaving)
    memory = item.memory - board.memory[node] - sum(board.items[key].memory for key in leaving)
    share = 0
    for device in devices:
        freed = sum(board.items[key].milli for key in leaving if device in board.seats[key][1])
        share = max(share, item.milli - board.gpu[node][device] - freed)
    return cpu, memory, share


def _helps(board: Board, key: int, devices: tuple[int, ...], lacking: tuple[int, int, int]) -> bool:
    item, on = board.items[key], board.seats[key][1]
    cpu, memory, share = lacking
    return (
        (cpu > 0 and item.cpu > 0) or (memory > 0 and item.memory > 0) or (share > 0 and bool(set(on) & set(devices)))
    )


def _enough(board: Board, node: int, item: Item, devices: tuple[int, ...], leaving: tuple[int, ...]) -> bool:
    return max(_lack(board, node, item, devices, leaving)) <= 0


def _minimal(board: Board, node: int, item: Item, devices: tuple[int, ...], leaving: tuple[int, ...]) -> bool:
    return not any(_enough(board, node, item, devices, leaving[:at] + leaving[at + 1 :]) for at in range(len(leaving)))

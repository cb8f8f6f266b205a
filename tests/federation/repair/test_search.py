"""Repair against brute force on tiny boards, and worked cases on hand-made ones."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.repair import Board, Item, Node, Verdict, repair, replay
from federation.repair.board import Seat

NEVER = 1e9


def always() -> float:
    return 0.0


def board_of(nodes: list[Node], placed: list[tuple[Item, Seat]]) -> Board:
    items = dict(enumerate(item for item, _ in placed))
    return Board(tuple(nodes), items, dict(enumerate(seat for _, seat in placed)))


def seats_of(node: int, shape: Node, item: Item) -> Iterator[Seat]:
    for devices in itertools.combinations(range(shape.gpus), item.gpus):
        yield node, devices


def feasible(board: Board, items: dict[int, Item], seats: dict[int, Seat]) -> bool:
    try_board = Board(board.nodes)
    for key, seat in seats.items():
        try_board.items[key] = items[key]
        if not try_board.has_room(key, seat):
            return False
        try_board.sit(key, seat)
    return True


def fewest_by_hand(board: Board, pending: Item, most: int) -> int | None:
    """The least number of items that must be elsewhere in some feasible arrangement, by trying every one."""
    items = {**board.items, -1: pending}
    for moves in range(most + 1):
        for chosen in itertools.combinations(sorted(board.seats), moves):
            free = [*chosen, -1]
            choices = [
                [seat for node, shape in enumerate(board.nodes) for seat in seats_of(node, shape, items[key])]
                for key in free
            ]
            for seats in itertools.product(*choices):
                arranged = {**board.seats, **dict(zip(free, seats, strict=True))}
                if feasible(board, items, arranged):
                    return moves
    return None


def test_nothing_moves_where_there_is_room() -> None:
    board = board_of([Node(4_000, 8_000)], [])
    found = repair(board, Item(1_000, 1_000), deadline=NEVER, clock=always)
    assert (found.verdict, found.moves, found.seat) == (Verdict.PLAN, (), (0, ()))


def test_one_item_makes_way_for_a_larger_one() -> None:
    small, large = Item(1_000, 1_000), Item(4_000, 1_000)
    board = board_of([Node(4_000, 8_000), Node(1_500, 8_000)], [(small, (0, ()))])
    found = repair(board, large, deadline=NEVER, clock=always)
    assert found.verdict is Verdict.PLAN
    assert [(move.key, move.target) for move in found.moves] == [(0, (1, ()))]
    assert found.seat == (0, ())
    assert found.fewest


def test_a_share_changes_its_gpu_within_the_node() -> None:
    half = Item(100, 100, 1, 500)
    board = board_of([Node(8_000, 8_000, 2)], [(half, (0, (0,))), (half, (0, (1,)))])
    found = repair(board, Item(100, 100, 1, 1_000), deadline=NEVER, clock=always)
    assert found.verdict is Verdict.PLAN
    assert len(found.moves) == 1
    assert found.moves[0].target[0] == 0


def test_a_chain_of_two_moves_is_carried_out_from_its_far_end() -> None:
    big, middle, small = Item(4_000, 1), Item(2_000, 1), Item(1_000, 1)
    nodes = [Node(4_000, 9), Node(2_500, 9), Node(1_000, 9)]
    board = board_of(nodes, [(middle, (0, ())), (small, (1, ()))])
    found = repair(board, big, deadline=NEVER, clock=always)
    assert [move.key for move in found.moves] == [1, 0]
    replay(board, big, found)
    assert board.seats[-1] == (0, ())


def test_too_little_room_in_sum_is_a_proof() -> None:
    board = board_of([Node(2_000, 9), Node(2_000, 9)], [(Item(1_500, 1), (0, ())), (Item(1_500, 1), (1, ()))])
    assert repair(board, Item(2_000, 1), deadline=NEVER, clock=always).verdict is Verdict.NONE


def test_more_moves_than_allowed_is_a_proof_that_counts_only_for_them() -> None:
    small = Item(1_000, 1)
    nodes = [Node(3_000, 9), Node(3_000, 9)]
    board = board_of(nodes, [(small, (0, ())), (small, (0, ())), (small, (0, ()))])
    pending = Item(3_000, 1)
    board.sit(_add(board, small), (1, ()))
    assert repair(board, pending, deadline=NEVER, clock=always, most=0).verdict is Verdict.NONE
    found = repair(board, pending, deadline=NEVER, clock=always, most=1)
    assert (found.verdict, len(found.moves)) == (Verdict.NONE, 0)


def _add(board: Board, item: Item) -> int:
    key = max(board.items, default=-1) + 1
    board.items[key] = item
    return key


def test_a_model_that_is_not_allowed_is_no_place() -> None:
    nodes = [Node(9_000, 9, 1, model=0), Node(9_000, 9, 1, model=1)]
    bound_to_first = Item(10, 1, 1, 500, models=1)
    board = board_of(nodes, [(bound_to_first, (0, (0,)))])
    assert repair(board, Item(10, 1, 1, 1_000, models=1), deadline=NEVER, clock=always).verdict is Verdict.NONE
    free = board_of(nodes, [(Item(10, 1, 1, 500), (0, (0,)))])
    assert repair(free, Item(10, 1, 1, 1_000, models=1), deadline=NEVER, clock=always).verdict is Verdict.PLAN


def test_a_passed_deadline_is_unknown_and_never_a_proof() -> None:
    rng = np.random.default_rng(3)
    nodes = [Node(10_000, 99)] * 8
    placed: list[tuple[Item, Seat]] = [(Item(int(rng.integers(1_000, 3_000)), 1), (at % 8, ())) for at in range(24)]
    board = board_of(nodes, placed)
    before = dict(board.seats)
    found = repair(board, Item(9_500, 1), deadline=-1.0, clock=always)
    assert found.verdict is Verdict.UNKNOWN
    assert board.seats == before


def test_the_board_is_as_it_was_after_every_search() -> None:
    board = board_of([Node(4_000, 9), Node(1_500, 9)], [(Item(1_000, 1), (0, ()))])
    before = (dict(board.seats), list(board.cpu), dict(board.items))
    repair(board, Item(4_000, 1), deadline=NEVER, clock=always)
    assert (board.seats, board.cpu, board.items) == before


def test_items_that_would_have_to_change_places_are_named_as_surge() -> None:
    first, second, pending = Item(3_000, 1_000), Item(1_000, 3_000), Item(1_000, 1_000)
    nodes = [Node(3_000, 4_000), Node(2_000, 3_000)]
    board = board_of(nodes, [(second, (0, ()))])
    found = repair(board, first, deadline=NEVER, clock=always)
    assert found.verdict is Verdict.PLAN
    assert repair(board_of(nodes, []), pending, deadline=NEVER, clock=always).verdict is Verdict.PLAN


@st.composite
def tiny(draw: st.DrawFn) -> tuple[Board, Item]:
    nodes = [Node(draw(st.integers(2, 6)), draw(st.integers(2, 6)), draw(st.integers(0, 2))) for _ in range(3)]
    board = Board(tuple(nodes))
    for key in range(draw(st.integers(0, 4))):
        item = draw(items)
        seats = [seat for node, shape in enumerate(nodes) for seat in seats_of(node, shape, item)]
        board.items[key] = item
        able = [seat for seat in seats if board.has_room(key, seat)]
        if able:
            board.sit(key, draw(st.sampled_from(able)))
        else:
            del board.items[key]
    return board, draw(items)


items = st.one_of(
    st.builds(Item, st.integers(1, 4), st.integers(1, 4)),
    st.builds(Item, st.integers(1, 3), st.integers(1, 3), st.just(1), st.sampled_from([300, 500, 700, 1_000])),
    st.builds(Item, st.integers(1, 3), st.integers(1, 3), st.just(2), st.just(1_000)),
)


@settings(max_examples=60, deadline=None)
@given(tiny())
def test_it_agrees_with_brute_force(case: tuple[Board, Item]) -> None:
    board, pending = case
    fewest = fewest_by_hand(board, pending, 2)
    found = repair(board, pending, deadline=NEVER, clock=always, most=2)
    if found.verdict is Verdict.PLAN:
        assert fewest is not None
        assert len(found.moves) >= fewest
        if found.fewest:
            assert len(found.moves) == fewest
        replay(board, pending, found)
        assert min(*board.cpu, *board.memory) >= 0
    elif found.verdict is Verdict.NONE:
        assert fewest is None
    else:
        assert found.verdict is Verdict.SURGE


@pytest.mark.parametrize("most", [1, 2])
def test_more_moves_never_make_it_worse(most: int) -> None:
    small = Item(1_000, 1)
    board = board_of([Node(2_000, 9), Node(1_000, 9), Node(1_000, 9)], [(small, (0, ())), (small, (0, ()))])
    verdict = repair(board, Item(2_000, 1), deadline=NEVER, clock=always, most=most).verdict
    assert verdict is (Verdict.PLAN if most == 2 else Verdict.NONE)

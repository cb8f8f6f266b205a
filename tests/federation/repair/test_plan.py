"""A plan is checked by carrying it out: what it does not have room for is refused aloud."""

import pytest

from federation.repair import Board, Item, Move, Node, Repair, Verdict, replay
from federation.repair.plan import in_order
from prewarm.domain import PrewarmError

SMALL = Item(1_000, 1)


def two_nodes() -> Board:
    return Board((Node(2_000, 9), Node(1_000, 9)), {0: SMALL, 1: SMALL}, {0: (0, ()), 1: (1, ())})


def test_a_move_without_room_is_refused() -> None:
    plan = Repair(Verdict.PLAN, (Move(0, (0, ()), (1, ())),), (0, ()))
    with pytest.raises(PrewarmError, match="no room for item 0 on node 1"):
        replay(two_nodes(), Item(2_000, 1), plan)


def test_a_move_from_the_wrong_place_is_refused() -> None:
    plan = Repair(Verdict.PLAN, (Move(0, (1, ()), (0, ())),), (0, ()))
    with pytest.raises(PrewarmError, match="does not run where the plan says"):
        replay(two_nodes(), SMALL, plan)


def test_binding_without_room_is_refused() -> None:
    with pytest.raises(PrewarmError, match="after the moves"):
        replay(two_nodes(), Item(1_500, 1), Repair(Verdict.PLAN, (), (0, ())))


def test_binding_takes_the_room() -> None:
    board = two_nodes()
    replay(board, SMALL, Repair(Verdict.PLAN, (), (0, ())))
    assert board.cpu == [0, 0]


def test_moves_are_ordered_so_that_each_has_room() -> None:
    board = Board((Node(1_000, 9), Node(1_000, 9), Node(1_000, 9)), {0: SMALL, 1: SMALL}, {0: (0, ()), 1: (1, ())})
    moves = [Move(0, (0, ()), (1, ())), Move(1, (1, ()), (2, ()))]
    assert in_order(board, moves) == (moves[1], moves[0])
    assert board.seats == {0: (0, ()), 1: (1, ())}


def test_changing_places_has_no_safe_order() -> None:
    board = Board((Node(1_000, 9), Node(1_000, 9)), {0: SMALL, 1: SMALL}, {0: (0, ()), 1: (1, ())})
    assert in_order(board, [Move(0, (0, ()), (1, ())), Move(1, (1, ()), (0, ()))]) is None
    assert board.cpu == [0, 0]


def test_a_share_needs_its_gpu_and_not_just_some() -> None:
    board = Board((Node(9_000, 9, 2),), {0: Item(1, 1, 1, 700)}, {0: (0, (0,))})
    board.items[1] = Item(1, 1, 1, 500)
    assert not board.has_room(1, (0, (0,)))
    assert board.has_room(1, (0, (1,)))
    assert not board.has_room(1, (0, (0, 1)))
    assert board.seat_on(0, Item(1, 1, 1, 200)) == (0, (0,))


def test_nodes_are_alike_whatever_the_order_of_their_gpus() -> None:
    item = Item(1, 1, 1, 700)
    nodes = (Node(9_000, 9, 2), Node(9_000, 9, 2), Node(9_000, 9, 2, model=1))
    board = Board(nodes, {0: item, 1: item, 2: item}, {0: (0, (0,)), 1: (1, (1,)), 2: (2, (0,))})
    assert board.likeness(0) == board.likeness(1)
    assert board.likeness(0) != board.likeness(2)

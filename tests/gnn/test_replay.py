"""Prioritised replay against one that adds everything up each time; odd errors; saved and restored exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnn.replay import Replay, SumTree, Transition, packed, unpacked


def transition(number: int, size: int = 2) -> Transition:
    """One that can be told from the others, with arrays whose size varies."""
    seen: dict[str, NDArray[Any]] = {
        "x": np.full((number % size + 1, 2), number, np.float32),
        "rows": np.arange(number % 3),
    }
    after: dict[str, NDArray[Any]] = {"x": np.full((1, 2), -number, np.float32), "rows": np.arange(2)}
    action = np.full((1, 1), number, np.float32)
    taught = None if number % 3 == 0 else np.full((1, 1), number / 2, np.float32)
    return Transition(seen, action, float(number), number / 10, after, number % 2 == 0, taught)


def filled(count: int, *, capacity: int = 8, alpha: float = 1.0, seed: int = 0) -> Replay:
    """A buffer with transitions 0, 1, ..."""
    replay = Replay(capacity, alpha, np.random.default_rng(seed))
    for number in range(count):
        replay.add(transition(number))
    return replay


@given(
    amounts=st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(lambda one: sum(one) > 1e-3),
    seed=st.integers(0, 99),
)
@settings(deadline=None)
def test_the_tree_finds_what_adding_up_finds(amounts: list[float], seed: int) -> None:
    tree = SumTree(len(amounts))
    tree.put(np.arange(len(amounts)), np.array(amounts))
    assert tree.total == pytest.approx(sum(amounts))
    asked = np.random.default_rng(seed).random(50) * tree.total
    edges = np.cumsum(amounts)
    for found, amount in zip(tree.find(asked).tolist(), asked.tolist(), strict=True):
        low = edges[found] - amounts[found]
        assert low - 1e-6 * tree.total <= amount <= edges[found] + 1e-6 * tree.total
        assert amounts[found] > 0


@given(st.lists(st.tuples(st.integers(0, 12), st.floats(0, 1e9)), max_size=60))
@settings(deadline=None)
def test_the_sum_never_drifts(changes: list[tuple[int, float]]) -> None:
    tree, plain = SumTree(13), np.zeros(13)
    for row, amount in changes:
        tree.put(np.array([row]), np.array([amount]))
        plain[row] = amount
    again = SumTree(13)
    again.put(np.arange(13), plain)
    assert tree.total == again.total


def test_rows_are_drawn_as_often_as_their_error_says() -> None:
    replay, errors = filled(6), np.array([1.0, 2.0, 3.0, 4.0, 0.0, 10.0])
    replay.judge(np.arange(6), errors)
    wanted = (errors + 1e-3) / (errors + 1e-3).sum()
    counts = np.zeros(6)
    for _ in range(4_000):
        draw = replay.draw(4, 0.4)
        assert draw is not None
        counts += np.bincount(draw.rows, minlength=6)
    assert np.abs(counts / counts.sum() - wanted).max() < 0.01


def test_drawn_as_a_brute_force_sampler_draws_with_the_same_numbers() -> None:
    replay = filled(8, alpha=0.6)
    errors = np.random.default_rng(5).exponential(size=8)
    replay.judge(np.arange(8), errors)
    numbers = np.random.default_rng(7)
    replay.rng = np.random.default_rng(7)
    chance = (errors + 1e-3) ** 0.6
    for _ in range(200):
        draw = replay.draw(5, 0.4)
        assert draw is not None
        asked = (np.arange(5) + numbers.random(5)) * (chance.sum() / 5)
        rows = np.searchsorted(np.cumsum(chance), asked, side="right")
        assert draw.rows.tolist() == rows.tolist()
        weights = (8 * chance[rows] / chance.sum()) ** -0.4
        assert np.allclose(draw.weights, weights / weights.max())


def test_weights_undo_the_preference() -> None:
    replay, values = filled(6), np.array([5.0, 1.0, 1.0, 3.0, 2.0, 0.0])
    replay.judge(np.arange(6), np.array([9.0, 1.0, 1.0, 2.0, 1.0, 5.0]))
    above, below = 0.0, 0.0
    for _ in range(8_000):
        draw = replay.draw(1, 1.0)
        assert draw is not None
        chance = replay.tree.node[replay.tree.first + draw.rows] / replay.tree.total
        above += float((values[draw.rows] / chance).sum())
        below += float((1 / chance).sum())
    assert above / below == pytest.approx(values.mean(), rel=0.05)


def test_the_oldest_makes_room_and_the_newest_is_most_urgent() -> None:
    replay = filled(8)
    replay.judge(np.arange(8), np.full(8, 0.5))
    replay.judge(np.array([3]), np.array([4.0]))
    replay.add(transition(100))
    assert [one.reward for one in replay.kept] == [100.0, *map(float, range(1, 8))]
    leaves = replay.tree.node[replay.tree.first :]
    assert leaves[0] == leaves[3] == pytest.approx(4.001)


def test_without_preference_all_are_drawn_alike() -> None:
    replay = filled(4, alpha=0.0, capacity=4)
    replay.judge(np.arange(4), np.array([1e6, 0.0, 1.0, np.nan]))
    draw = replay.draw(400, 0.4)
    assert draw is not None
    assert np.bincount(draw.rows).tolist() == [100, 100, 100, 100]
    assert draw.weights.tolist() == [1.0] * 400


def test_the_same_seed_draws_the_same() -> None:
    one, other, third = (filled(7, seed=seed) for seed in (3, 3, 4))
    drawn = [replay.draw(30, 0.4) for replay in (one, other, third)]
    rows = [draw.rows.tolist() for draw in drawn if draw is not None]
    assert rows[0] == rows[1] != rows[2]


def _same(one: Transition, other: Transition) -> None:
    assert (one.reward, one.violation, one.ends) == (other.reward, other.violation, other.ends)
    for mine, theirs in ((one.before, other.before), (one.after, other.after)):
        assert list(mine) == list(theirs)
        for key in mine:
            assert mine[key].dtype == theirs[key].dtype
            assert np.array_equal(mine[key], theirs[key])
    assert np.array_equal(one.action, other.action)
    if one.taught is None or other.taught is None:
        assert one.taught is other.taught
    else:
        assert np.array_equal(one.taught, other.taught)


def test_packed_and_unpacked_they_are_the_same() -> None:
    kept = [transition(number, size=4) for number in range(7)]
    for one, other in zip(kept, unpacked(packed(kept)), strict=True):
        _same(one, other)
    assert list(unpacked(packed([]))) == []


@pytest.mark.parametrize("count", [0, 3, 8, 13])
def test_restored_it_goes_on_exactly_as_it_would_have(count: int) -> None:
    replay = filled(count, alpha=0.6)
    if count:
        replay.judge(np.arange(min(count, 8)), np.linspace(0, 3, min(count, 8)))
    again = Replay(8, 0.6, np.random.default_rng())
    again.restore(replay.state())
    again.rng.bit_generator.state = replay.rng.bit_generator.state
    for number in range(20):
        _agree(replay.draw(4, 0.5), again.draw(4, 0.5))
        for one in (replay, again):
            one.add(transition(50 + number))
            one.judge(np.array([number % 8 % len(one)]), np.array([float(number)]))
    assert np.array_equal(replay.tree.node, again.tree.node)


def _agree(one: Any, other: Any) -> None:
    if one is None:
        assert other is None
    else:
        assert np.array_equal(one.rows, other.rows)
        assert np.array_equal(one.weights, other.weights)

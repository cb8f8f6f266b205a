"""Errors of zero, of no number, and one that drowns the others: every transition keeps a chance."""

from __future__ import annotations

import numpy as np
import pytest

from gnn.replay import Replay, Transition

CAPACITY, BATCH, ALPHA, BETA = 8, 4, 0.6, 0.4


def _replay() -> Replay:
    replay = Replay(CAPACITY, ALPHA, np.random.default_rng(0))
    seen = {"x": np.zeros((1, 1), np.float32)}
    for _ in range(CAPACITY):
        replay.add(Transition(seen, np.zeros((1, 1), np.float32), 0.0, 0.0, seen, True))
    return replay


def _shares(replay: Replay) -> np.ndarray:
    counts = np.zeros(CAPACITY)
    for _ in range(1_000):
        draw = replay.draw(BATCH, BETA)
        assert draw is not None
        assert np.isfinite(draw.weights).all()
        assert draw.weights.max() <= 1.0
        counts += np.bincount(draw.rows, minlength=CAPACITY)
    shares: np.ndarray = counts / counts.sum()
    return shares


def test_all_zero_is_close_to_uniform() -> None:
    replay = _replay()
    replay.judge(np.arange(CAPACITY), np.zeros(CAPACITY))
    assert _shares(replay) == pytest.approx(np.full(CAPACITY, 0.125), abs=0.03)


def test_an_error_that_is_no_number_spreads_nowhere() -> None:
    replay = _replay()
    replay.judge(np.arange(CAPACITY), np.array([0, 0, 0, np.nan, 0, 0, 0, 0]))
    assert np.isfinite(replay.tree.node).all()
    shares = _shares(replay)
    assert np.isfinite(shares).all()
    assert shares[3] == shares.max()  # as urgent as what nobody has learned from yet


def test_one_outlier_does_not_shut_the_others_out_and_is_forgotten() -> None:
    replay = _replay()
    replay.judge(np.arange(CAPACITY), np.array([1e6, *[0.01] * 7]))
    rest = 7 * (0.011 / 1e6) ** ALPHA
    chance = 1 - float(replay.tree.node[replay.tree.first] / replay.tree.total)
    assert chance == pytest.approx(rest, rel=0.01)
    draws = [replay.draw(BATCH, BETA) for _ in range(20_000)]
    others = sum(int((draw.rows > 0).sum()) for draw in draws if draw is not None)
    assert others > 0
    replay.judge(np.array([0]), np.array([0.01]))
    assert replay.tree.node[replay.tree.first :].max() == pytest.approx(0.011**ALPHA)
    assert _shares(replay) == pytest.approx(np.full(CAPACITY, 0.125), abs=0.03)


def test_nothing_kept_is_nothing_to_learn_from() -> None:
    assert Replay(CAPACITY, ALPHA, np.random.default_rng(0)).draw(BATCH, BETA) is None

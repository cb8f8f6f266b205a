"""Evaluation: paired by seed, an interval that covers, and weights that do not belong are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the learn extra is not installed")

from gnn.forms import Rule
from gnn.train.evaluate import Evaluation, apart, evaluate, interval, weights_for
from gnn.train.loop import train
from gnn.train.tasks import find, names
from prewarm.domain import InputError
from tests.gnn.train.test_loop import silent
from tests.gnn.train.worlds import ContextTask, plan


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(100):
        low, high = interval(rng.normal(1.0, 2.0, 30), rng)
        covered += low <= 1.0 <= high
    assert 88 <= covered <= 99


def test_two_policies_are_compared_world_by_world() -> None:
    def told(*by_seed: float) -> Evaluation:
        return Evaluation(tuple(range(len(by_seed))), float(np.mean(by_seed)), 0.0, 0.0, by_seed, {}, 0)

    ours, theirs = told(0.5, -0.1, 0.3), told(0.4, -0.2, 0.2)
    assert apart(ours, theirs) == pytest.approx((0.1, 0.1, 0.1))
    assert apart(theirs, ours) == pytest.approx((-0.1, -0.1, -0.1))
    mean, low, high = apart(told(0.5, -0.1), told(0.1, 0.3))
    assert (mean, low, high) == pytest.approx((0.0, -0.4, 0.4))


def test_each_seed_is_judged_by_itself(tmp_path: Path) -> None:
    task = ContextTask()
    result = train(task, plan(questions=6, lessons=100, imitations=80, imitation_rate=5e-3), tmp_path,
                   progress=silent, seed=0)  # fmt: skip
    student = weights_for(task, result.weights)
    found = evaluate(task, student, [3, 4, 5], silent_share)
    assert found.by_seed == tuple(task.judge(student.act, [seed]).score for seed in (3, 4, 5))
    assert found.score == pytest.approx(np.mean(found.by_seed))
    assert found.low <= found.score <= found.high
    assert found.declined == 0
    task.rule = Rule((2.0,))
    with pytest.raises(InputError, match="another rule"):
        weights_for(task, result.weights)


def silent_share(share: float, doing: str) -> None:
    """Progress that nobody sees."""
    assert 0.0 <= share < 1.0
    assert doing.startswith("seed ")


def test_absent_weights_say_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="prewarm train placement --task contexts"):
        weights_for(ContextTask(), tmp_path / "none.npz")


def test_worlds_are_found_by_name_and_the_others_named() -> None:
    assert "fleet" in names()
    assert find("fleet").name == "fleet"
    with pytest.raises(InputError, match=r"'moon' is not one of .*fleet"):
        find("moon")

"""Training: taken up again as if never interrupted, better than the rule where it can be, and the best ships."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the learn extra is not installed")

import orjson
import torch

from gnn.student import read_student
from gnn.train.card import add_evaluation, facts, write_card
from gnn.train.loop import Trained, train
from gnn.train.run import CHECKPOINT
from gnn.train.seeds import EVALUATION, TRAINING_FROM, VALIDATION
from prewarm.domain import InputError
from tests.gnn.train.worlds import ContextTask, plan


def silent(share: float, doing: str = "") -> None:
    """Progress that nobody sees."""
    assert 0.0 <= share <= 1.0
    assert doing


def trained(folder: Path, **changes: Any) -> Trained:
    """A run of seed 3 in the world of contexts."""
    resume = changes.pop("resume", False)
    torch.set_num_threads(1)
    return train(ContextTask(), plan(**changes), folder, progress=silent, seed=3, resume=resume)


def state(folder: Path) -> dict[str, Any]:
    """A checkpoint without what the clock wrote."""
    found: dict[str, Any] = torch.load(folder / CHECKPOINT, weights_only=True)
    del found["counters"]["seconds"]
    found["curve"] = [{**entry, "seconds": 0} for entry in orjson.loads(found["curve"])]
    return found


def same(one: Any, other: Any) -> None:
    """Equal to the last bit."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, list):
        for mine, theirs in zip(one, other, strict=True):
            same(mine, theirs)
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    else:
        assert one == other


def test_a_run_that_was_interrupted_is_the_run_that_was_not(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", questions=36)
    trained(tmp_path / "twice", questions=18)
    again = trained(tmp_path / "twice", questions=36, resume=True)
    same(state(tmp_path / "whole"), state(tmp_path / "twice"))
    assert whole.updates == again.updates > 10
    assert whole.weights.read_bytes() == again.weights.read_bytes()


def test_another_seed_is_another_run(tmp_path: Path) -> None:
    one = trained(tmp_path / "one", questions=12)
    other = train(ContextTask(), plan(questions=12), tmp_path / "other", progress=silent, seed=4)
    assert one.weights.read_bytes() != other.weights.read_bytes()


def test_what_is_learned_beats_the_rule_and_the_best_is_what_is_written(tmp_path: Path) -> None:
    result = trained(tmp_path, lessons=100, imitations=80, imitation_rate=5e-3)
    student = read_student(result.weights)
    again = ContextTask().judge(student.act, plan().validation)
    assert result.score == max(entry["score"] for entry in result.curve)
    assert again.score == pytest.approx(result.score, abs=1e-4)
    assert result.score > 0.2  # the rule is 0.43 away from the best on average
    lines = [orjson.loads(line) for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert lines == result.curve
    assert len(lines) > 1


def test_without_a_teacher_nothing_is_imitated(tmp_path: Path) -> None:
    result = trained(tmp_path, imitations=0, questions=6)
    assert result.score == pytest.approx(0.0, abs=0.02)  # as it began: the rule


def test_seeds_serve_one_purpose_each(tmp_path: Path) -> None:
    task = ContextTask()
    train(task, plan(questions=6), tmp_path, progress=silent, seed=0)
    assert set(task.judged) == {500, 501}
    assert not set(EVALUATION) & set(VALIDATION)
    assert max(*EVALUATION, *VALIDATION) < TRAINING_FROM


def test_time_ends_a_run_and_what_was_done_is_kept(tmp_path: Path) -> None:
    result = trained(tmp_path, seconds=0.0, questions=None)
    assert result.questions == 0
    assert np.isfinite(result.score)
    assert (tmp_path / CHECKPOINT).exists()


def test_a_run_goes_on_as_it_was_started_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no checkpoint"):
        trained(tmp_path, resume=True)
    trained(tmp_path, questions=6)
    with pytest.raises(InputError, match="another judge_every"):
        trained(tmp_path, questions=12, judge_every=11, resume=True)


def test_the_card_says_what_was_seen(tmp_path: Path) -> None:
    task, told = ContextTask(), plan(questions=6)
    task.data = {"calls.csv": "ab12"}  # type: ignore[attr-defined]
    result = train(task, told, tmp_path, progress=silent, seed=3)
    write_card(tmp_path / "card.md", facts(task, told, result, seed=3, command="prewarm train"))
    for score in (0.125, 0.25):
        add_evaluation(tmp_path / "card.md", {"score": score})
    card = (tmp_path / "card.md").read_text()
    assert "calls.csv sha256 ab12" in card
    assert f"validation score: {result.score:.6g}" in card
    best = max(result.curve, key=lambda entry: float(entry["score"]))
    assert f"- kept from: questions {best['questions']}, updates {best['updates']}" in card
    assert "- score: 0.25\n" in card
    assert "0.125" not in card  # what was measured last
    assert card.index("- score") < card.index("- judge_every: ")
    with pytest.raises(InputError, match="not the card"):
        add_evaluation(tmp_path / "none.md", {"score": 0.25})
    assert f"torch {version('torch')}" in card

"""Spread or not, the same is learned."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the learn extra is not installed")

from gnn.train.lessons import Teaching, collect
from gnn.train.loop import train
from gnn.train.spread import Here, OverRay, Spread
from prewarm.domain import InputError
from tests.gnn.train.test_loop import silent
from tests.gnn.train.worlds import QUESTIONS, ContextTask, plan


class Sent:
    """Several pieces at a time, each and its answer pickled as on their way to another machine."""

    width = 4

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """The answers, in order."""
        self.asked += (many := list(items))
        return [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(work))(item))) for item in many]


def never() -> bool:
    """Time is never over."""
    return False


def test_lessons_played_several_at_a_time_are_those_played_one_by_one() -> None:
    teaching = Teaching(ContextTask(), plan(lessons=5 * QUESTIONS))
    spread = Sent()
    one, other = (collect(teaching, 10_000, way, never) for way in (Here(), spread))
    assert spread.asked == list(range(10_000, 10_008))  # two times four
    assert one.episodes == other.episodes == 5
    assert one.asked == other.asked == 5 * QUESTIONS
    for mine, theirs in zip(one.transitions, other.transitions, strict=True):
        assert np.array_equal(mine.action, theirs.action)
        assert mine.reward == theirs.reward
    assert len(one.seen) == len(other.seen) < one.asked  # the teacher has no opinion about some


def test_lessons_differ_from_seed_to_seed() -> None:
    teaching = Teaching(ContextTask(), plan())
    one, other = (teaching(seed).transitions[0].action for seed in (10_000, 10_001))
    assert not np.array_equal(one, other)


def run(folder: Path, spread: Spread | None) -> bytes:
    """The weights of a small run."""
    return train(ContextTask(), plan(), folder, progress=silent, seed=3, spread=spread).weights.read_bytes()


def test_a_run_that_is_spread_ends_with_the_same_weights(tmp_path: Path) -> None:
    spread = Sent()
    assert run(tmp_path / "here", None) == run(tmp_path / "there", spread)
    assert {500, 501} <= set(spread.asked)  # judged there too


def test_over_a_ray_cluster_too(tmp_path: Path, ray_address: str) -> None:
    assert run(tmp_path / "here", None) == run(tmp_path / "there", OverRay(ray_address))


def test_an_error_in_a_piece_over_ray_is_the_error(ray_address: str) -> None:
    with pytest.raises(InputError, match="no good: 3"):
        OverRay(ray_address).map(_refuses, [3])


def _refuses(item: int) -> None:
    raise InputError(f"no good: {item}")


def test_where_no_cluster_answers_one_line_says_so() -> None:
    pytest.importorskip("ray", reason="the ray extra is not installed")
    with pytest.raises(InputError, match=r"--ray 127\.0\.0\.1:1: no Ray cluster answers"):
        OverRay("127.0.0.1:1")


def test_without_ray_one_line_says_what_to_install() -> None:
    try:
        import ray  # noqa: F401
    except ImportError:
        with pytest.raises(InputError, match=r"pip install 'prewarm-fleet\[ray\]'"):
            OverRay("auto")
    else:
        pytest.skip("Ray is installed")


@pytest.fixture(scope="module")
def ray_address() -> Iterable[str]:
    """A cluster of two processors on this machine."""
    ray = pytest.importorskip("ray", reason="the ray extra is not installed")
    context = ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield context.address_info["gcs_address"]
    ray.shutdown()

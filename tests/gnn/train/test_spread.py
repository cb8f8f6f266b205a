"""Spread or not, the same is learned."""

from __future__ import annotations

import os
import pickle
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the learn extra is not installed")

from gnn.train.lessons import Teaching, collect
from gnn.train.loop import train
from gnn.train.several import Training
from gnn.train.spread import Here, OverRay, Spread
from prewarm.domain import InputError
from tests.gnn.train.test_loop import silent
from tests.gnn.train.worlds import QUESTIONS, ContextTask, plan

# Ray listens on every interface, and reads this once, when it is imported
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


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


@pytest.mark.ray
def test_over_a_ray_cluster_too(tmp_path: Path, over_ray: OverRay) -> None:
    assert over_ray.width == 2
    assert run(tmp_path / "here", None) == run(tmp_path / "there", over_ray)


@pytest.mark.ray
def test_whole_runs_over_ray_write_what_they_write_here(tmp_path: Path, over_ray: OverRay) -> None:
    products = over_ray.map(Training(ContextTask(), plan(questions=12), "prewarm train"), [3, 4])
    for seed, product in zip((3, 4), products, strict=True):
        product.write(tmp_path / str(seed))
        here = train(ContextTask(), plan(questions=12), tmp_path / f"here{seed}", progress=silent, seed=seed)
        assert (tmp_path / str(seed) / here.weights.name).read_bytes() == here.weights.read_bytes()
        assert f"- seed: {seed}" in (tmp_path / str(seed) / "placement-contexts.md").read_text()
        assert [entry["score"] for entry in product.curve] == [entry["score"] for entry in here.curve]


@pytest.mark.ray
def test_an_error_in_a_piece_over_ray_is_the_error(over_ray: OverRay) -> None:
    with pytest.raises(InputError, match="no good: 3"):
        over_ray.map(_refuses, [3])


def _refuses(item: int) -> None:
    raise InputError(f"no good: {item}")


@pytest.mark.ray
@pytest.mark.parametrize(("address", "why"), [("127.0.0.1:1", "refused"), ("moon", "give HOST:PORT"), ("a:b", "give")])
def test_where_no_cluster_answers_one_line_says_so(address: str, why: str) -> None:
    pytest.importorskip("ray", reason="the ray extra is not installed")
    with pytest.raises(InputError, match=f"--ray {address}: no Ray cluster answers.*{why}"):
        OverRay(address)


def test_without_ray_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    with pytest.raises(InputError, match=r"pip install 'prewarm-fleet\[ray\]'"):
        OverRay("auto")


@pytest.fixture(scope="module")
def over_ray() -> Iterator[OverRay]:
    """A cluster of two processors, started as an operator would, and joined."""
    pytest.importorskip("ray", reason="the ray extra is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = ["start", "--head", "--block", "--node-ip-address=127.0.0.1", f"--port={port}", "--num-cpus=2"]
    calm = ["--include-dashboard=false", "--disable-usage-stats", "--object-store-memory=200000000"]
    cluster = subprocess.Popen(
        [sys.executable, "-m", "ray.scripts.scripts", *start, *calm],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    spread = None
    try:
        spread = _joined(f"127.0.0.1:{port}")
        yield spread
    finally:
        if spread is not None:
            spread.close()
        cluster.terminate()
        cluster.wait(30)


def _joined(address: str) -> OverRay:
    """As soon as the cluster answers."""
    for _ in range(60):
        try:
            return OverRay(address)
        except InputError:
            time.sleep(1.0)
    return OverRay(address)

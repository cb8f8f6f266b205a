"""The student says what the actor says, for other fleets than it was made with, and says when it cannot be read."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnn.forms import Form, Rule
from gnn.shape import EncoderShape, Kind, NetworkShape
from gnn.student import read_student, write_student
from prewarm.domain import InputError, PrewarmError

torch = pytest.importorskip("torch", reason="the learn extra is not installed")

from gnn.distill import CLOSE, difference, distil  # noqa: E402
from gnn.networks import Actor  # noqa: E402
from tests.gnn.fleets import FACTORS, some_observation  # noqa: E402


def shape_of(kind: Kind = Kind.ATTENTION, form: Form = Form.WEIGHTS) -> NetworkShape:
    """A network for the nine named factors."""
    return NetworkShape(Rule(tuple(np.linspace(0.2, 1.0, FACTORS).tolist()), 0.1), form, EncoderShape(kind))


def actor_of(shape: NetworkShape) -> Actor:
    """One with weights as after training: far from where they began."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    actor = Actor(shape)
    for one in actor.parameters():
        torch.nn.init.normal_(one, std=0.2)
    return actor


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("form", list(Form))
def test_actor_and_student_agree_on_fleets_of_any_size(kind: Kind, form: Form, tmp_path: Path) -> None:
    shape = shape_of(kind, form)
    actor = actor_of(shape)
    student = distil(actor, shape, tmp_path / "student.npz", probes=[some_observation(0)])
    assert student.shape == shape
    for seed, (clusters, functions, asks) in enumerate([(1, 1, 1), (2, 30, 3), (40, 5, 2), (120, 9, 1)]):
        observation = some_observation(seed, clusters, functions, asks)
        assert difference(actor, student, observation) <= CLOSE
        action = student.act(observation)
        assert action.shape == ((asks, FACTORS + 1) if form is Form.WEIGHTS else (asks * clusters, 1))
        assert np.abs(action).max() <= 1.0
        assert np.abs(action).max() > 0.01  # it says something


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_what_a_student_remembers_of_a_question_does_not_change_the_next(layers: int, tmp_path: Path) -> None:
    shape = NetworkShape(shape_of().rule, Form.WEIGHTS, EncoderShape(layers=layers))
    actor = actor_of(shape)
    student = distil(actor, shape, tmp_path / "student.npz", probes=[])
    asked = some_observation(5, clusters=20, functions=6)
    moved = {**asked, "values/link": asked["values/link"] * 0.5}
    pools = {**moved, "node/pool": asked["node/pool"][::-1].copy(), "values/part_of": asked["values/part_of"] * 0.3}
    fewer = {**pools, "ends/link": asked["ends/link"][:, 1:], "values/link": asked["values/link"][1:]}
    other = some_observation(6, clusters=20, functions=6)
    alone = {**other, "ends/link": np.zeros((2, 0), np.int64), "values/link": np.zeros((0, 4), np.float32)}
    for one in (asked, moved, asked, pools, fewer, other, alone, asked):
        assert difference(actor, student, one) <= CLOSE


def test_the_file_is_small_and_the_same_for_the_same_weights(tmp_path: Path) -> None:
    shape = shape_of()
    for name in ("one.npz", "other.npz"):
        distil(actor_of(shape), shape, tmp_path / name, probes=[])
    content = (tmp_path / "one.npz").read_bytes()
    assert content == (tmp_path / "other.npz").read_bytes()
    assert len(content) < 2_000_000


def test_a_student_that_says_something_else_does_not_ship(tmp_path: Path) -> None:
    path, told = tmp_path / "student.npz", shape_of(form=Form.RESIDUAL)
    with pytest.raises(PrewarmError, match="differs from the actor"):
        distil(Misled(told), told, path, probes=[some_observation(0)])
    assert not path.exists()


class Misled(Actor):
    """An actor whose answer is not what its weights say."""

    def forward(self, given: Any) -> Any:
        """Half of it."""
        return super().forward(given) * 0.5 + 0.1


def test_what_is_not_a_student_is_refused_in_one_line(tmp_path: Path) -> None:
    path, shape = tmp_path / "student.npz", shape_of()
    weights = {name: one.numpy() for name, one in actor_of(shape).state_dict().items()}
    path.write_bytes(b"no archive")
    with pytest.raises(InputError, match="not the weights"):
        read_student(path)
    write_student(path, shape, {**weights, "encoder.enter.cluster.weight": np.zeros((32, 3))})
    with pytest.raises(InputError, match=r"must be 32 x \d+; the features have changed"):
        read_student(path)
    write_student(path, shape, {**weights, "last.bias": np.full(FACTORS + 1, np.nan)})
    with pytest.raises(InputError, match="finite"):
        read_student(path)
    with pytest.raises(InputError, match="not the weights"):
        read_student(tmp_path / "absent.npz")


def test_reading_and_asking_a_student_loads_no_torch(tmp_path: Path) -> None:
    path, shape = tmp_path / "student.npz", shape_of()
    distil(actor_of(shape), shape, path, probes=[])
    program = (
        "import sys, pathlib; from gnn.student import read_student; from tests.gnn.fleets import some_observation;"
        "print(read_student(pathlib.Path(sys.argv[1])).act(some_observation(0)).shape,"
        "'torch' in sys.modules, 'torch_geometric' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.split(") ")[1].split() == ["False", "False"]


def test_a_decision_over_a_hundred_clusters_is_quick(tmp_path: Path) -> None:
    shape = shape_of()
    student = distil(actor_of(shape), shape, tmp_path / "student.npz", probes=[])
    observation = some_observation(3, clusters=100, functions=4)
    student.act(observation)
    best = 1.0
    for _ in range(20):
        start = time.process_time()
        student.act(observation)
        best = min(best, time.process_time() - start)
    assert best < 0.006  # two rounds; the same with one takes half as long

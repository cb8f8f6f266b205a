"""What is calibrated on is what a policy saw, episode by episode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gnn.guard.features import pooled
from gnn.guard.from_env import answer_row, streams
from gnn.observation import Observation
from prewarm.cli import main
from tests.gnn.fleets import some_observation


class Days:
    """Three questions an episode, drawn by its seed."""

    def __init__(self) -> None:
        self.seed, self.asked = 0, 0
        self.actions: list[NDArray[np.float32]] = []

    def reset(self, *, seed: int) -> tuple[Observation, dict[str, Any]]:
        """The first."""
        self.seed, self.asked = seed, 0
        return self._seen(), {}

    def step(self, action: NDArray[np.float32], /) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """The next."""
        self.actions.append(action)
        self.asked += 1
        return self._seen(), 0.0, self.asked == 3, False, {}

    def _seen(self) -> Observation:
        return some_observation(100 * self.seed + self.asked)


def test_each_episode_is_a_run_with_its_rows_and_answers() -> None:
    world, said = Days(), []
    found = streams(
        world,
        lambda seen: np.array([[seen["ask/values"].max(), -1.0]], np.float32),
        pooled,
        [(4, 2.0), (9, 0.5)],
        progress=lambda part, _: said.append(part),
    )
    assert [one.at.tolist() for one in found] == [[0.0, 2.0, 4.0], [0.0, 0.5, 1.0]]
    assert found[1].rows[2].tolist() == pooled(some_observation(902)).tolist()
    assert found[0].told[1].tolist() == pytest.approx(answer_row(world.actions[1]).tolist())
    assert said == [0.0, 0.5]


def test_without_weights_there_is_nothing_to_guard(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="the learn extra is not installed")
    monkeypatch.setattr("prewarm.cli.train_guard.shipped", lambda name: tmp_path / f"placement-{name}.npz")
    with pytest.raises(SystemExit) as stopped:
        main(["train", "guard", "--task", "fleet", "--out", str(tmp_path)])
    assert stopped.value.code == 2
    assert "train placement --task fleet --install first" in capsys.readouterr().err

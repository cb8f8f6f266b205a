"""The bench of the tree: features of a known question, and a policy that a tree can say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the learn extra is not installed")

from gnn.bench.tree import FEATURES, OUTPUTS, Asking, features_of, run
from gnn.fleet.outcome import size_of
from gnn.fleet.task import TUNED


def test_features_are_what_their_names_say() -> None:
    env = Asking(TUNED, 40_001, "far")
    env.reset(seed=40_001)
    workload, row = env.question.workload, dict(zip(FEATURES, features_of(env.question).tolist(), strict=True))
    assert row["instances"] == workload.replicas
    assert row["calls/s"] == workload.demand_per_s
    assert row["cores an instance"] == workload.requests["cpu"] / 1_000
    wanted = (workload.demand_per_s or 0.0) / (workload.replicas * size_of(workload))
    assert row["calls/s a core asked for"] == pytest.approx(wanted)
    assert row["clusters in question"] == len(env.question.clusters)
    assert 0.0 < row["spread of nearness"] <= 1.0


def test_what_an_answer_would_do_is_what_it_does_and_a_look_changes_nothing() -> None:
    env = Asking(TUNED, 40_001)
    env.reset(seed=40_001)
    key, answer = env.question.workload.key, np.zeros(len(OUTPUTS))
    first = env.placed(answer)
    env.placed(np.full(len(OUTPUTS), -0.9))
    assert env.play.state.counts(key).sum() == 0
    env.step(answer[None].astype(np.float32))
    assert first.sum() > 0
    assert np.array_equal(env.play.state.counts(key), first)


@pytest.mark.slow  # plays 28 episodes
def test_sixteen_leaves_say_what_the_shipped_policy_does(tmp_path: Path) -> None:
    shares: list[float] = []
    result = run(tmp_path, seed=0, quick=True, progress=lambda share, _doing: shares.append(share))
    same = [float(row["same placement %"]) for row in result.rows if "same placement %" in row]  # type: ignore[arg-type]
    assert same[0] < same[-1]
    assert result.met
    assert any("calls/s a core asked for" in str(line) for row in result.rows for line in row.values())
    assert shares == sorted(shares)

"""What the bench of the serverless mix keeps: a reading is made once, and new weights ask for the policy's only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gnn.bench.mix_day as mix_day
from gnn.bench.mix_day import GROUPS, OUTCOME, PLACED, WorldDay
from gnn.mix.policy.played import LEARNED
from gnn.mix.replay import replay
from gnn.mix.rules.table import MARKET, RULE, tuned_market, tuned_theta
from gnn.mix.world.draw import World, draw_world
from gnn.mix.world.source import Side
from gnn.published.measure.kept import Kept
from prewarm.domain import Float32Array
from tests.gnn.mix.builders import small_source

SOURCE = small_source()


class Small(WorldDay):
    """With forty functions in place of two thousand."""

    drawn = 0

    @property
    def world(self) -> World:
        type(self).drawn += 1
        return draw_world(SOURCE, Side.EVALUATION, 1, functions=40)


def chances() -> Float32Array:
    return np.full(SOURCE.counts.shape, 0.3, np.float32)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rules in place of all."""
    rules = (tuned_theta(), tuned_market())
    monkeypatch.setattr(mix_day, "plain_rules", lambda: ())
    monkeypatch.setattr(mix_day, "tuned_rules", lambda: rules[:1])


def test_a_second_bench_plays_nothing_and_reads_the_same(few: None, tmp_path: Path) -> None:
    first = Small(SOURCE, chances(), 1, Kept(tmp_path / "kept")).read()
    drawn = Small.drawn
    second = Small(SOURCE, chances(), 1, Kept(tmp_path / "kept")).read()
    assert drawn == Small.drawn > 0
    assert {name: one.total for name, one in first.outcomes.items()} == {
        name: one.total for name, one in second.outcomes.items()
    }
    assert (first.left == second.left).all()


def test_a_kept_bill_is_that_of_the_replay(few: None, tmp_path: Path) -> None:
    day = Small(SOURCE, chances(), 1, Kept(None))
    read = day.read()
    for name, rule in ((RULE, tuned_theta()), (MARKET, tuned_market())):
        assert read.outcomes[name].parts == pytest.approx(replay(day.world, day.called, rule).parts)
    assert read.bound <= min(one.total for one in read.outcomes.values())
    assert read.outcomes[OUTCOME].total < read.outcomes[PLACED].total
    assert len(read.left) == len(GROUPS)
    assert (read.left[0] >= read.left[1]).all()
    assert len(read.own) == 4


def test_new_weights_ask_for_the_policys_readings_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    weights = tmp_path / "placement-mix.npz"
    weights.write_bytes(b"one")
    monkeypatch.setattr(mix_day, "WEIGHTS_FILE", weights)
    before = [mix_day.sealed(SOURCE, name) for name in (LEARNED, RULE)]
    weights.write_bytes(b"two")
    after = [mix_day.sealed(SOURCE, name) for name in (LEARNED, RULE)]
    assert before[0] != after[0]
    assert before[1] == after[1]

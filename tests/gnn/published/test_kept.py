"""What is kept is what was read, once; a line that was cut off is read again, and what decides a run is in its key."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from gnn.published.measure.contest import Contender, Fresh, Readings, pooled, read
from gnn.published.measure.kept import Kept, seal
from gnn.published.measure.run import Answer
from gnn.published.policy.shipped import made_of
from gnn.published.rules.named import default_rule, tuned
from gnn.published.world.draw import Regime

DEFAULT = Contender("default", default_rule())


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "kept.jsonl"
    first = Kept(file)
    for key, value in (("a", 1.0), ("b", 2.0)):
        first.of(key, partial(dict, value=value))
    file.write_bytes(file.read_bytes()[:-5])  # stopped while it wrote the second
    second = Kept(file)
    assert second.of("a", lambda: {"value": 7.0}) == {"value": 1.0}
    assert second.of("b", lambda: {"value": 8.0}) == {"value": 8.0}
    assert Kept(file).of("b", lambda: {"value": 9.0}) == {"value": 8.0}


def test_what_another_process_read_meanwhile_is_not_read_again(tmp_path: Path) -> None:
    mine, other = Kept(tmp_path / "kept.jsonl"), Kept(tmp_path / "kept.jsonl")
    mine.of("a", partial(dict, value=1.0))
    assert other.of("a", partial(dict, value=2.0)) == {"value": 1.0}
    other.of("b", partial(dict, value=3.0))
    assert mine.of("b", partial(dict, value=4.0)) == {"value": 3.0}


def test_seconds_are_those_of_the_run_that_was_made(tmp_path: Path) -> None:
    first = Kept(tmp_path / "kept.jsonl")
    first.of("a", lambda: {"value": float(np.linalg.norm(np.ones((600, 600)) @ np.ones((600, 600))))})
    again = Kept(tmp_path / "kept.jsonl")
    again.of("a", lambda: {"value": 0.0})
    assert first.fresh_s == first.computed_s > 0.0
    assert again.fresh_s == 0.0
    assert abs(again.computed_s - first.computed_s) < 1e-3


def test_a_policy_that_says_nothing_of_itself_is_not_kept(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept.jsonl")
    asked = Contender("asked", lambda _, kind: Answer(tuned().table[kind]))
    Readings(kept).of(asked, Regime.BACKLOG, 1.0, 1_003)
    assert not (tmp_path / "kept.jsonl").exists()
    assert kept.fresh_s > 0.0


def test_kept_readings_are_those_of_a_new_run(tmp_path: Path) -> None:
    for again in (False, True):
        readings = Readings(Kept(tmp_path / "kept.jsonl"))
        found = readings.of(DEFAULT, Regime.FAILURES, 0.85, 1_003)
        assert found.failure_rate == read(DEFAULT, Regime.FAILURES, 0.85, 1_003).failure_rate
        assert np.isnan(found.p99_ms)
        assert (readings.kept.fresh_s == 0.0) == again


def test_the_seal_tells_rules_fleets_code_and_weights_apart(tmp_path: Path) -> None:
    weights = tmp_path / "weights.npz"
    weights.write_bytes(b"1")
    before = made_of(weights)
    weights.write_bytes(b"2")
    seals = [before, made_of(weights), made_of(), DEFAULT.sealed, pooled().sealed, Contender("", tuned()).sealed]
    assert len(set(seals)) == len(seals)
    assert Contender("another name", default_rule()).sealed == DEFAULT.sealed
    assert seal((), b"ab", b"c") != seal((), b"a", b"bc")


def test_a_policy_that_remembers_begins_anew_each_run() -> None:
    begun: list[int] = []

    def begin():  # type: ignore[no-untyped-def]
        begun.append(1)
        return lambda _, kind: Answer(tuned().table[kind])

    who = Contender("remembers", Fresh(begin))
    first, second = (read(who, Regime.BACKLOG, 1.0, 1_003).utilisation for _ in range(2))
    assert first == second
    assert len(begun) == 2

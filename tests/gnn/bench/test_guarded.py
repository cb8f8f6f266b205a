"""The policy under its guard takes part in the comparison with a watch of its own in each run."""

from __future__ import annotations

import pytest

from gnn.bench.guarded import guarded, shipped_detector
from gnn.bench.shifts import GuardedPlay, begun, mind
from gnn.guard.features import names
from gnn.published.measure.contest import Fresh
from gnn.published.measure.run import drive
from gnn.published.policy.columns import tuned_columns
from gnn.published.policy.shipped import learned
from gnn.published.policy.worlds import load_world


def test_each_run_begins_with_a_watch_of_its_own() -> None:
    contender = guarded()
    assert contender is not None
    assert isinstance(contender.policy, Fresh)
    first, second = contender.policy.begin(), contender.policy.begin()
    assert isinstance(first, GuardedPlay)
    assert isinstance(second, GuardedPlay)
    drive(begun(load_world(0.85, 50_001), tuned_columns(), None), first, until_s=700.0)
    assert first.at
    assert not second.at
    assert second.handed_s is None


def test_the_detector_that_ships_knows_what_the_policy_sees() -> None:
    policy = mind()
    detector = shipped_detector(policy)
    assert detector is not None
    assert len(detector.centre) == len(names(policy.columns.names))
    assert float(detector.runs) >= 50.0
    assert float(detector.rate) == pytest.approx(1.0 / (float(detector.runs) + 1.0), rel=1e-3)


def test_its_readings_are_not_those_of_the_bare_policy() -> None:
    bare, contender = learned(), guarded()
    assert bare is not None
    assert contender is not None
    assert contender.sealed != bare.sealed

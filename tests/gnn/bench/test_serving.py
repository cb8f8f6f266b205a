"""Serving is measured on decisions that were really taken by the side that they are counted for."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np

from federation.bench.large_fleet import large_fleet
from federation.bench.placement_scale import START
from gnn.bench.serving import _scorer as scorer_of
from gnn.bench.serving import guarded, imports, measure, questions, usual


def test_importing_the_scorer_loads_nothing_that_a_service_must_not() -> None:
    assert imports() == []


def test_both_sides_decide_the_same_workloads_and_only_one_learns(traces_dir: Path) -> None:
    detector = usual(traces_dir, 3, lambda *_: None, runs=6)
    guard = guarded(scorer_of(3, lambda: 0.0), detector)  # a clock that stands: nothing is late
    off, on = measure(traces_dir, [guard], seed=3, decisions=20, progress=lambda *_: None)
    assert (len(off.ms), len(on.ms)) == (20, 20)
    assert (off.learned, off.scorer) == (0, None)
    assert on.learned >= 15  # some workloads fit nowhere, and then nobody is asked
    assert np.mean(on.cpu_ms) > np.mean(off.cpu_ms)
    assert not guard.alarm


def test_a_scorer_that_is_late_leaves_all_of_it_to_the_rule(traces_dir: Path) -> None:
    times = iter(np.arange(0.0, 1e6, 0.011))
    guard = guarded(scorer_of(3, lambda: float(next(times))), usual(traces_dir, 3, lambda *_: None, runs=6))
    _, on = measure(traces_dir, [guard], seed=3, decisions=5, progress=lambda *_: None)
    assert on.learned == 0
    assert guard.tally.declined["over the deadline"] > 5


def test_questions_are_about_the_fleet_of_the_world(traces_dir: Path) -> None:
    world = large_fleet(traces_dir, np.random.default_rng(1), now=START)
    first, second = islice(questions(world), 2)
    assert first.values.shape == (len(first.clusters), 9)
    assert len(first.snapshot.clusters) == 100
    assert first.workload.key != second.workload.key

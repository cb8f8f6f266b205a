"""The synthetic benchmarks: who is measured, what an announcement says, and how the interval is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.bench.synthetic import (
    BELIEVED_MIN,
    DAY,
    MEASURED_FROM,
    MOST_LEVELS,
    _busy,
    _in_the_graph,
    _with_a_calendar,
    announced,
    bootstrap_gain,
    synthetic_workload,
)
from prewarm.sim.minute import MinuteWorkload
from prewarm.traces.synth import SyntheticTrace, synthesize

Made = tuple[SyntheticTrace, MinuteWorkload]


@pytest.fixture(scope="module")
def made() -> Made:
    """A small set with every shape."""
    synthetic = synthesize(5, 200, days=14)
    return synthetic, synthetic_workload(synthetic)


def test_needs_follow_from_concurrency_and_memory_is_known(made: Made) -> None:
    """A need above one is what the concurrency part is about."""
    _, workload = made
    assert workload.need.max() > 1
    assert np.isfinite(workload.memory_gb).all()
    assert (workload.need >= workload.concurrency - 1e-6).all()


def test_each_part_speaks_about_its_functions(made: Made) -> None:
    """Chosen by what was seen before the measured days; callers are replayed but not counted."""
    synthetic, workload = made
    before = workload.need[:, : MEASURED_FROM * DAY].max(axis=1)
    _, busy = _busy(synthetic, workload)
    assert busy.tolist() == ((before > 1) & (before <= MOST_LEVELS)).tolist()
    replayed, spoken = _in_the_graph(synthetic, workload)
    assert spoken.sum() == len({call.callee for call in synthetic.graph})
    assert (replayed >= spoken).all()
    assert replayed.sum() > spoken.sum()
    _, calendar = _with_a_calendar(synthetic, workload)
    shapes = np.array(synthetic.shapes)
    assert set(shapes[calendar]) <= {"promotion", "timer"}


def test_an_announcement_is_believed_for_its_first_minutes_and_known_from_its_time(made: Made) -> None:
    """The expected peak becomes instances; the event is no longer than it was announced."""
    synthetic, workload = made
    events = announced(synthetic, workload.keys)
    assert len(events) == len(synthetic.calendar)
    for event, entry in zip(events, synthetic.calendar, strict=True):
        row = int(event.rows[0])
        assert workload.keys[row] == entry.function
        assert event.last - event.first == min(BELIEVED_MIN, entry.end_minute - entry.start_minute)
        assert event.known_from <= event.first
        busy = entry.peak_per_minute * synthetic.trace.duration_ms[row] / 60_000
        assert event.need == max(1, int(np.ceil(busy)))


def test_announcements_of_functions_that_are_not_replayed_are_left_out(made: Made) -> None:
    """Rows are those of the replayed functions."""
    synthetic, _ = made
    assert announced(synthetic, ()) == ()


def test_the_interval_holds_the_estimate_and_narrows_when_all_gain_alike() -> None:
    """Every function twice as dear without the part: two, exactly."""
    rng = np.random.default_rng(0)
    assert bootstrap_gain(np.full(50, 2.0), np.full(50, 1.0), rng) == (2.0, 2.0, 2.0)
    without, with_part = np.linspace(1, 3, 80), np.linspace(1, 2, 80)
    low, gain, high = bootstrap_gain(without, with_part, rng)
    assert low < gain < high
    assert gain == pytest.approx(without.sum() / with_part.sum())

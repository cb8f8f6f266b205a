"""Who the synthetic functions are: shares to the function, bounds, apps, and promotions at their edges."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.traces.generate.chains import FEWEST_CALLS, MOST_CALLS, draw_edges
from prewarm.traces.generate.clock import DAY, local_clock
from prewarm.traces.generate.population import (
    HTTP_SHAPES,
    LARGEST_APP,
    LARGEST_MEAN_CONCURRENCY,
    PROMOTED_DURATION_MS,
    SINGLE_FUNCTION_APPS,
    Population,
    draw_population,
)
from prewarm.traces.generate.promotions import HOLD_MINUTES, promoted
from prewarm.traces.generate.shapes import PERIODS, timer_period
from prewarm.traces.generate.tables import fitted_tables
from prewarm.traces.synth import FIRST_MONDAY


def population(functions: int, seed: int = 0) -> Population:
    return draw_population(np.random.default_rng(seed), functions)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.integers(0, 2**32))
def test_every_function_has_a_shape_and_a_trigger_and_the_shares_hold(functions: int, seed: int) -> None:
    drawn = population(functions, seed)
    assert len(drawn.shape) == len(drawn.trigger) == len(drawn.app) == functions
    assert set(drawn.shape) <= {"timer", "chain", *HTTP_SHAPES}
    counts = Counter(drawn.trigger)
    for trigger, share in fitted_tables().trigger_shares.items():
        pairs = 6 if trigger == "http" else 1  # each shape of a trigger is rounded by itself
        assert abs(counts[trigger] - functions * share) < pairs
    for shape, trigger in zip(drawn.shape, drawn.trigger, strict=True):
        assert (shape == "timer") == (trigger == "timer")
        assert (shape == "chain") == (trigger in {"queue", "orchestration"})


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300), st.integers(0, 2**32))
def test_values_are_whole_positive_and_bounded(functions: int, seed: int) -> None:
    drawn = population(functions, seed)
    for values in (drawn.duration_ms, drawn.memory_mb):
        assert bool((values >= 1).all())
        assert bool((values == np.round(values)).all())
    concurrency = drawn.daily_total * drawn.duration_ms / (DAY * 60_000)
    assert concurrency.max() <= LARGEST_MEAN_CONCURRENCY + drawn.daily_total.max() / (DAY * 60_000)
    low, high = PROMOTED_DURATION_MS
    promotions = drawn.duration_ms[drawn.of_shape("promotion")]
    assert bool(((promotions >= low) & (promotions <= high)).all())


def test_apps_have_the_chosen_sizes() -> None:
    sizes = np.array(list(Counter(population(5000).app.tolist()).values()))
    assert sizes.max() <= LARGEST_APP
    assert (sizes == 1).mean() == pytest.approx(SINGLE_FUNCTION_APPS, abs=0.03)


def test_timers_prefer_totals_that_a_period_makes() -> None:
    drawn = population(2000)
    totals = drawn.daily_total[drawn.of_shape("timer")]
    usual = DAY / PERIODS
    assert all(np.isclose(total % DAY, 0) or np.isclose(usual, total).any() for total in totals)
    assert (totals >= 24).mean() > 0.6


@pytest.mark.parametrize(
    ("daily_total", "period"), [(1, 1440), (2, 720), (24, 60), (96, 15), (100, 15), (288, 5), (1440, 1), (9000, 1)]
)
def test_a_total_tells_its_period(daily_total: float, period: int) -> None:
    assert timer_period(daily_total) == period


def test_rare_functions_are_called_once_and_popular_ones_promoted() -> None:
    drawn = population(3000)
    rare, popular = drawn.daily_total[drawn.of_shape("once")], drawn.daily_total[drawn.of_shape("promotion")]
    assert np.median(rare) <= 2
    assert (popular >= 50).mean() > 0.9


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 40), st.integers(1, 20), st.integers(0, 2**32))
def test_edges_go_from_ready_functions_to_callees_with_sane_rates(own: int, called: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    total = np.exp(rng.uniform(0, 10, own + called))
    callees = list(range(own, own + called))
    edges = draw_edges(rng, total, callees=callees, callers=list(range(own)), trigger_of=lambda _: "queue")
    assert {edge.callee for edge in edges} == set(callees)
    assert len({(edge.caller, edge.callee) for edge in edges}) == len(edges)
    placed = set(range(own))
    for edge in edges:
        assert edge.caller in placed
        placed.add(edge.callee)
        assert FEWEST_CALLS <= edge.calls <= MOST_CALLS
        assert 0.9 <= edge.delay_s <= 240


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.floats(1, 1e4), st.floats(20, 2000))
def test_promotions_hold_at_the_edges_of_a_trace(seed: int, days: int, total: float, duration_ms: float) -> None:
    clock = local_clock(FIRST_MONDAY, days, "Pacific/Auckland")
    counts, events = promoted(np.random.default_rng(seed), clock, total, duration_ms)
    assert len(counts) == days * DAY
    assert counts.min() >= 0
    assert list(events) == sorted(events, key=lambda event: event.start)
    for event in events:
        assert 0 <= event.start < days * DAY
        assert HOLD_MINUTES[0] <= event.end - event.start < HOLD_MINUTES[1]
        assert event.peak_per_minute > 0

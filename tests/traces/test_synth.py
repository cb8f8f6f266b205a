"""The synthetic generator: repeatable to the bit, with the shapes, clocks, chains and marginals that it promises."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError, IntArray
from prewarm.traces.generate.chains import Edge, called_by, draw_edges
from prewarm.traces.generate.clock import DAY, LocalClock, local_clock
from prewarm.traces.generate.promotions import promoted
from prewarm.traces.generate.shapes import bursts, growing, intermittent, once, seasonal, seasonal_rate, timer
from prewarm.traces.generate.tables import fitted_tables, quantile_values
from prewarm.traces.marginals import check_marginals, fitted_reference, ks_distance, read_reference, weighted_quantiles
from prewarm.traces.synth import (
    FIRST_MONDAY,
    FROZEN_DAYS,
    FROZEN_FUNCTIONS,
    FROZEN_SEED,
    MOST_INSTANCES,
    SyntheticTrace,
    synthesize,
)

BERLIN = "Europe/Berlin"


@pytest.fixture(scope="module")
def week() -> SyntheticTrace:
    """Six hundred functions over eight days, with the clock change on the seventh."""
    return synthesize(2026, 600, days=8)


@pytest.fixture
def clock() -> LocalClock:
    """Fourteen days in Berlin from the Monday before its clocks change."""
    return local_clock(FIRST_MONDAY, 14, BERLIN)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def daily(counts: IntArray) -> float:
    return float(counts.sum()) / (len(counts) / DAY)


def test_the_same_seed_gives_the_same_counts_to_the_bit() -> None:
    made = synthesize(7, 60, days=3)
    assert made.trace.sha256 == "d4db9c8eebe13ed1eb917766c8f9b099a814aceac2341172831e964d6589b976"
    again = synthesize(7, 60, days=3)
    assert again.trace.count.tolist() == made.trace.count.tolist()
    assert again.graph == made.graph
    assert again.calendar == made.calendar
    assert synthesize(8, 60, days=3).trace.sha256 != made.trace.sha256


@pytest.mark.slow
def test_the_frozen_set_of_the_benchmarks_is_what_it_was() -> None:
    began = time.process_time()
    made = synthesize(FROZEN_SEED, FROZEN_FUNCTIONS, days=FROZEN_DAYS)
    assert time.process_time() - began < 60
    assert made.trace.sha256 == "786d3358a2ebb695dfde5468f762c3f273c7c31b01ec44520b49936b6c6a766e"
    assert (made.trace.functions, made.trace.minutes) == (2000, 14 * DAY)
    assert (len(made.graph), len(made.calendar)) == (440, 531)
    assert [check.name for check in check_marginals(made.trace, fitted_reference()) if not check.met] == []


def test_triggers_and_shapes_have_their_shares(week: SyntheticTrace) -> None:
    triggers = Counter(week.trace.trigger)
    assert {name: triggers[name] / 600 for name in triggers} == fitted_tables().trigger_shares
    shapes = Counter(week.shapes)
    assert shapes["timer"] == 264
    assert set(shapes) == {"timer", "seasonal", "bursts", "promotion", "intermittent", "chain", "growth", "once"}


@pytest.mark.parametrize("functions", [1, 2, 7, 33])
def test_small_sets_hold_together(functions: int) -> None:
    made = synthesize(1, functions, days=1)
    assert made.trace.functions == functions == len(made.shapes)
    assert made.trace.count.sum() > 0


def test_no_minute_needs_more_instances_than_the_bound(week: SyntheticTrace) -> None:
    need = week.trace.need_entries(rule="concurrency")
    assert 1 < need.max() <= MOST_INSTANCES


def test_functions_of_an_app_share_its_memory(week: SyntheticTrace) -> None:
    seen: dict[str, float] = {}
    for key, memory in zip(week.trace.keys, week.trace.memory_mb, strict=True):
        assert seen.setdefault(key.partition("/")[0], float(memory)) == memory
    assert len(seen) < week.trace.functions


def test_marginals_match_the_fitted_tables(week: SyntheticTrace) -> None:
    checks = check_marginals(week.trace, fitted_reference())
    assert {check.name for check in checks} == {"daily_total", "duration_ms", "memory_mb", "trigger_shares"}
    assert [check.name for check in checks if not check.met] == []


def test_marginals_match_the_public_files(week: SyntheticTrace, traces_dir: Path) -> None:
    checks = check_marginals(week.trace, read_reference(traces_dir))
    assert {check.name: check.distance for check in checks if not check.met} == {}


def test_the_fitted_tables_are_those_of_the_public_files(traces_dir: Path) -> None:
    real, fitted = read_reference(traces_dir), fitted_reference()
    for name, values in fitted.values.items():
        assert ks_distance((values, fitted.weights[name]), (real.values[name], real.weights[name])) < 0.05


def test_a_trace_of_another_kind_fails_the_check(week: SyntheticTrace) -> None:
    other = week.trace.select(np.array([shape == "timer" for shape in week.shapes]))
    missed = {check.name for check in check_marginals(other, fitted_reference()) if not check.met}
    assert {"daily_total", "trigger_shares"} <= missed


def test_popular_functions_are_shorter_as_in_the_public_data(week: SyntheticTrace) -> None:
    totals = week.trace.totals().argsort().argsort()
    durations = week.trace.duration_ms.argsort().argsort()
    assert -0.45 < np.corrcoef(totals, durations)[0, 1] < -0.15


@pytest.mark.parametrize(
    ("keyword", "value"),
    [("functions", 0), ("days", 0), ("days", 9999), ("timezone", "Mars/Olympus"), ("timezone", "../etc/passwd")],
)
def test_numbers_and_names_out_of_range_are_refused(keyword: str, value: object) -> None:
    wanted: dict[str, object] = {"functions": 3, "days": 1, "timezone": BERLIN, keyword: value}
    with pytest.raises(InputError, match=keyword):
        synthesize(1, **wanted)  # type: ignore[arg-type]


def test_a_start_that_is_no_midnight_is_refused() -> None:
    for start in (datetime(2026, 3, 23, 1, tzinfo=UTC), datetime(2026, 3, 23)):  # noqa: DTZ001
        with pytest.raises(InputError, match="midnight UTC"):
            local_clock(start, 1, BERLIN)


def test_local_time_jumps_with_the_clock_change(clock: LocalClock) -> None:
    jumps = np.flatnonzero(np.diff(clock.local) != 1)
    change = datetime(2026, 3, 29, 1, tzinfo=UTC) - FIRST_MONDAY
    assert jumps.tolist() == [change // timedelta(minutes=1) - 1]
    assert int(clock.local[jumps[0] + 1] - clock.local[jumps[0]]) == 61
    assert clock.minute_of_week()[:2].tolist() == [60, 61]
    autumn = local_clock(datetime(2026, 10, 24, tzinfo=UTC), 2, BERLIN)
    assert np.diff(autumn.local).min() == -59


def test_a_daily_schedule_moves_an_hour_in_utc(clock: LocalClock) -> None:
    for seed in range(50):
        fires = np.flatnonzero(timer(rng(seed), clock, 1.0))
        at = fires % DAY
        if len(fires) == 14 and len(set(at[:5])) == 1 and at[0] > 180:
            assert {int(minute) for minute in at[:6]} == {int(at[0])}
            assert {int(minute) for minute in at[7:]} == {int(at[0]) - 60}
            return
    pytest.fail("no undisturbed daily timer among fifty")


@pytest.mark.parametrize("total", [1, 24, 288, 1440, 5760])
def test_a_timer_fires_as_often_as_its_period_says(clock: LocalClock, total: int) -> None:
    assert daily(timer(rng(3), clock, total)) == pytest.approx(total, rel=0.08)


@pytest.mark.parametrize("total", [3.0, 100.0, 3000.0])
def test_laws_keep_the_daily_total(clock: LocalClock, total: float) -> None:
    for law in (seasonal, bursts):
        assert np.mean([daily(law(rng(seed), clock, total)) for seed in range(30)]) == pytest.approx(total, rel=0.2)
    spaced = [daily(intermittent(rng(seed), clock, min(total, 100))) for seed in range(30)]
    assert np.mean(spaced) == pytest.approx(min(total, 100), rel=0.2)


def test_seasons_follow_the_fitted_week_in_local_time(clock: LocalClock) -> None:
    rate = np.mean([seasonal_rate(rng(seed), clock, 1000) for seed in range(60)], axis=0)
    by_hour = np.bincount(clock.minute_of_day() // 60, weights=rate, minlength=24)
    fitted = fitted_tables().week_profile.mean(axis=0)
    assert np.corrcoef(by_hour, fitted)[0, 1] > 0.9
    weekend = clock.minute_of_week() >= 5 * DAY
    assert rate[weekend].mean() < 0.8 * rate[~weekend].mean()


def test_bursts_are_crowded(clock: LocalClock) -> None:
    counts = bursts(rng(1), clock, 200.0)
    assert (counts > 0).mean() < 0.1
    assert counts.var() > 5 * counts.mean()


def test_growth_ends_higher_than_it_starts_and_may_start_late(clock: LocalClock) -> None:
    late = 0
    ratios = []
    for seed in range(20):
        counts, first = growing(rng(seed), clock, 2000)
        assert counts[:first].sum() == 0
        assert first % DAY == 0
        late += first > 0
        if first == 0:
            weekdays = counts.reshape(2, 7, DAY)[:, :5].sum(axis=(1, 2))
            ratios.append(float(weekdays[1] / weekdays[0]))
    assert 4 <= late <= 16
    assert min(ratios) > 1
    assert 2**0.5 < np.median(ratios) < 10**0.5


def test_once_is_one_call(clock: LocalClock) -> None:
    assert once(rng(), clock).sum() == 1


def test_promotions_are_announced_before_they_begin_and_mostly_come(clock: LocalClock) -> None:
    came, announced = 0, 0
    for seed in range(40):
        counts, events = promoted(rng(seed), clock, 500.0, 200.0)
        quiet = np.median(counts)
        for event in events:
            assert event.announced < event.start < event.end
            announced += 1
            came += counts[event.start + 5 : event.end].mean() > 20 * (quiet + 1)
    assert announced > 40
    assert 0.85 < came / announced < 1


def test_repeating_promotions_keep_their_local_hour(clock: LocalClock) -> None:
    for seed in range(40):
        _, events = promoted(rng(seed), clock, 500.0, 200.0)
        hours = {int(clock.local[event.start]) % DAY for event in events}
        if len(events) > 10 and len(hours) == 1:
            assert {event.start % DAY for event in events} == {events[0].start % DAY, events[-1].start % DAY}
            assert events[0].start % DAY - events[-1].start % DAY == 60
            return
    pytest.fail("no daily promotion among forty")


def test_a_call_chain_passes_demand_on_after_its_delay() -> None:
    caller = np.zeros(10, dtype=np.int64)
    caller[2] = 1000
    same = called_by(rng(), caller, Edge(0, 1, 0.5, 0.0))
    assert same[2] == pytest.approx(500, abs=80)
    assert same.sum() == same[2]
    later = called_by(rng(), caller, Edge(0, 1, 2.0, 90.0))
    assert later.sum() == pytest.approx(2000, abs=250)
    assert later[[3, 4]] == pytest.approx([1000, 1000], abs=200)
    assert called_by(rng(), caller, Edge(0, 1, 2.0, 3600.0)).sum() == 0


def test_the_graph_has_no_circle_and_callees_get_their_demand(week: SyntheticTrace) -> None:
    place = {key: i for i, key in enumerate(week.trace.keys)}
    called = {call.callee for call in week.graph}
    assert {week.shapes[place[key]] for key in map(str, called)} == {"chain"}
    callers: dict[str, set[str]] = {}
    for call in week.graph:
        callers.setdefault(call.callee, set()).add(call.caller)
    done: set[str] = {call.caller for call in week.graph} - called
    while waiting := {callee for callee in called - done if callers[callee] <= done}:
        done |= waiting
    assert called <= done


def test_no_callers_no_edges() -> None:
    assert draw_edges(rng(), np.array([1.0]), callees=[0], callers=[], trigger_of=lambda _: "queue") == []


def test_quantiles_are_interpolated_in_logarithms() -> None:
    levels, values = np.array([0, 0.5, 1.0]), np.array([1.0, 10.0, 1000.0])
    assert quantile_values(levels, values, np.array([0, 0.25, 0.75, 1])).tolist() == [1, 3.162278, 100, 1000]


def test_distances_and_quantiles_of_weighted_values() -> None:
    first = (np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    second = (np.array([1.0, 2.0]), np.array([3.0, 1.0]))
    assert ks_distance(first, second) == pytest.approx(0.25)
    assert ks_distance(first, first) == 0
    assert weighted_quantiles(*second, (0.5, 0.75, 0.9)).tolist() == [1, 1, 2]

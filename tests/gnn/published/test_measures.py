"""Percentiles, convergence and paired intervals by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.published.kernel.layout import BINS
from gnn.published.measure.contest import paired
from gnn.published.measure.convergence import convergence_s, settled_after, windowed_p99_ms
from gnn.published.measure.run import percentile_ms


def test_a_percentile_is_read_inside_its_bin() -> None:
    counts = np.zeros(BINS, dtype=np.int32)
    counts[20] = 99
    counts[200] = 1
    assert percentile_ms(counts, 0.99) == pytest.approx(10.5)
    assert percentile_ms(counts, 0.5) == pytest.approx(10.0 + 0.5 * 50 / 99)
    assert percentile_ms(counts, 0.995) == pytest.approx(100.25)


def test_calls_given_up_count_as_the_time_out() -> None:
    counts = np.zeros(BINS, dtype=np.int32)
    counts[10], counts[-1] = 90, 10
    assert percentile_ms(counts, 0.99) == 1_000.0


def test_nothing_counted_is_not_zero() -> None:
    assert np.isnan(percentile_ms(np.zeros(BINS, dtype=np.int32), 0.99))


@given(st.dictionaries(st.integers(0, BINS - 2), st.integers(1, 50), min_size=1, max_size=20), st.floats(0.01, 0.99))
def test_percentiles_agree_with_sorting(counts: dict[int, int], share: float) -> None:
    drawn = np.zeros(BINS, dtype=np.int32)
    drawn[list(counts)] = list(counts.values())
    sample = np.repeat(np.arange(BINS), drawn) * 0.5
    exact = sample[min(int(np.ceil(share * len(sample) - 1e-9)) - 1, len(sample) - 1)]
    assert exact - 1e-6 <= percentile_ms(drawn, share) <= exact + 0.5 + 1e-6


def test_the_window_is_the_last_five_seconds() -> None:
    histogram = np.zeros((8, BINS), dtype=np.int32)
    histogram[:, 100] = 100
    histogram[5, 400] = 100
    p99 = windowed_p99_ms(histogram)
    assert np.isnan(p99[:4]).all()
    assert p99[4] == pytest.approx(50.0, abs=0.5)
    assert p99[5:] == pytest.approx([200.0] * 3, abs=0.5)


def test_settling_begins_where_thirty_seconds_stay_within_five_percent() -> None:
    series = np.r_[np.full(7, 200.0), np.full(10, 104.0), 106.0, np.full(40, 97.0)]
    assert settled_after(series, 100.0) == 18.0
    assert np.isnan(settled_after(series[:40], 100.0))
    assert settled_after(np.full(30, 100.0), 100.0) == 0.0


def test_convergence_is_counted_from_the_change() -> None:
    """40 ms before; 90 ms for 12 s after the change, 60 ms from then on: the window is clean 5 s later."""
    histogram = np.zeros((500, BINS), dtype=np.int32)
    histogram[:100, 80] = 1_000
    histogram[100:112, 180] = 1_000
    histogram[112:, 120] = 1_000
    assert convergence_s(histogram, 100) == 16.0


def test_a_change_that_changes_nothing_has_settled_at_once() -> None:
    histogram = np.zeros((500, BINS), dtype=np.int32)
    histogram[:, 120] = 1_000
    assert convergence_s(histogram, 100) == 0.0


def test_a_paired_interval_holds_the_mean_and_shuts_out_what_was_never_seen() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(10.0, 5.0, 10)
    mean, low, high = paired(base + 1.0 + rng.normal(0.0, 0.1, 10), base)
    assert low < mean < high
    assert 0.8 < low < 1.0 < high < 1.2
    assert paired(base, base) == (0.0, 0.0, 0.0)

"""The hybrid histogram policy, branch by branch, and that it looks at the past only."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import Int32Array
from prewarm.forecast.local.hybrid import HybridHistogram
from prewarm.forecast.local.idle_arima import next_idle_time


def calls(*minutes: int, length: int) -> Int32Array:
    out = np.zeros((1, length), dtype=np.int32)
    out[0, list(minutes)] = 1
    return out


def test_before_the_first_call_nothing_is_loaded_and_after_it_the_whole_range() -> None:
    loaded = HybridHistogram(60).allocations(calls(10, length=200))[0]
    assert loaded[:11].sum() == 0
    assert loaded[11:71].tolist() == [1] * 60
    assert loaded[71:].sum() == 0


def test_a_trusted_histogram_unloads_and_loads_again_around_the_expected_call() -> None:
    loaded = HybridHistogram(60).allocations(calls(*range(0, 600, 30), length=600))[0]
    since = loaded[300:330]  # minutes 0..29 after the call at 300; the next is due at 30
    assert since[1:27].sum() == 0
    assert since[27:].tolist() == [1, 1, 1]  # from 30 less a tenth
    late = HybridHistogram(60).allocations(calls(*range(0, 330, 30), length=600))[0]
    assert late[300 + 33] == 1  # to 30 plus a tenth
    assert late[300 + 34] == 0


def test_idle_times_all_over_the_range_are_not_trusted_and_keep_it_loaded() -> None:
    """Every idle time from 1 to 60 once: the bins' coefficient of variation is 0."""
    minutes = np.cumsum(np.r_[0, np.arange(1, 61)])
    length = int(minutes[-1]) + 70
    loaded = HybridHistogram(60).allocations(calls(*minutes.tolist(), length=length))[0]
    last = int(minutes[-1])
    assert loaded[last + 1 : last + 61].tolist() == [1] * 60
    assert loaded[last + 61] == 0


def test_idle_times_beyond_the_range_go_to_the_time_series_model() -> None:
    minutes = tuple(range(0, 1_000, 100))
    with_model = HybridHistogram(60).allocations(calls(*minutes, length=1_100))[0]
    assert with_model[901:985].sum() == 0
    assert with_model[985:1_016].tolist() == [1] * 31  # 100 minutes, 15 % either way
    assert with_model[1_016] == 0
    without = HybridHistogram(60, use_arima=False).allocations(calls(*minutes, length=1_100))[0]
    assert without[901:961].tolist() == [1] * 60
    assert without[961:1_000].sum() == 0


def test_several_at_once_keep_as_many_as_were_needed_within_the_range() -> None:
    need = calls(*range(0, 200, 2), length=200)
    need[0, 20] = 5
    loaded = HybridHistogram(60).allocations(need)[0]
    assert loaded[22] == 5
    assert loaded[80] == 5
    assert loaded[82] == 1


def test_the_first_half_of_a_day_is_decided_as_in_the_whole_day() -> None:
    rng = np.random.default_rng(9)
    need = (rng.uniform(size=(12, 700)) < rng.uniform(0.002, 0.2, (12, 1))).astype(np.int32)
    policy = HybridHistogram(120)
    np.testing.assert_array_equal(policy.allocations(need[:, :350]), policy.allocations(need)[:, :350])


def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    HybridHistogram(60).allocations(calls(0, length=130), progress=lambda done, of: told.append((done, of)))
    assert told == [(60, 130), (120, 130), (130, 130)]


@pytest.mark.parametrize(
    ("idle_times", "low", "high"),
    [
        pytest.param((300.0,), 300.0, 300.0, id="one-is-repeated"),
        pytest.param((300.0, 500.0), 400.0, 400.0, id="few-are-averaged"),
        pytest.param((300.0,) * 9, 300.0, 300.0, id="all-alike"),
        pytest.param((250.0, 350.0) * 10, 230.0, 310.0, id="alternating-long-then-short"),
        pytest.param((0.2,), 1.0, 1.0, id="never-under-a-minute"),
    ],
)
def test_the_next_idle_time(idle_times: tuple[float, ...], low: float, high: float) -> None:
    assert low <= next_idle_time(idle_times) <= high


def test_on_the_public_sample_it_beats_a_fixed_hour_as_published(traces_dir: Path) -> None:
    """sample100, protocol A3.7: KA-10 has 481 cold starts; HH has a third of them at about the same waste."""
    with (traces_dir / "azure2019-invitro" / "sample100_invocations.csv").open(newline="") as lines:
        rows = csv.reader(lines)
        first = next(rows).index("480")
        need = np.array([[float(v) > 0 for v in row[first:]] for row in rows]).astype(np.int32)

    def cold_and_waste(loaded: Int32Array) -> tuple[int, int]:
        return int(np.maximum(need - loaded, 0).sum()), int(np.maximum(loaded - need, 0).sum())

    kept = np.stack([need[:, max(0, t - 10) : t].max(axis=1, initial=0) for t in range(need.shape[1])], axis=1)
    fixed = cold_and_waste(kept)
    assert fixed == (481, 15_440)
    cold, waste = cold_and_waste(HybridHistogram(60).allocations(need))
    assert cold < 0.42 * fixed[0]
    assert waste < 0.9 * fixed[1]
    cold, waste = cold_and_waste(HybridHistogram(240).allocations(need))
    assert cold < 0.39 * fixed[0]
    assert waste < 1.1 * fixed[1]

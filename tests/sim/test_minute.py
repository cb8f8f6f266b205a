"""The minute protocol on needs small enough to be counted by hand, and its promises for any need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from prewarm.domain import InputError, Int32Array
from prewarm.sim import minute
from prewarm.sim.minute import MinuteWorkload, cold_starts, highest_before, need_of, score
from tests.sim.made import workload

needs = arrays.arrays(np.int32, st.tuples(st.integers(1, 4), st.integers(1, 40)), elements=st.integers(0, 3))


def ints(rows: list[list[int]]) -> Int32Array:
    return np.array(rows, dtype=np.int32)


@pytest.mark.parametrize(
    ("concurrency", "need"),
    [
        pytest.param(0.0, 0, id="idle"),
        pytest.param(1.5e-5, 0, id="below-the-floor"),
        pytest.param(1.6e-5, 1, id="at-the-floor"),
        pytest.param(1.0, 1, id="exactly-one"),
        pytest.param(1.01, 2, id="a-little-more"),
    ],
)
def test_need_is_the_mean_concurrency_rounded_up(concurrency: float, need: int) -> None:
    assert need_of(np.array([[concurrency]])).tolist() == [[need]]


def test_an_unknown_minute_has_no_need() -> None:
    with pytest.raises(InputError, match="unknown"):
        need_of(np.array([[0.0, np.nan]]))


def test_a_day_counted_by_hand() -> None:
    # One app of 0.1 GB; needs 0 1 0 2; kept warm 1 1 0 1.
    made = workload([[0, 1, 0, 2]])
    found = score(made, ints([[1, 1, 0, 1]]))
    assert found.cold == 1
    assert found.needed == 3
    assert found.cold_rate == pytest.approx(1 / 3)
    # Held 1 1 0 2 instance-minutes, used 0 0.5 0 1: 2.5 idle.
    assert found.waste_minutes == pytest.approx(2.5)
    assert found.waste_gb_s == pytest.approx(2.5 * 60 * 0.1)
    assert found.rum == pytest.approx(0.808 + 15.0 / 99.69)


def test_the_price_of_a_cold_start_only_moves_rum() -> None:
    made = workload([[0, 1, 0, 2]])
    cheap, dear = (score(made, ints([[0, 0, 0, 0]]), cold_cost=price) for price in (1.0, 3.0))
    assert (cheap.cold, cheap.waste_gb_s) == (dear.cold, dear.waste_gb_s)
    assert cheap.rum is not None
    assert dear.rum == pytest.approx(cheap.rum + 2 * 3)


def test_memory_is_never_charged_below_what_was_used() -> None:
    made = workload([[1]], share=1.7)  # more work than instances were said to be needed
    assert score(made, ints([[0]])).waste_gb_s == 0.0


def test_percentiles_and_always_cold_are_over_called_functions_only() -> None:
    made = workload([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
    found = score(made, ints([[0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]))
    assert [found.cold_rate_p50, found.cold_rate_p75] == [0.5, 0.75]
    assert found.cold_rate_p90 == pytest.approx(0.9)
    assert found.always_cold == pytest.approx(1 / 3)


def test_nothing_called_has_no_rates() -> None:
    found = score(workload([[0, 0]]), ints([[0, 0]]))
    assert (found.cold, found.cold_rate, found.cold_rate_p50, found.always_cold) == (0, None, None, None)
    assert found.waste_vs_ka10 is None


def test_keep_alive_for_ten_minutes_wastes_once_what_it_wastes() -> None:
    made = workload([[1, 0, 0, 0, 0, 1, 0, 0, 2, 0]])
    found = score(made, highest_before(made.need, 10))
    assert found.waste_vs_ka10 == pytest.approx(1.0)


def test_a_binary_set_counts_function_minutes() -> None:
    made = workload([[1, 0, 1]], share=1.0)
    binary = MinuteWorkload(made.keys, made.concurrency, made.need, np.array([np.nan]), binary=True)
    found = score(binary, ints([[0, 1, 1]]))
    assert (found.cold, found.waste_minutes) == (1, 1.0)
    assert (found.waste_gb_s, found.rum) == (None, None)
    assert found.waste_vs_ka10 == pytest.approx(1.0)


def test_unknown_memory_leaves_gigabyte_seconds_unknown() -> None:
    made = workload([[1, 0]], memory_gb=float("nan"))
    found = score(made, ints([[0, 1]]))
    assert (found.waste_gb_s, found.rum) == (None, None)
    assert found.waste_minutes == pytest.approx(1.5)


def test_unknown_minutes_are_not_scored() -> None:
    made = workload([[1, 0, 0, 1]])
    unknown = np.array([[False, True, True, False]])
    hidden = MinuteWorkload(made.keys, made.concurrency, made.need, made.memory_gb, unknown=unknown)
    always = np.ones((1, 4), dtype=np.int32)
    assert score(hidden, always).waste_minutes == pytest.approx(1.0)
    assert score(made, always).waste_minutes == pytest.approx(3.0)


def test_large_sets_are_scored_in_blocks_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    made = workload(rng.integers(0, 3, (7, 30)).tolist())
    warm = rng.integers(0, 3, (7, 30)).astype(np.int32)
    whole = score(made, warm)
    monkeypatch.setattr(minute, "BLOCK_CELLS", 60)
    assert score(made, warm) == whole


def test_allocations_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match="shape"):
        score(workload([[0, 1]]), ints([[1]]))


def test_parts_that_disagree_are_refused() -> None:
    with pytest.raises(InputError, match="agree on 2 functions"):
        MinuteWorkload(("a", "b"), np.zeros((2, 3)), np.zeros((2, 4), np.int32), np.zeros(2))


@given(need=needs, minutes=st.integers(1, 60))
def test_keep_alive_is_the_largest_need_of_the_last_minutes(need: Int32Array, minutes: int) -> None:
    warm = highest_before(need, minutes)
    for t in range(need.shape[1]):
        before = need[:, max(0, t - minutes) : t]
        assert warm[:, t].tolist() == (before.max(axis=1) if t else np.zeros(len(need))).tolist()


@given(need=needs, offsets=st.lists(st.integers(0, 100), min_size=4, max_size=4))
def test_a_turned_day_keeps_its_calls_and_turns_back(need: Int32Array, offsets: list[int]) -> None:
    made = workload(need.tolist())
    by = np.array(offsets[: len(need)])
    turned = made.turned(by)
    assert turned.need.sum(axis=1).tolist() == need.sum(axis=1).tolist()
    assert turned.need[0, by[0] % need.shape[1]] == need[0, 0]
    assert np.array_equal(turned.turned(-by).concurrency, made.concurrency)


@given(need=needs)
def test_more_instances_are_never_colder_nor_cheaper(need: Int32Array) -> None:
    made = workload(need.tolist())
    fewer, more = (score(made, np.full_like(need, count)) for count in (1, 2))
    assert more.cold <= fewer.cold
    assert more.waste_minutes >= fewer.waste_minutes
    assert int(cold_starts(need, np.full_like(need, 1)).sum()) == fewer.cold


def test_a_part_of_a_workload_is_that_part() -> None:
    made = workload([[1, 2, 3], [4, 5, 6]])
    assert made.first(2).need.tolist() == [[1, 2], [4, 5]]
    chosen = made.select(np.array([1]))
    assert (chosen.keys, chosen.need.tolist(), chosen.minutes) == (("app/1",), [[4, 5, 6]], 3)

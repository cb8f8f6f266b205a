"""Every policy of the table by what it does on a short day, and the promise that none of them looks ahead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from prewarm.domain import InputError, Int32Array
from prewarm.sim.baselines import Clairvoyant, KeepAlive, NeverUnload
from prewarm.sim.faascache import FaasCache
from prewarm.sim.minute import MinuteWorkload
from prewarm.sim.policies import check_names, policy
from tests.sim.made import workload

CAUSAL = ("ka-1", "ka-10", "ka-60", "kpa", "never-unload", "faascache-0.25", "faascache-2", "hh-1h", "hh-4h", "prewarm")
EVERY = (*CAUSAL, "clairvoyant")
needs = arrays.arrays(np.int32, st.tuples(st.integers(1, 4), st.integers(2, 50)), elements=st.integers(0, 2))


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=20, deadline=None)
@given(need=needs, data=st.data())
def test_the_first_half_is_decided_as_in_the_whole(name: str, need: Int32Array, data: st.DataObject) -> None:
    made = workload(need.tolist())
    cut = data.draw(st.integers(1, made.minutes))
    whole = policy(name).allocations(made)
    assert np.array_equal(policy(name).allocations(made.first(cut)), whole[:, :cut])


@pytest.mark.parametrize("name", CAUSAL)
@settings(max_examples=20, deadline=None)
@given(need=needs, data=st.data())
def test_what_comes_from_a_minute_on_does_not_move_that_minute(
    name: str, need: Int32Array, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, need.shape[1] - 1))
    other = need.copy()
    other[:, at:] = 2 - other[:, at:]
    first, second = (policy(name).allocations(workload(each.tolist())) for each in (need, other))
    assert np.array_equal(first[:, : at + 1], second[:, : at + 1])


@pytest.mark.parametrize("name", EVERY)
def test_every_policy_tells_its_progress_and_keeps_the_shape(name: str) -> None:
    told: list[float] = []
    made = workload(np.random.default_rng(1).integers(0, 2, (3, 130)).tolist())
    warm = policy(name).allocations(made, progress=told.append)
    assert warm.shape == made.need.shape
    assert warm.dtype == np.int32
    assert warm.min() >= 0
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1.0


@pytest.mark.parametrize(
    ("chosen", "warm"),
    [
        pytest.param(KeepAlive(1, "ka-1"), [0, 0, 2, 0, 0, 1, 0], id="last-minute"),
        pytest.param(KeepAlive(3, "ka-3"), [0, 0, 2, 2, 2, 1, 1], id="three-minutes"),
        pytest.param(NeverUnload(), [0, 0, 2, 2, 2, 2, 2], id="for-ever"),
        pytest.param(Clairvoyant(), [0, 2, 0, 0, 1, 0, 0], id="clairvoyant"),
    ],
)
def test_what_each_keeps_on_a_short_day(chosen: KeepAlive | NeverUnload | Clairvoyant, warm: list[int]) -> None:
    assert chosen.allocations(workload([[0, 2, 0, 0, 1, 0, 0]])).tolist() == [warm]


def test_a_cache_with_room_for_all_never_unloads() -> None:
    made = workload(np.random.default_rng(5).integers(0, 3, (4, 60)).tolist())
    cached = FaasCache(100.0, "faascache-100").allocations(made)
    assert np.array_equal(cached, NeverUnload().allocations(made))


def test_a_cache_holds_no_more_than_its_size_except_what_runs() -> None:
    made = workload(np.random.default_rng(6).integers(0, 3, (6, 80)).tolist())
    cached = FaasCache(0.5, "faascache-0.5").allocations(made)
    assert (cached.sum(axis=0) * 0.1).max() <= 0.5 + 1e-9


def test_the_app_called_more_often_stays_when_room_is_short() -> None:
    # Room for one of two equal apps. App 0 is called three times before app 1 comes once, and stays; app 1, called
    # while app 0 is idle, takes its place (it must run), and loses it again to the more frequent one.
    made = workload([[1, 1, 1, 0, 1, 0], [0, 0, 0, 1, 0, 0]])
    cached = FaasCache(0.1, "faascache-0.1").allocations(made)
    assert cached[0].tolist() == [0, 1, 1, 1, 0, 1]
    assert cached[1].tolist() == [0, 0, 0, 0, 1, 0]


def test_the_least_worth_keeping_is_evicted_first() -> None:
    # Room for two; app 0 was called often, app 1 once; app 2 takes app 1's place.
    made = workload([[1, 1, 1, 1, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0]])
    cached = FaasCache(0.2, "faascache-0.2").allocations(made)
    assert cached[:, 5].tolist() == [1, 0, 1]


def test_an_app_larger_than_the_cache_runs_outside_it() -> None:
    made = workload([[1, 1, 1]], memory_gb=2.0)
    assert FaasCache(1.0, "faascache-1").allocations(made).tolist() == [[0, 0, 0]]


def test_a_cache_needs_every_memory() -> None:
    made = workload([[1]], memory_gb=float("nan"))
    with pytest.raises(InputError, match="faascache-1: needs every function's memory"):
        FaasCache(1.0, "faascache-1").allocations(made)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        pytest.param(["ka-"], "unknown", id="no-minutes"),
        pytest.param(["hh-2h"], "unknown", id="no-such-range"),
        pytest.param(["faascache-x"], "unknown", id="no-size"),
        pytest.param(["kpa", "kpa"], "twice", id="twice"),
        pytest.param([], "none given", id="none"),
    ],
)
def test_names_that_mean_nothing_are_refused_before_anything_runs(names: list[str], why: str) -> None:
    with pytest.raises(InputError, match=why):
        check_names(names)


@pytest.mark.parametrize("name", ["ka-0", "faascache-0", "nothing"])
def test_policies_that_cannot_be_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=name):
        policy(name)


def test_the_hybrid_histogram_warms_shortly_before_a_regular_call() -> None:
    need = np.zeros((1, 600), dtype=np.int32)
    need[0, ::30] = 1
    made = MinuteWorkload(("app/0",), need * np.float64(0.1), need, np.array([0.1]))
    warm = policy("hh-4h").allocations(made)
    assert warm[0, 450::30].all()
    assert warm[0, 451:470].sum() == 0

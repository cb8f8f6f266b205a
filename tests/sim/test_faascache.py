"""FaasCache against a naive statement of Greedy-Dual, which looks at every container at every eviction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from prewarm.domain import FloatArray, InputError, Int32Array
from prewarm.sim.faascache import FaasCache
from prewarm.sim.minute import MinuteWorkload, score

needs = arrays.arrays(np.int32, st.tuples(st.integers(1, 5), st.integers(1, 30)), elements=st.integers(0, 3))


def made(need: Int32Array, memory_gb: FloatArray) -> MinuteWorkload:
    keys = tuple(f"app/{row}" for row in range(len(need)))
    return MinuteWorkload(keys, need.astype(np.float64), need, memory_gb)


class Naive:
    """A cache of containers, one entry each; the victim is found by looking at all of them."""

    def __init__(self, capacity_gb: float, memory_gb: list[float]) -> None:
        self.capacity_gb, self.memory_gb = capacity_gb, memory_gb
        self.held = [0] * len(memory_gb)
        self.frequency = [0] * len(memory_gb)
        self.priority = [0.0] * len(memory_gb)
        self.clock = 0.0

    def used_gb(self) -> float:
        return sum(count * size for count, size in zip(self.held, self.memory_gb, strict=True))

    def call(self, function: int, need: int, busy: list[int]) -> None:
        self.frequency[function] += need
        self.priority[function] = self.clock + self.frequency[function] / self.memory_gb[function]
        while self.held[function] < need and self.make_room(self.memory_gb[function], busy):
            self.held[function] += 1

    def make_room(self, size_gb: float, busy: list[int]) -> bool:
        while self.used_gb() + size_gb > self.capacity_gb + 1e-9:
            idle = [each for each, count in enumerate(self.held) if count > busy[each]]
            if not idle:
                return False
            victim = min(idle, key=lambda each: (self.priority[each], each))
            self.held[victim] -= 1
            self.clock = self.priority[victim]
        return True


@settings(max_examples=60, deadline=None)
@given(need=needs, sizes=st.lists(st.integers(1, 4), min_size=5, max_size=5), capacity=st.integers(1, 12))
def test_it_keeps_what_a_naive_greedy_dual_keeps(need: Int32Array, sizes: list[int], capacity: int) -> None:
    memory_gb = [float(size) for size in sizes[: len(need)]]
    found = FaasCache(float(capacity), "faascache").allocations(made(need, np.array(memory_gb)))
    naive = Naive(float(capacity), memory_gb)
    for minute in range(need.shape[1]):
        assert found[:, minute].tolist() == naive.held
        for function in np.flatnonzero(need[:, minute]).tolist():
            naive.call(function, int(need[function, minute]), need[:, minute].tolist())


@settings(max_examples=40, deadline=None)
@given(need=needs, capacity=st.floats(0.05, 2.0))
def test_the_cache_never_holds_more_than_its_size(need: Int32Array, capacity: float) -> None:
    memory_gb = np.full(len(need), 0.1)
    held = FaasCache(capacity, "faascache").allocations(made(need, memory_gb))
    assert (held.T @ memory_gb).max() <= capacity + 1e-9


def test_a_larger_cache_is_warmer_and_dearer_on_steady_traffic() -> None:
    rng = np.random.default_rng(7)
    need = (rng.random((20, 300)) < rng.random((20, 1)) * 0.3).astype(np.int32)
    workload = made(need, np.full(20, 0.1))
    small, large = (score(workload, FaasCache(size, "faascache").allocations(workload)) for size in (0.5, 1.5))
    assert large.cold < small.cold
    assert large.waste_minutes > small.waste_minutes


def test_small_containers_are_worth_more_than_large_ones_called_as_often() -> None:
    # Room for 3 GB: app 0 takes 2 GB, app 1 takes 1 GB; app 2 needs 1 GB more, and the large one goes.
    need = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], dtype=np.int32)
    held = FaasCache(3.0, "faascache").allocations(made(need, np.array([2.0, 1.0, 1.0])))
    assert held[:, 3].tolist() == [0, 1, 1]


@pytest.mark.parametrize("size", [-1.0, 0.0, float("nan")])
def test_a_cache_without_a_size_is_refused(size: float) -> None:
    with pytest.raises(InputError, match="larger than 0"):
        FaasCache(size, "faascache")

"""Three shapes of uncertainty, against samples and against the textbook."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.forecast.batch import COUNTS
from prewarm.forecast.distribution import around_mean, counts_around, newest_sizes, rare_demand


def test_rare_demand_is_zero_below_its_chance_and_a_seen_size_above() -> None:
    chance, sizes = np.array([[0.2]]), np.array([[4.0, 2.0, np.nan, 1.0, 8.0]])
    quantiles, p = rare_demand(chance, sizes, (0.5, 0.8, 0.84, 0.9, 0.99))
    assert quantiles[0, 0].tolist() == [0.0, 0.0, 1.0, 2.0, 8.0]
    np.testing.assert_allclose(p[0, 0], [0.2, 0.15, 0.1, 0.1])


def test_rare_demand_without_any_size_seen_means_one_instance() -> None:
    quantiles, p = rare_demand(np.array([[0.5]]), np.full((1, 3), np.nan), (0.9,))
    assert quantiles.item() == 1.0
    np.testing.assert_allclose(p[0, 0], [0.5, 0.0, 0.0, 0.0])
    empty, _ = rare_demand(np.array([[0.5]]), np.zeros((1, 0)), (0.9,))
    assert empty.item() == 1.0


@given(st.floats(0, 1), st.lists(st.integers(1, 9), min_size=1, max_size=8), st.floats(0.01, 0.99))
def test_rare_demand_agrees_with_its_own_definition(chance: float, sizes: list[int], level: float) -> None:
    quantiles, p = rare_demand(np.array([[chance]]), np.array([sizes], dtype=np.float64), (level,))
    q = quantiles.item()
    larger = np.mean([s > q for s in sizes]) * chance
    assert 1 - larger >= level - 1e-9  # P(N <= q) reaches the level
    if q > 0:
        assert 1 - np.mean([s >= q for s in sizes]) * chance < level + 1e-9  # and no smaller count does
    for k in range(1, COUNTS + 1):
        assert p[0, 0, k - 1] == pytest.approx(chance * np.mean([s >= k for s in sizes]))


def test_the_newest_sizes_come_first_and_unknown_is_no_size() -> None:
    values = np.array([[5.0, 0.0, np.nan, 7.0, 0.0, 9.0], [0.0] * 6])
    sizes = newest_sizes(values, kept=2)
    assert sizes[0].tolist() == [9.0, 7.0]
    assert np.isnan(sizes[1]).all()


def test_errors_around_a_mean_give_its_quantiles_and_widen_with_the_horizon() -> None:
    errors = np.array([[-2.0, -1.0, 0.0, 1.0, 2.0]])
    quantiles, p = around_mean(np.array([[3.0, 3.0]]), errors, np.array([[1.0, 2.0]]), (0.0, 0.5, 1.0))
    assert quantiles[0].tolist() == [[1.0, 3.0, 5.0], [-1.0, 3.0, 7.0]]
    assert p[0, 0, 0] == 1.0
    assert p[0, 1, 0] < 1.0


def test_no_errors_known_means_certainty() -> None:
    quantiles, p = around_mean(np.array([[7.0]]), np.full((1, 4), np.nan), np.ones((1, 1)), (0.1, 0.9))
    assert quantiles[0, 0].tolist() == [7.0, 7.0]
    assert p[0, 0].tolist() == [1.0] * COUNTS


@pytest.mark.parametrize(("mean", "dispersion"), [(0.05, 1.0), (0.8, 2.0), (6.0, 1.5), (25.0, 3.0), (400.0, 4.0)])
def test_counts_around_a_mean_match_samples(mean: float, dispersion: float) -> None:
    rng = np.random.default_rng(3)
    spread = max(dispersion, 1 + 1e-6)
    sample = rng.negative_binomial(mean / (spread - 1), 1 / spread, size=200_000)
    levels = (0.1, 0.5, 0.9, 0.99)
    quantiles, p = counts_around(np.array([[mean]]), np.array([[dispersion]]), levels)
    expected = np.quantile(sample, levels)
    np.testing.assert_allclose(quantiles[0, 0], expected, atol=max(1.0, 0.02 * mean))
    np.testing.assert_allclose(p[0, 0], [(sample >= k).mean() for k in range(1, COUNTS + 1)], atol=0.005)


def test_a_mean_of_zero_is_silence() -> None:
    quantiles, p = counts_around(np.zeros((1, 2)), np.ones((1, 1)), (0.5, 0.999))
    assert not quantiles.any()
    assert not p.any()


@settings(max_examples=50)
@given(st.floats(0, 1e6), st.floats(1, 50))
def test_counts_never_leave_the_possible(mean: float, dispersion: float) -> None:
    quantiles, p = counts_around(np.array([[mean]]), np.array([[dispersion]]), (0.01, 0.5, 0.99))
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles[0, 0]) >= -1e-9).all()
    assert ((p >= 0) & (p <= 1)).all()

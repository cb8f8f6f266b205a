"""Exploration noise: its size, its memory, its seed."""

from __future__ import annotations

import numpy as np
import pytest

from gnn.noise import Law, Noise, NoiseSettings


def test_gaussian_noise_has_the_size_that_was_asked_for_and_forgets() -> None:
    noise, rng = Noise(NoiseSettings(sigma=0.3, last_sigma=0.3)), np.random.default_rng(0)
    draws = np.array([noise.draw((1, 2), rng) for _ in range(4_000)])[:, 0]
    assert draws.std() == pytest.approx(0.3, rel=0.05)
    assert abs(np.corrcoef(draws[1:, 0], draws[:-1, 0])[0, 1]) < 0.05


def test_a_walk_remembers_and_has_its_stationary_size() -> None:
    settings = NoiseSettings(Law.ORNSTEIN_UHLENBECK, sigma=0.2, last_sigma=0.2, pull=0.15)
    noise, rng = Noise(settings), np.random.default_rng(0)
    draws = np.array([noise.draw((1, 1), rng)[0, 0] for _ in range(20_000)])
    assert draws.std() == pytest.approx(0.2 / np.sqrt(1 - 0.85**2), rel=0.1)
    assert np.corrcoef(draws[1:], draws[:-1])[0, 1] == pytest.approx(0.85, abs=0.03)


def test_it_falls_in_a_straight_line_and_stays() -> None:
    noise, rng = Noise(NoiseSettings(sigma=1.0, last_sigma=0.2, steps=4)), np.random.default_rng(0)
    sizes = []
    for _ in range(6):
        sizes.append(noise.sigma)
        noise.draw((1, 1), rng)
    assert sizes == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2, 0.2])


@pytest.mark.parametrize("law", list(Law))
def test_taken_up_again_it_goes_on_as_it_would_have(law: Law) -> None:
    one, rng = Noise(NoiseSettings(law)), np.random.default_rng(1)
    one.draw((2, 3), rng)
    other, same = Noise(NoiseSettings(law)), np.random.default_rng(1)
    same.bit_generator.state = rng.bit_generator.state
    other.restore(one.state())
    for _ in range(3):
        assert np.array_equal(one.draw((2, 3), rng), other.draw((2, 3), same))


def test_a_walk_starts_anew_for_another_number_of_clusters() -> None:
    noise, rng = Noise(NoiseSettings(Law.ORNSTEIN_UHLENBECK)), np.random.default_rng(1)
    noise.draw((2, 1), rng)
    assert noise.draw((5, 1), rng).shape == (5, 1)

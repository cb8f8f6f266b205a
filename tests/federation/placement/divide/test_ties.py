"""Ties are decided by a hash of our own: the same everywhere, and even over clusters."""

import numpy as np

from federation.placement.divide.ties import seed_of, ties_of


def test_the_hash_is_the_same_on_every_machine() -> None:
    assert seed_of("shop/checkout") == 0xA4FCA806B7C2995B
    assert ties_of(["shop/checkout"], ["a", "b"]).round(6).tolist() == [[0.557207, 0.171558]]


def test_numbers_are_even_over_clusters_and_workloads() -> None:
    ties = ties_of([f"shop/f{number}" for number in range(2000)], [f"c{number}" for number in range(10)])
    assert ties.shape == (2000, 10)
    assert (ties >= 0).all()
    assert (ties < 1).all()
    first = np.bincount(ties.argmax(axis=1), minlength=10)
    assert first.min() > 140
    assert first.max() < 260
    assert abs(ties.mean() - 0.5) < 0.01

"""Trees: a median where a mean would lie, a spread that follows the noise, twice the same."""

from __future__ import annotations

import numpy as np

from prewarm.forecast.dense.boost import Trees, fit_median, fit_spread
from prewarm.forecast.dense.table import Table

TREES = Trees(rounds=40, leaves=7, rate=0.2, fewest_rows=20, seed=3)


def table(seed: int = 0) -> Table:
    """One telling column of four: outcomes around 0 with few noise at -1, around 2 with much noise at +1."""
    rng = np.random.default_rng(seed)
    values = np.repeat(rng.choice([-1.0, 1.0], (4000, 1)), 4, axis=1).astype(np.float32)
    values[:, 1:] = rng.normal(0, 1, (4000, 3))
    high = values[:, 0] > 0
    outcome = np.where(high, 2.0, 0.0) + rng.normal(0, 1, 4000) * np.where(high, 1.0, 0.1)
    outcome[rng.random(4000) < 0.1] += 20.0
    return Table(values, outcome, np.ones(4000))


def at(side: float) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.array([[side, 0.0, 0.0, 0.0]], dtype=np.float32)


def test_a_median_is_not_drawn_by_bursts() -> None:
    median = fit_median(table(), TREES)
    assert abs(float(median.predict(at(-1.0), num_threads=1)[0])) < 0.2
    assert abs(float(median.predict(at(1.0), num_threads=1)[0]) - 2.0) < 0.5


def test_a_spread_is_wide_where_the_noise_is() -> None:
    known = table()
    spread = fit_spread(known, fit_median(known, TREES), TREES)
    assert float(spread.predict(at(1.0), num_threads=1)[0]) > 1.3 * float(spread.predict(at(-1.0), num_threads=1)[0])


def test_two_fits_with_one_seed_are_equal() -> None:
    one, other = (fit_median(table(), TREES).model_to_string() for _ in range(2))
    assert one == other


def test_heavier_rows_decide_the_median() -> None:
    values = np.zeros((200, 1), dtype=np.float32)
    outcome = np.repeat([0.0, 10.0], 100)
    heavy = Table(values, outcome, np.repeat([1.0, 9.0], 100))
    assert float(fit_median(heavy, Trees(rounds=60, leaves=2, rate=0.3)).predict(values[:1], num_threads=1)[0]) > 8.0

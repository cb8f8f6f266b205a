"""The shipped pair of level models: who speaks where, and that nothing is read ahead."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.forecast.levels.blend import DOUBT, BlendedLevels
from prewarm.forecast.levels.features import Questions
from prewarm.forecast.levels.history_view import SparseHistory


@pytest.fixture(scope="module")
def shipped() -> BlendedLevels:
    """Both models as shipped."""
    return BlendedLevels.load()


def history(*functions: list[int], now: int) -> SparseHistory:
    """Functions called once in each of the listed minutes."""
    minute = np.array([minute for hits in functions for minute in hits], np.int32)
    indptr = np.cumsum([0, *(len(hits) for hits in functions)]).astype(np.int64)
    ones = np.ones(len(minute), np.float32)
    return SparseHistory(minute, ones.astype(np.int16), indptr, np.zeros(len(functions), np.int32), now, ones)


def irregular(size: int, seed: int) -> list[int]:
    """Minutes of a function without any rhythm."""
    rng = np.random.default_rng(seed)
    return sorted({int(minute) for minute in np.cumsum(rng.geometric(0.15, size))})


def asked(seen: SparseHistory, now: int) -> Questions:
    """The first level of every function at one minute."""
    rows = np.arange(seen.rows, dtype=np.int32)
    ones = np.ones(seen.rows, np.int32)
    return Questions(rows, ones, ones * now, ones * 0)


def test_in_doubt_both_speak_and_elsewhere_the_trees_alone(shipped: BlendedLevels) -> None:
    """The blend is the mean of the logits with the card's share; certain chances are the trees' own."""
    seen = history(*(irregular(200, seed) for seed in range(40)), list(range(0, 600, 5)), now=600)
    questions = asked(seen, 600)
    trees = shipped.trees.chances(seen, questions)
    both = shipped.chances(seen, questions)
    doubtful = (trees > DOUBT[0]) & (trees < DOUBT[1])
    assert doubtful.sum() > 5
    np.testing.assert_array_equal(both[~doubtful], trees[~doubtful])
    rows = np.flatnonzero(doubtful)
    network = shipped.network.p_of(seen, rows, np.ones(len(rows), np.int64))
    logit = (1 - shipped.share) * np.log(trees[rows] / (1 - trees[rows])) + shipped.share * np.log(
        network / (1 - network)
    )
    np.testing.assert_allclose(both[rows], 1 / (1 + np.exp(-logit)), rtol=1e-4)


def test_a_steady_timer_is_sure_and_between_its_calls_nothing_is_expected(shipped: BlendedLevels) -> None:
    """Every five minutes for ten hours."""
    seen = history(list(range(0, 600, 5)), now=600)
    due, between = (float(shipped.chances(seen, asked(seen, now))[0]) for now in (600, 598))
    assert due > 0.9
    assert between < 0.05


def test_later_calls_change_nothing(shipped: BlendedLevels) -> None:
    """The same answers whether the history ends at the question or goes on."""
    whole = [irregular(200, seed) for seed in range(30)]
    cut = [[minute for minute in hits if minute < 400] for hits in whole]
    now = asked(history(*whole, now=400), 400)
    np.testing.assert_array_equal(
        shipped.chances(history(*whole, now=2000), now), shipped.chances(history(*cut, now=400), now)
    )


def test_many_minutes_asked_together_are_those_asked_alone(shipped: BlendedLevels) -> None:
    """The replay asks in batches, the service once a minute."""
    seen = history(*(irregular(200, seed) for seed in range(20)), now=900)
    alone = [shipped.chances(seen, asked(seen, now)) for now in (500, 650, 899)]
    parts = [asked(seen, now) for now in (500, 650, 899)]
    together = shipped.chances(
        seen,
        Questions(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("row", "level", "now", "ahead"))
        ),
    )
    np.testing.assert_allclose(together, np.concatenate(alone), rtol=1e-5)


def test_a_share_outside_zero_and_one_is_refused(shipped: BlendedLevels) -> None:
    """A card that was edited by hand is noticed."""
    with pytest.raises(InputError, match="share must be 0 to 1"):
        BlendedLevels(shipped.trees, shipped.network, 1.5)

"""The worker asks about some functions at a time, and says the same as about all at once."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.forecast import live
from prewarm.forecast.experts.opinions import Opinions, ask
from prewarm.forecast.replica import BLOCK_ROWS, Question, Replica, sparse_history
from prewarm.history.view import HitView

NOW = 300
FUNCTIONS = 2 * BLOCK_ROWS + 40


def timers(functions: int, now: int) -> HitView:
    """Function i is called every 3 + i % 40 minutes, so some are due now and some are not."""
    minutes = [np.arange(i % 7, now, 3 + i % 40, dtype=np.int32) for i in range(functions)]
    pointer = np.concatenate([[0], np.cumsum([len(one) for one in minutes])]).astype(np.int64)
    minute = np.concatenate(minutes)
    count = np.ones(len(minute), np.float32)
    return HitView(minute, count, count * np.float32(0.5), pointer, np.zeros(functions, np.int32), now)


def test_asked_in_parts_or_all_at_once_the_opinions_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three parts of a thousand functions, the last one short; rows go on where the part before ended."""
    whole, copy = timers(FUNCTIONS, NOW), Replica()
    copy.load(whole, NOW)
    monkeypatch.setattr(live, "_replica", lambda: copy)
    monkeypatch.setattr(live, "BLOCKS_AT_A_TIME", 1)
    capacity = np.ones(FUNCTIONS)
    told = live.opinions(Question(whole, NOW - 5, NOW, capacity, 2 * NOW))
    expected = ask(sparse_history(whole, capacity))
    assert isinstance(told, Opinions)
    assert told.row.tolist() == expected.row.tolist()
    assert told.level.tolist() == expected.level.tolist()
    np.testing.assert_allclose(told.chance, expected.chance, atol=1e-5)
    assert told.row.max() == FUNCTIONS - 1

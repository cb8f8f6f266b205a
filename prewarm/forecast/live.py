"""What runs in the service's model worker: one copy of the recent hits, asked once a minute.

The functions are what the process pool sends over; the copy lives as long as the worker process does.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from prewarm.forecast.experts.opinions import Opinions, ask, joined, shipped_model
from prewarm.forecast.levels.history_view import SparseHistory
from prewarm.forecast.replica import BLOCK_ROWS, Behind, Question, Replica, sparse_history
from prewarm.history.view import HitView

BLOCKS_AT_A_TIME = 8


@cache
def _replica() -> Replica:
    return Replica()


def warm_up(nothing: None = None) -> Opinions:
    """Load the models and compile their kernels by asking about a tiny history; numba keeps what it compiled."""
    del nothing
    hits, ones = np.array([10, 20, 30], dtype=np.int32), np.ones(3, dtype=np.float32)
    pointer, since = np.array([0, 3], dtype=np.int64), np.zeros(1, dtype=np.int32)
    tiny = SparseHistory(hits, ones.astype(np.int16), pointer, since, 40, ones)
    first = np.zeros(1, np.int64)
    shipped_model().network.p_of(tiny, first, first + 1, first + 40)  # the trees alone might leave nothing in doubt
    return ask(tiny)


def load(argument: tuple[HitView, int]) -> None:
    """Replace the worker's copy by the hits of a view before a minute."""
    view, until = argument
    _replica().load(view, until)


def opinions(question: Question) -> Opinions | Behind:
    """All experts' opinions on the question's minute, or how far the copy reaches where it has missed something.

    Some thousand functions are asked about at a time: the arrays of a hundred thousand fit no cache, and a tick that
    lets go of gigabytes and asks for them again waits for the memory longer than it computes.
    """
    parts = _replica().in_parts(question, BLOCKS_AT_A_TIME)
    if isinstance(parts, Behind):
        return parts
    answers, first = [], 0
    for view in parts:
        answers.append(ask(sparse_history(view, question.capacity[first : first + len(view)])))
        first += len(view)
    return joined(answers, BLOCKS_AT_A_TIME * BLOCK_ROWS)

"""What runs in the service's model worker: one copy of the recent hits, asked once a minute.

The two functions are what the process pool sends over; the copy lives as long as the worker process does.
"""

from __future__ import annotations

from functools import cache

from prewarm.forecast.experts.opinions import Opinions, ask
from prewarm.forecast.replica import Behind, Question, Replica, sparse_history
from prewarm.history.view import HitView


@cache
def _replica() -> Replica:
    return Replica()


def load(argument: tuple[HitView, int]) -> None:
    """Replace the worker's copy by the hits of a view before a minute."""
    view, until = argument
    _replica().load(view, until)


def opinions(question: Question) -> Opinions | Behind:
    """All experts' opinions on the question's minute, or how far the copy reaches where it has missed something."""
    answer = _replica().answer(question)
    if isinstance(answer, Behind):
        return answer
    return ask(sparse_history(answer, question.capacity))

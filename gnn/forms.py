"""What the policy's numbers mean: the three forms of an action, and the scores that follow.

An action is in -1..1. As *weights* it is one row for each function in question: how much more or less than the rule's
each named factor counts, and the spread temperature; zeros are the rule itself, so that a policy that knows nothing
does no harm. As *residual* or *direct* score it is one number for each cluster in question: added to the rule's score
within a bound, or the score. Written with plain arithmetic, which numpy and torch read alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

REACH = 4.0
"""At +1 a factor counts so many times what the rule gives it; at -1 not at all."""
HOTTEST = 0.5
"""At +1 a weights action adds this to the rule's spread temperature; at -1 there is none."""
DEAD = 0.1
"""Actions up to this leave the temperature alone."""
BOUND = 0.25
"""A residual changes a score by at most this."""


class Form(StrEnum):
    """Weights of the named factors, a bounded residual added to the rule's score, or a score of its own."""

    WEIGHTS = "weights"
    RESIDUAL = "residual"
    DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class Rule:
    """The fixed rule that an action is relative to: a weight for each named factor, and the spread temperature."""

    weights: tuple[float, ...]
    temperature: float = 0.0


def width_of(form: Form, factors: int) -> int:
    """Columns of an action of this form."""
    return factors + 1 if form is Form.WEIGHTS else 1


def weights_of(action: Any, rule: Any) -> Any:
    """Weights (k, F) that sum to one; `action` (k, F + 1), `rule` (F,) the rule's weights. All at -1: the rule's."""
    change = action[:, :-1]
    more, less = (change + abs(change)) / 2, (change - abs(change)) / 2
    raw = rule * (1.0 + less + (REACH - 1.0) * more) + _TINY * rule
    return raw / raw.sum(1)[:, None]


def temperature_of(action: Any, rule: float = 0.0) -> Any:
    """Spread temperature (k,) of a weights action; `rule` is the rule's, which 0 and anything up to `DEAD` leave as it
    is. The step is wide because above 0 a decision is of another kind: what runs there no longer counts.
    """
    change = action[:, -1]
    beyond = (change - DEAD) / (1.0 - DEAD)
    more, less = (beyond + abs(beyond)) / 2, (change - abs(change)) / 2
    return rule * (1.0 + less) + HOTTEST * more**2


def scores_of(form: Form, action: Any, *, pairs: Any, values: Any, rule: Any) -> Any:
    """Score (p,) of each pair; pairs (p,) the ask of each, values (p, F), rule (F,) the rule's weights."""
    if form is Form.WEIGHTS:
        return (weights_of(action, rule)[pairs] * values).sum(1)
    if form is Form.RESIDUAL:
        return values @ (rule / rule.sum()) + BOUND * action[:, 0]
    return (action[:, 0] + 1.0) / 2


_TINY = 1e-6

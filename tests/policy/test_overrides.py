"""Overrides: each action, expiry, and several at once."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.domain import Action, FunctionKey, Override
from prewarm.policy.overrides import apply_overrides

KEY = FunctionKey("shop/cart")


def said(action: Action, value: int | None = None, expires_at: float | None = None) -> Override:
    """An override on the one function of these tests."""
    return Override(KEY, None, action, value, "team-shop", "launch", 0.0, expires_at)


def result(target: int, current: int, *overrides: Override, now: float = 100.0) -> int:
    """The count after the overrides."""
    counts, _ = apply_overrides(
        np.array([target], np.int32), np.array([current], np.int32), rows={KEY: 0}, overrides=overrides, now=now
    )
    return int(counts[0])


@pytest.mark.parametrize(
    ("action", "value", "expected"),
    [
        (Action.PIN, 7, 7),
        (Action.FLOOR, 5, 5),
        (Action.FLOOR, 1, 3),
        (Action.CEILING, 2, 2),
        (Action.CEILING, 9, 3),
        (Action.FREEZE, None, 4),
        (Action.EXCLUDE, None, 0),
        (Action.PAUSE_DOWN, None, 4),
        (Action.PAUSE_UP, None, 3),
    ],
)
def test_each_action_from_three_wanted_and_four_running(action: Action, value: int | None, expected: int) -> None:
    """What an override makes of it."""
    assert result(3, 4, said(action, value)) == expected


def test_an_expired_override_is_silent_and_one_without_expiry_stays() -> None:
    """It ends at its time, that moment included."""
    assert result(3, 4, said(Action.PIN, 9, expires_at=100.0)) == 3
    assert result(3, 4, said(Action.PIN, 9, expires_at=100.1)) == 9
    assert result(3, 4, said(Action.PIN, 9)) == 9


def test_a_pin_has_the_last_word_whatever_the_order() -> None:
    """A ceiling given later does not cut a pin."""
    assert result(3, 4, said(Action.PIN, 9), said(Action.CEILING, 2)) == 9


def test_an_override_of_an_unknown_function_changes_nothing() -> None:
    """It may be about a function that has not been seen yet."""
    other = Override(FunctionKey("x/y"), None, Action.PIN, 9, "a", "b", 0.0, None)
    counts, spoken = apply_overrides(
        np.array([3], np.int32), np.array([3], np.int32), rows={KEY: 0}, overrides=[other], now=1.0
    )
    assert counts.tolist() == [3]
    assert spoken == {}

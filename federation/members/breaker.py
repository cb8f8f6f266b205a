"""When to leave a member alone: a circuit breaker as values, so that its whole life is a table of (state, now) pairs.

Closed, it admits everything. After `THRESHOLD` calls in a row that did not come back it opens, for a pause that doubles
with every further failure and is spread at random, so that a fleet of clients does not return in step. When the pause
is over one call is let through (half open); its end closes the breaker or opens it for longer. Times are seconds of a
clock that is never set back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

THRESHOLD = 3
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 15.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """`failures` in a row; `retry_at` None while it is closed; `trying` while one call is let through."""

    failures: int = 0
    retry_at: float | None = None
    trying: bool = False


def pause_s(
    failures: int, spread: float, *, first_s: float = FIRST_PAUSE_S, longest_s: float = LONGEST_PAUSE_S
) -> float:
    """The pause after so many failures (1 and up): doubled each time, shortened by up to half; `spread` in 0..1."""
    doubled = first_s * 2.0 ** min(max(failures - 1, 0), 30)
    return min(doubled, longest_s) * (1.0 - 0.5 * spread)


def admits(breaker: Breaker, now: float) -> bool:
    """Whether a call may be made."""
    return breaker.retry_at is None or (now >= breaker.retry_at and not breaker.trying)


def entered(breaker: Breaker) -> Breaker:
    """After a call was admitted and before it ends."""
    return breaker if breaker.retry_at is None else replace(breaker, trying=True)


def left(breaker: Breaker) -> Breaker:
    """After a call that ended without telling anything, because its caller gave up."""
    return replace(breaker, trying=False)


def answered() -> Breaker:
    """After an answer of any kind."""
    return Breaker()


def failed(breaker: Breaker, now: float, spread: float) -> Breaker:
    """After a call that did not come back."""
    failures = breaker.failures + 1
    if failures < THRESHOLD:
        return Breaker(failures)
    return Breaker(failures, now + pause_s(failures - THRESHOLD + 1, spread))

"""Feeding a history and a store as the service does: a minute of counts, accepted, then made durable."""

from __future__ import annotations

from typing import Any

import numpy as np

from prewarm.domain import FloatArray
from prewarm.history import History, MinuteBatch
from prewarm.history.reading import Quantity
from prewarm.store import Store

QUANTITIES: tuple[Quantity, ...] = ("count", "concurrency")


def batch(minute: int, counts: dict[int, float], known: list[int] | None = None) -> MinuteBatch:
    """Counts by row; concurrency is a tenth of the count."""
    count = np.array(list(counts.values()), np.float32)
    who = None if known is None else np.array(known, np.int32)
    return MinuteBatch(minute, np.array(list(counts), np.int32), count, count / np.float32(10), who)


async def ingest(
    store: Store, history: History, sequence: int, batches: list[MinuteBatch], source: str = "gateway-a"
) -> dict[str, Any]:
    """Send batches under a sequence, the clock standing at the newest one's minute."""
    now_minute = max(one.minute for one in batches)

    def accept() -> tuple[dict[str, Any], tuple[MinuteBatch, ...]]:
        reasons = [history.observe(one, now_minute=now_minute) for one in batches]
        taken = tuple(one for one, reason in zip(batches, reasons, strict=True) if reason is None)
        return {"accepted": len(taken), "rejected": [reason for reason in reasons if reason]}, taken

    return await store.ingest(history, source=source, sequence=sequence, at=now_minute * 60.0, accept=accept)


def assert_same(left: History, right: History, now_minute: int) -> None:
    """Both say the same of every minute, at every grain, and of what is known."""
    assert list(left.keys) == list(right.keys)
    for minutes, step in ((2 * 1440, 1), (5 * 1440, 5), (14 * 1440, 60)):
        for quantity in QUANTITIES:
            was, now = (_dense(one, now_minute, (minutes, step), quantity) for one in (left, right))
            np.testing.assert_allclose(now, was, rtol=1e-5, err_msg=f"{quantity} by {step} min")
    window = min(1440, int(left.retention.minute_days * 1440))
    before, after = left.sparse(now_minute, window), right.sparse(now_minute, window)
    for name in ("hit_minute", "hit_count", "hit_concurrency", "indptr", "since"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name), name)


def _dense(history: History, now_minute: int, grain: tuple[int, int], quantity: Quantity) -> FloatArray:
    rows = np.arange(len(history), dtype=np.int32)
    return history.dense(rows, now_minute, minutes=grain[0], step_minutes=grain[1], quantity=quantity)

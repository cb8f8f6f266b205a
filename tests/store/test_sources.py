"""Who speaks for which functions survives a restart, until a source is gone for good."""

from __future__ import annotations

from typing import Any

from prewarm.history import History, MinuteBatch, Retention
from prewarm.store import Store
from prewarm.store.sources import SILENT_S
from tests.store.counting import batch

START = 1_000_020


async def send(store: Store, history: History, source: str, sequence: int, counts: dict[int, float]) -> None:
    """One minute of a source, taken in as the service does."""

    def accept() -> tuple[dict[str, Any], tuple[MinuteBatch, ...]]:
        return {"accepted": len(counts)}, (batch(START, counts),)

    await store.ingest(history, source=source, sequence=sequence, at=START * 60.0, accept=accept)


async def test_what_a_source_named_comes_back_after_a_restart(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        for name in ("cart", "stock", "web"):
            history.index(f"shop/{name}")
        await send(store, history, "left", 1, {0: 3.0})
        await send(store, history, "left", 2, {0: 1.0, 1: 1.0})
        await send(store, history, "right", 1, {2: 5.0, 1: 1.0})
    async with Store.open(address, Retention()) as store:
        await store.load_history(START + 5)
        assert store.spoken == {"left": {0, 1}, "right": {1, 2}}


async def test_a_source_that_was_not_heard_for_a_day_speaks_for_nothing(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        history.index("shop/cart")
        await send(store, history, "left", 1, {0: 3.0})
        await store.load_history(START + int(SILENT_S // 60))
        assert set(store.spoken) == {"left"}
        await store.load_history(START + int(SILENT_S // 60) + 1)
        assert store.spoken == {}

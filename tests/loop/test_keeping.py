"""What the keeper writes beside the answers: that the clock had been ahead is made known to the store."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from prewarm.history import History, Retention
from prewarm.loop.keeping import Keeper
from prewarm.store import Store, StoreDownError
from tests.service import NOW, HandClock, running_desk
from tests.store.counting import batch

MINUTE = int(NOW // 60)


def told(history: History) -> bool:
    """Whether the store is still to be told that the clock had been ahead."""
    return history.was_ahead


async def take(keeper: Keeper, minute: int) -> None:
    """Push one call of the first function in a minute that is over by our clock."""
    history = keeper._fleet.history

    def accept(taken: int) -> tuple[dict[str, object], tuple[object, ...]]:
        counts = batch(taken, {0: 1.0})
        refused = history.observe(counts, now_minute=taken + 1)
        return {}, () if refused else (counts,)

    await keeper.ingest("gateway", minute, partial(accept, minute))  # type: ignore[arg-type]


@pytest.mark.parametrize("restarts_in", [20, 400])
async def test_counts_of_a_false_future_do_not_come_back_after_a_restart(tmp_path: Path, restarts_in: int) -> None:
    clock = HandClock()
    async with running_desk(tmp_path, clock=clock) as (desk, _):
        keeper, history = desk.keeper, desk.fleet.history
        history.index("shop/a")
        await take(keeper, MINUTE - 1)
        for minute in range(MINUTE + 300, MINUTE + 320):  # believed after a quarter of an hour
            await take(keeper, minute)
        for minute in range(MINUTE, MINUTE + 20):  # put right; believed again as slowly
            await take(keeper, minute)
        assert told(history) is True
        clock.time = (MINUTE + 20) * 60.0
        await desk.ticks.tick(clock.time)
        assert told(history) is False
    async with Store.open(f"sqlite:///{tmp_path / 'prewarm.db'}", Retention()) as store:
        again = await store.load_history(MINUTE + restarts_in)
    hits = again.sparse(MINUTE + restarts_in, 500).hit_minute.tolist()
    assert hits == [MINUTE - 1, *range(MINUTE + 16, MINUTE + 20)]


async def test_a_store_that_is_down_is_told_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def down(minute: int) -> None:
        raise StoreDownError(f"disk full, {minute} not forgotten")

    async with running_desk(tmp_path) as (desk, clock):
        history = desk.fleet.history
        history.was_ahead = True
        monkeypatch.setattr(Store, "forget_counts_from", lambda _, minute: down(minute))
        await desk.ticks.tick(clock.time)
        assert told(history) is True
        monkeypatch.undo()
        await desk.ticks.tick(clock.time + 60)
        assert told(history) is False

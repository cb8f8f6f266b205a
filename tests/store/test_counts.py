"""Counts come back after a restart exactly as they were acknowledged, at every grain and with what was unknown."""

from __future__ import annotations

import asyncio
from functools import partial

import numpy as np
import pytest
from sqlalchemy import func, select

from prewarm.domain import InputError, PrewarmError
from prewarm.history import DATA_STATES, History, MinuteBatch, Retention
from prewarm.store import Store, StoreBusyError, WriterSettings
from prewarm.store.counts import close_hours
from prewarm.store.schema import BATCHES, SEGMENTS
from tests.store.counting import assert_same, batch, ingest

START = 1_000_020
SMALL = Retention(minute_days=0.25, five_minute_days=0.5, hour_days=1.0)


async def test_a_restart_brings_back_every_acknowledged_minute(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        for name in ("cart", "stock"):
            history.index(f"shop/{name}")
        await ingest(store, history, 1, [batch(START, {0: 3.0, 1: 1.0})])
        history.index("shop/late")
        await ingest(store, history, 2, [batch(START + 1, {2: 7.0}), batch(START, {0: 2.0}, known=[0, 1])])
    async with Store.open(address, Retention()) as store:
        again = await store.load_history(START + 2)
    assert list(again.keys) == ["shop/cart", "shop/stock", "shop/late"]
    dense = again.dense(np.arange(3, dtype=np.int32), START + 2, minutes=2)
    np.testing.assert_array_equal(dense, [[5, 0], [1, 0], [np.nan, 7]])
    assert_same(history, again, START + 2)


async def test_days_of_counts_age_alike_in_memory_and_on_disk(address: str) -> None:
    rng = np.random.default_rng(7)
    async with Store.open(address, SMALL) as store:
        history = await store.load_history(START)
        for row in range(6):
            history.index(f"ns/f{row}")
        quarters = range(START, START + 1600, 15)
        for sequence, first in enumerate(quarters):
            known = None if sequence % 10 < 8 else [0, 1, 2]
            hits = [rng.choice(6, rng.integers(0, 4), replace=False) for _ in range(15)]
            minutes = [
                batch(first + late, {int(row): 1.0 + row for row in hit}, known) for late, hit in enumerate(hits)
            ]
            await ingest(store, history, sequence, [one for one in minutes if one.minute % 3])
            if sequence % 12 == 11:
                await store.maintain(first * 60.0)
        now = quarters[-1] + 14
        while await store.submit(partial(close_hours, retention=SMALL, now_minute=now)):
            pass
        grains = await store.read(lambda c: c.execute(select(SEGMENTS.c.step).order_by(SEGMENTS.c.start_minute)).all())
    assert [row.step for row in grains] == sorted((row.step for row in grains), reverse=True)
    assert {row.step for row in grains} == {1, 5, 60}
    async with Store.open(address, SMALL) as store:
        again = await store.load_history(now)
    assert_same(history, again, now)


async def test_the_log_is_gone_once_its_hour_is_closed(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        history.index("ns/f")
        for minute in range(3):
            await ingest(store, history, minute, [batch(START + minute, {0: 1.0})])
        assert await store.maintain((START + 134) * 60.0) == 0
        assert await store.maintain((START + 135) * 60.0) == 1
        assert await store.read(lambda c: c.execute(select(func.count()).select_from(BATCHES)).scalar_one()) == 0
        again = await store.load_history(START + 135)
    assert again.sparse(START + 135, 1440).hit_minute.tolist() == [START, START + 1, START + 2]


async def test_an_hour_closed_under_a_clock_that_was_ahead_takes_what_came_after(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        history.index("ns/f")
        await ingest(store, history, 1, [batch(START, {0: 1.0})])
        assert await store.maintain((START + 300) * 60.0) == 1
        await ingest(store, history, 2, [batch(START + 1, {0: 2.0})])
        assert await store.maintain((START + 300) * 60.0) == 1
        again = await store.load_history(START + 300)
    assert again.sparse(START + 300, 1440).hit_count.tolist() == [1.0, 2.0]


async def test_the_same_pair_again_changes_nothing_and_is_answered_the_same(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        history.index("ns/f")
        first = await ingest(store, history, 9, [batch(START, {0: 4.0}), batch(START - 20, {0: 1.0})])
        assert first == {"accepted": 1, "rejected": ["older than retention.late_s (900)"]}
        assert await ingest(store, history, 9, [batch(START, {0: 4.0})]) == first
    async with Store.open(address, Retention()) as store:
        again = await store.load_history(START + 1)
        assert await ingest(store, again, 9, [batch(START, {0: 4.0})]) == first
        assert await ingest(store, again, 9, [batch(START, {0: 4.0})], source="gateway-b") != first
    assert again.sparse(START + 1, 60).hit_count.tolist() == [8.0]


async def test_two_senders_of_one_pair_at_once_are_one(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        history.index("ns/f")
        answers = await asyncio.gather(*(ingest(store, history, 1, [batch(START, {0: 1.0})]) for _ in range(5)))
    assert answers == [{"accepted": 1, "rejected": []}] * 5
    assert history.sparse(START + 1, 60).hit_count.tolist() == [1.0]


async def test_a_sender_that_gave_up_and_repeats_is_not_counted_twice(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        history.index("ns/f")
        gave_up = asyncio.create_task(ingest(store, history, 1, [batch(START, {0: 1.0})]))
        await asyncio.sleep(0)
        gave_up.cancel()
        assert await ingest(store, history, 1, [batch(START, {0: 1.0})]) == {"accepted": 1, "rejected": []}
    assert history.sparse(START + 1, 60).hit_count.tolist() == [1.0]


async def test_bad_counts_change_neither_memory_nor_disk(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        history.index("ns/f")
        with pytest.raises(InputError, match="count must be finite and 0 or more"):
            await ingest(store, history, 1, [batch(START, {0: -1.0})])
        assert await ingest(store, history, 1, [batch(START, {0: 1.0})]) == {"accepted": 1, "rejected": []}
        again = await store.load_history(START + 1)
    assert_same(history, again, START + 1)


async def test_no_room_to_write_means_nothing_was_taken(address: str) -> None:
    async with Store.open(address, Retention(), WriterSettings(max_waiting=0)) as store:
        history = await store.load_history(START)
        history.index("ns/f")
        with pytest.raises(StoreBusyError, match="0 writes are waiting, no room for more"):
            await ingest(store, history, 1, [batch(START, {0: 1.0})])
    assert history.sparse(START + 1, 60).hit_count.size == 0


async def test_counts_need_a_loaded_history(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        with pytest.raises(PrewarmError, match="load_history must come before ingest"):
            await ingest(store, History(Retention(), START), 1, [batch(START, {})])


async def test_counts_of_a_false_future_can_be_forgotten(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        history.index("ns/f")
        await ingest(store, history, 1, [batch(START, {0: 1.0})])
        await ingest(store, history, 2, [batch(START + 50, {0: 5.0})])
        await store.forget_counts_from(START + 50)
        again = await store.load_history(START + 60)
    assert again.sparse(START + 60, 60).hit_count.tolist() == [1.0]


async def test_partial_answers_stay_a_lower_bound_after_a_restart(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        history.index("shop/cart")
        await ingest(store, history, 1, [batch(START, {0: 100.0})])
        await ingest(store, history, 2, [batch(START + 1, {0: 40.0}, known=[])])
        again = await store.load_history(START + 2)
    codes, _ = again.data_state((START + 2) * 60.0)
    assert [DATA_STATES[code] for code in codes] == ["partial"]
    np.testing.assert_array_equal(again.dense(np.array([0], np.int32), START + 2, minutes=2), [[100, np.nan]])
    assert again.sparse(START + 2, 60).hit_count.tolist() == [100.0, 40.0]


async def test_a_concurrency_that_nobody_said_comes_back_unsaid(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        history.index("ns/f")
        silent = MinuteBatch(START, np.array([0], np.int32), np.array([2.0], np.float32))
        await ingest(store, history, 1, [silent])
        again = await store.load_history(START + 1)
    assert np.isnan(again.sparse(START + 1, 60).hit_concurrency).all()

"""Promised room in the database: what is held, what is over, and what takes the place of what."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from sqlalchemy.dialects import sqlite

from prewarm.history import Retention
from prewarm.store import Store
from prewarm.store.reservations import _OVER, Reservation, drop_reservations, put_reservations, reservations

SHAPE = {"requests": {"cpu": 4000, "memory": 1 << 40}, "gpu": {"count": 0, "milli": 500, "models": ["A10", "T4"]}}
ONE = Reservation("D1", "eu", "shop/a", 3, 2, SHAPE, 100.25, -7)


def opened(address: str) -> Store:
    return Store.open(address, Retention())


async def test_what_is_held_comes_back_exactly_until_it_is_over(address: str) -> None:
    rows = [ONE, replace(ONE, cluster="us", until=150.0)]
    async with opened(address) as store:
        await store.submit(lambda connection: put_reservations(connection, "shop/a", rows, 10.0))
    async with opened(address) as store:
        assert await store.read(lambda connection: reservations(connection, 100.0)) == tuple(rows)
        assert await store.read(lambda connection: reservations(connection, 100.25)) == tuple(rows[1:])
        assert await store.read(lambda connection: reservations(connection, 150.0)) == ()


async def test_a_newer_decision_takes_the_place_and_what_is_over_is_forgotten(address: str) -> None:
    other, late = (
        replace(ONE, decision="D2", workload="shop/b"),
        replace(ONE, decision="D3", workload="shop/c", until=50),
    )
    newer = replace(ONE, decision="D4", instances=1)
    async with opened(address) as store:
        for one in (ONE, other, late):
            await store.submit(partial(put_reservations, workload=one.workload, rows=[one], now=10.0))
        await store.submit(lambda connection: put_reservations(connection, "shop/a", [newer], 60.0))
        assert await store.read(lambda connection: reservations(connection, 0.0)) == (other, newer)
        await store.submit(lambda connection: put_reservations(connection, "shop/b", [], 60.0))
        assert await store.read(lambda connection: reservations(connection, 0.0)) == (newer,)


def test_what_is_replaced_or_over_is_found_by_index(tmp_path: Path) -> None:
    opened(f"sqlite:///{tmp_path / 'plan.db'}").close()
    with closing(sqlite3.connect(tmp_path / "plan.db")) as connection:
        text, places = _OVER.made(sqlite.dialect())
        assert places == ("now", "one")
        plan = connection.execute(f"EXPLAIN QUERY PLAN {text}", (10.0, "shop/a")).fetchall()
    told = " ".join(row[3] for row in plan)
    assert "ix_reservations_until" in told
    assert "ix_reservations_workload" in told


async def test_a_cancelled_decision_holds_nothing(address: str) -> None:
    other = replace(ONE, decision="D2", workload="shop/b")
    async with opened(address) as store:
        for one in (ONE, other):
            await store.submit(partial(put_reservations, workload=one.workload, rows=[one], now=10.0))
        await store.submit(lambda connection: drop_reservations(connection, ["D1", "D9"]))
        assert await store.read(lambda connection: reservations(connection, 10.0)) == (other,)

"""Names that one process at a time may hold, on both databases, and rows that two services write at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from prewarm.history import Retention
from prewarm.store import Stamp, Store, audit_entries, documents, put_document

NAME = "apply shop/checkout"
HOLDS = """
import asyncio, sys
from prewarm.history import Retention
from prewarm.store import Store

async def main():
    async with Store.open(sys.argv[1], Retention()) as store, store.hold(sys.argv[2]) as alone:
        print(alone, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.fixture
async def stores(address: str) -> AsyncIterator[tuple[Store, Store]]:
    """Two on one database, as two services have them."""
    one = await asyncio.to_thread(Store.open, address, Retention())
    async with one, await asyncio.to_thread(Store.open, address, Retention()) as other:
        yield one, other


async def test_a_name_is_held_by_one_at_a_time_and_given_back(stores: tuple[Store, Store], address: str) -> None:
    one, other = stores
    async with one.hold(NAME) as mine:
        assert mine
        async with other.hold(NAME) as theirs, one.hold(NAME) as again, other.hold("apply shop/cart") as beside:
            assert (theirs, again, beside) == (False, False, True)
    async with other.hold(NAME) as theirs:
        assert theirs
    if address.startswith("sqlite"):
        assert not list(Path(address.removeprefix("sqlite:///")).parent.glob("*.lock"))


async def test_a_name_is_free_once_its_holder_was_killed(stores: tuple[Store, Store], address: str) -> None:
    holder = await asyncio.to_thread(
        subprocess.Popen, [sys.executable, "-c", HOLDS, address, NAME], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert await asyncio.to_thread(holder.stdout.readline) == "True\n"
        async with stores[0].hold(NAME) as mine:
            assert not mine
    finally:
        holder.kill()
        await asyncio.to_thread(holder.communicate)
    async with asyncio.timeout(10):
        while True:
            async with stores[0].hold(NAME) as mine:
                if mine:
                    return
            await asyncio.sleep(0.05)


async def test_two_services_may_write_one_document_at_once(stores: tuple[Store, Store]) -> None:
    def put(turn: int) -> partial[None]:
        return partial(put_document, kind="mode", name="fleet", body={"turn": turn}, stamp=Stamp("api", float(turn)))

    await asyncio.gather(*(stores[turn % 2].submit(put(turn)) for turn in range(60)))
    kept = await stores[0].read(partial(documents, kind="mode"))
    changes = await stores[0].read(partial(audit_entries, limit=100))
    assert len(changes) == 60
    assert kept == {"fleet": changes[0].after}

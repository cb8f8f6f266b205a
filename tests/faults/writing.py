"""A process that writes counts without pause and says on standard output what was acknowledged; it is to be killed."""

from __future__ import annotations

import asyncio
import resource
import sys

from prewarm.history import Retention
from prewarm.store import Store
from tests.store.counting import batch, ingest

START = 1_000_020


async def write(address: str) -> None:
    """One batch after another, each telling its sequence once it is acknowledged; a function is added now and then."""
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        for sequence in range(100_000):
            if sequence % 10 == 0:
                history.index(f"ns/f{sequence // 10}")
            await ingest(store, history, sequence, [batch(START + sequence // 20, {len(history) - 1: 1.0})])
            sys.stdout.write(f"{sequence}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
    asyncio.run(write(sys.argv[1]))

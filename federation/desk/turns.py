"""Requests decide one at a time, and between two of them the loop does whatever else is ready.

Requests that come together would otherwise decide back to back, a few milliseconds each, in one pass of the loop. An
answer whose decision is written down by then would wait for all of them, though it needs a tenth of a millisecond.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass(slots=True)
class Turns:
    """An asynchronous context: who is in it has the turn, and the next in line gets it a pass of the loop later.

    Whoever finds nobody in it goes on at once.
    """

    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __aenter__(self) -> None:
        await self._lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        asyncio.get_running_loop().call_soon(self._lock.release)

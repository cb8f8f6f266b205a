"""Runs what a command awaits, and ends it in order on SIGTERM as on Ctrl-C: plug-ins and all that it holds open."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; exit status 143 where SIGTERM ended it, once everything it held is let go."""
    try:
        return asyncio.run(_until_told(work))
    except asyncio.CancelledError:
        sys.exit(128 + signal.SIGTERM)


async def _until_told(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task

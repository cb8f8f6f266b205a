"""Placements through the service's own API: eight connections against one server process, as fast as they get answers.

Server and load share this machine's cores. The server decides over the same large fleet, holds the room and writes each
decision to SQLite before it answers.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import numpy as np
import orjson

from prewarm.bench.result import Row
from prewarm.domain import FloatArray

CONNECTIONS = 8
WARM_UP = 80


@dataclass(frozen=True, slots=True)
class Answered:
    """ms: (n,) of each request; seconds for all of them; failed: answers other than 200."""

    ms: FloatArray
    seconds: float
    failed: int

    @property
    def p99_ms(self) -> float:
        """The 99th percentile."""
        return float(np.percentile(self.ms, 99))

    def row(self) -> Row:
        """As the table shows it."""
        return {
            "through the API": f"{CONNECTIONS} connections",
            "answers": len(self.ms),
            "p50 ms": float(np.percentile(self.ms, 50)),
            "p99 ms": self.p99_ms,
            "per s": len(self.ms) / self.seconds,
            "failed": self.failed,
        }


def measure_http(data_dir: Path, seed: int, requests: int) -> Answered:
    """Start the server, ask it `requests` questions, and end it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "federation.bench.placement_server", str(data_dir), folder, str(seed)]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None, "asked for above"
            told = orjson.loads(server.stdout.readline())
            bodies = [orjson.dumps(one) for one in told["questions"]]
            return asyncio.run(_ask(f"http://127.0.0.1:{told['port']}/v1/placements", bodies, requests))
        finally:
            server.communicate()


async def _ask(address: str, bodies: list[bytes], requests: int) -> Answered:
    waiting = list(range(WARM_UP + requests))[::-1]
    ms: list[float] = []
    failed = 0
    begun = time.perf_counter()

    async def one(session: aiohttp.ClientSession) -> None:
        nonlocal failed, begun
        while waiting:
            number = waiting.pop()
            if number == WARM_UP:
                begun = time.perf_counter()
            sent = time.perf_counter()
            async with session.post(address, data=bodies[number % len(bodies)]) as answer:
                await answer.read()
            if number >= WARM_UP:
                ms.append(1e3 * (time.perf_counter() - sent))
                failed += answer.status != 200

    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(headers=headers) as session, asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(one(session))
    return Answered(np.array(ms), time.perf_counter() - begun, failed)

"""Placements through the service's own API: eight connections against one server process.

First as fast as they get answers, then at offered rates. Eight connections that never pause measure what eight requests
in a row take, whatever the service; at an offered rate requests come by chance (Poisson) whether or not earlier ones
are answered, and the time that one waits for a free connection counts. Server and load share this machine's cores. The
server decides over the same large fleet, holds the room and writes each decision to SQLite before it answers.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import numpy as np
import orjson

from prewarm.bench.result import Row
from prewarm.domain import FloatArray

CONNECTIONS = 8
WARM_UP = 80
RATES = (100.0, 200.0)
"""Requests a second that are offered; the goals name the first."""
OFFERED_S, QUICK_OFFERED_S = 20.0, 4.0
_REST_S = 1.0
"""Between two loads, so that one does not answer for the other."""


@dataclass(frozen=True, slots=True)
class Answered:
    """ms: (n,) of each request; seconds for all of them; failed: answers other than 200.

    rate: requests a second that were offered, None where eight connections asked without a pause.
    """

    ms: FloatArray
    seconds: float
    failed: int
    rate: float | None = None

    @property
    def p99_ms(self) -> float:
        """The 99th percentile."""
        return float(np.percentile(self.ms, 99))

    @property
    def per_s(self) -> float:
        """Answers a second."""
        return len(self.ms) / self.seconds

    def row(self) -> Row:
        """As the table shows it."""
        load = "never pause" if self.rate is None else f"offered {self.rate:g}/s"
        return {
            "through the API": f"{CONNECTIONS} connections, {load}",
            "answers": len(self.ms),
            "p50 ms": float(np.percentile(self.ms, 50)),
            "p99 ms": self.p99_ms,
            "per s": self.per_s,
            "failed": self.failed,
        }


def measure_http(data_dir: Path, seed: int, requests: int, offered_s: float = OFFERED_S) -> list[Answered]:
    """Start the server, ask it `requests` questions without a pause, then at each rate for so long, and end it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "federation.bench.placement_server", str(data_dir), folder, str(seed)]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None, "asked for above"
            told = orjson.loads(server.stdout.readline())
            bodies = [orjson.dumps(one) for one in told["questions"]]
            address = f"http://127.0.0.1:{told['port']}/v1/placements"
            return asyncio.run(_ask(address, bodies, requests, seed, offered_s))
        finally:
            server.communicate()


async def _ask(address: str, bodies: list[bytes], requests: int, seed: int, offered_s: float) -> list[Answered]:
    found = []
    connector = aiohttp.TCPConnector(limit=CONNECTIONS)
    async with aiohttp.ClientSession(headers={"Content-Type": "application/json"}, connector=connector) as session:
        asker = Asker(session, address, bodies)
        await asker.without_pause(WARM_UP)
        found.append(await asker.without_pause(requests))
        for turn, rate in enumerate(RATES):
            await asyncio.sleep(_REST_S)
            found.append(await asker.at_rate(rate, due_s(rate, offered_s, np.random.default_rng((seed, turn)))))
    return found


def due_s(rate: float, seconds: float, rng: np.random.Generator) -> list[float]:
    """When requests come that arrive by chance at `rate` a second, within so many seconds; at least one."""
    at = np.cumsum(rng.exponential(1 / rate, size=round(2 * rate * seconds) + 1))
    return [float(at[0]), *at[1:][at[1:] < seconds].tolist()]


@dataclass(slots=True)
class Asker:
    """Asks one question after another of a list, over and over."""

    session: aiohttp.ClientSession
    address: str
    bodies: Sequence[bytes]
    _ms: list[float] = field(default_factory=list)
    _failed: int = 0
    _asked: int = 0

    async def without_pause(self, requests: int) -> Answered:
        """Each connection asks again as soon as it has its answer."""
        begun, waiting = self._begin(), iter(range(requests))

        async def one() -> None:
            for _ in waiting:
                await self._one(time.perf_counter())

        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(one())
        return self._answered(begun)

    async def at_rate(self, rate: float, due: Sequence[float]) -> Answered:
        """Requests come when they are due, and their time counts from then."""
        begun = self._begin()
        async with asyncio.TaskGroup() as group:
            for at in due:
                await asyncio.sleep(max(0.0, begun + at - time.perf_counter()))
                group.create_task(self._one(begun + at))
        return self._answered(begun, rate)

    async def _one(self, since: float) -> None:
        body = self.bodies[self._asked % len(self.bodies)]
        self._asked += 1
        async with self.session.post(self.address, data=body) as answer:
            await answer.read()
        self._ms.append(1e3 * (time.perf_counter() - since))
        self._failed += answer.status != 200

    def _begin(self) -> float:
        self._ms, self._failed = [], 0
        return time.perf_counter()

    def _answered(self, begun: float, rate: float | None = None) -> Answered:
        return Answered(np.array(self._ms), time.perf_counter() - begun, self._failed, rate)

"""`prewarm bench api`: forecast reads beside a bare aiohttp handler, and how fast and small the service starts.

Server and load are two processes on this machine, both on uvloop; the bare handler returns the very bytes of a forecast
from the same process and loop, and rounds alternate, so that a busy machine slows both alike. Every function is read
once before the rounds (that first read, which makes the forecast, is a row of its own).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import quote

import numpy as np
import orjson

from prewarm.bench.result import BenchResult, Goal, Row, installed_versions

CONNECTIONS = 32
ROUNDS = 12
FUNCTIONS = 40
ROUND_S = 1.0
STARTS = 3


@dataclass(slots=True)
class Load:
    """One kind of request over many connections: latencies in seconds, and for how long."""

    port: int
    requests: Sequence[bytes]
    latencies: list[float] = field(default_factory=list)
    failed: int = 0
    seconds: float = 0.0

    @property
    def per_s(self) -> float:
        """Answers a second."""
        return len(self.latencies) / self.seconds if self.seconds else 0.0

    def p99_ms(self) -> float:
        """The 99th percentile."""
        return float(np.quantile(self.latencies, 0.99)) * 1000 if self.latencies else float("nan")


class _Connection(asyncio.Protocol):
    """Asks, waits for the whole answer, asks again, until told to stop."""

    def __init__(self, load: Load, first: int) -> None:
        self.load = load
        self.next = first
        self.ended = asyncio.get_running_loop().create_future()
        self.stopping = False
        self._transport: asyncio.Transport | None = None
        self._sent = 0.0
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head_end = self._buffer.find(b"\r\n\r\n")
        if head_end < 0 or len(self._buffer) < head_end + 4 + content_length(self._buffer[:head_end]):
            return
        self.load.latencies.append(time.perf_counter() - self._sent)
        self.load.failed += not self._buffer.startswith(b"HTTP/1.1 200")
        self._buffer = b""
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self.load.failed += not self.stopping
        if not self.ended.done():
            self.ended.set_result(exc)

    def _ask(self) -> None:
        assert self._transport is not None
        if self.stopping:
            self._transport.close()
            return
        self.next = (self.next + 1) % len(self.load.requests)
        self._sent = time.perf_counter()
        self._transport.write(self.load.requests[self.next])


def content_length(head: bytes) -> int:
    """The length that an answer's head announces."""
    place = head.lower().find(b"content-length:")
    return int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0


async def load_for(load: Load, seconds: float, connections: int = CONNECTIONS) -> None:
    """Ask over many connections for some seconds."""
    loop = asyncio.get_running_loop()
    made = []
    for number in range(connections):
        _, connection = await loop.create_connection(lambda n=number: _Connection(load, n), "127.0.0.1", load.port)  # type: ignore[misc]
        made.append(connection)
    started = time.perf_counter()
    await asyncio.sleep(seconds)
    load.seconds += time.perf_counter() - started
    for connection in made:
        connection.stopping = True
    await asyncio.wait([connection.ended for connection in made], timeout=10)


def run(
    data_dir: Path | None = None,
    *,
    seed: int = 0,
    quick: bool = False,
    plot: Path | None = None,
    progress: Callable[..., None] = lambda *_: None,
) -> BenchResult:
    """Measure; needs no data. `quick` makes fewer and shorter rounds."""
    del data_dir, plot
    rounds, round_s, starts = (2, 1.0, 1) if quick else (ROUNDS, ROUND_S, STARTS)
    result = BenchResult(
        "api", seed, {}, installed_versions(["aiohttp", "uvloop", "pydantic", "orjson", "prewarm-fleet"])
    )
    begun = [start_once(seed) for _ in range(starts)]
    progress(0.2, "reads")
    result.rows.extend({"what": "start", **row} for row in begun)
    ratios = []
    with tempfile.TemporaryDirectory() as folder, _Server(Path(folder), seed) as server:
        first, rows = asyncio.run(_measure(server.told, rounds, round_s))
        result.rows.append(first)
        for number, (ours, bare) in enumerate(rows):
            result.rows.extend([_row(number, "forecast", ours), _row(number, "bare handler", bare)])
            ratios.append(ours.per_s / bare.per_s)
    progress(1.0, "done")
    result.rows.append({"what": "reads_vs_bare", "median": float(np.median(ratios)), "lowest": min(ratios)})
    goals = [
        Goal.at_least("reads_vs_bare", 0.5, float(np.median(ratios))),
        Goal.at_most("start_s", 2.0, min(float(str(row["start_s"])) for row in begun)),
        Goal.at_most("idle_mib", 100.0, min(float(str(row["idle_mib"])) for row in begun)),
    ]
    result.goals.extend(goals)
    return result


def _row(number: int, what: str, load: Load) -> Row:
    return {
        "what": what,
        "round": number + 1,
        "per_s": round(load.per_s),
        "p50_ms": round(float(np.median(load.latencies)) * 1000, 3),
        "p99_ms": round(load.p99_ms(), 3),
        "failed": load.failed,
    }


async def _measure(told: dict[str, Any], rounds: int, round_s: float) -> tuple[Row, list[tuple[Load, Load]]]:
    """First reads of every function one after another, then alternating rounds."""
    paths = [f"/v1/functions/{quote(key, safe='')}/forecast?steps=15" for key in told["functions"][:FUNCTIONS]]
    requests = [_request(path) for path in paths]
    firsts = []
    body = b""
    for request in requests:
        started = time.perf_counter()
        body = await _ask_once(told["service"], request)
        firsts.append(time.perf_counter() - started)
    put = b"PUT /bare HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    await _ask_once(told["bare"], put + body)
    done = []
    for _ in range(rounds):
        ours, bare = Load(told["service"], requests), Load(told["bare"], [_request("/bare")])
        await load_for(ours, round_s)
        await load_for(bare, round_s)
        done.append((ours, bare))
    first: Row = {
        "what": "first read of a function",
        "functions": len(firsts),
        "p50_ms": round(float(np.median(firsts)) * 1000, 1),
        "p99_ms": round(float(np.quantile(firsts, 0.99)) * 1000, 1),
        "answer_bytes": len(body),
    }
    return first, done


def _request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


async def _ask_once(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    body = await reader.readexactly(content_length(head))
    writer.close()
    return body


class _Server:
    """The server process; its addresses are in `told`."""

    def __init__(self, folder: Path, seed: int) -> None:
        command = [sys.executable, "-m", "prewarm.bench.api_server", str(folder), str(seed)]
        environ = {**os.environ, "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)

    def __enter__(self) -> Self:
        self.told: dict[str, Any] = orjson.loads(_line(self._process.stdout))
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)


def start_once(seed: int) -> Row:
    """Start the real command: seconds to its address, and its memory before any data, workers not counted."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(sys.executable).with_name("prewarm")
        command = [str(program), "serve", "--no-world", "--listen", "127.0.0.1:0", "--database", f"{folder}/api.db"]
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            _line(process.stdout)
            start_s = time.perf_counter() - started
            return {"start_s": round(start_s, 3), "idle_mib": round(_rss_mib(process.pid), 1), "seed": seed}
        finally:
            process.terminate()
            process.communicate(timeout=30)


def _line(stream: IO[bytes] | None) -> bytes:
    assert stream is not None
    line = stream.readline()
    assert line, "the server ended before it was ready"
    return line


def _rss_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS:"))

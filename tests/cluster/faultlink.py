"""A TCP relay that can be cut, go half-open or be slow: what a network does, below HTTP and TLS.

Half-open is as behind a firewall that forgot a connection: bytes vanish in both directions, nothing is ever closed, and
a connection that was struck stays dead after the network is well again, while new ones work.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from tests.cluster.real.ports import HeldPort

_CHUNK = 64 * 1024
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with RST


@dataclass(eq=False, slots=True)
class _Connection:
    """One relayed connection; a dead one swallows what it reads."""

    writers: tuple[asyncio.StreamWriter, ...]
    dead: bool = False

    def reset(self) -> None:
        for writer in self.writers:
            raw = writer.get_extra_info("socket")
            if raw is not None:
                with suppress(OSError):
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()


class Link:
    """A port that leads to another one, as long as it is not told otherwise."""

    def __init__(self, target: tuple[str, int]) -> None:
        """See `open`."""
        self.delay_s = 0.0
        """Each piece of data waits so long, in both directions."""
        self.bytes_per_s: float | None = None
        """Rate in each direction, None without a limit."""
        self.accepted = 0
        """Connections taken so far."""
        self._target = target
        self._port = HeldPort()
        self._server: asyncio.Server | None = None
        self._half_open = False
        self._connections: set[_Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def open(cls, target: tuple[str, int]) -> AsyncIterator[Link]:
        """A link to (host, port) that works, for as long as the block runs."""
        link = cls(target)
        try:
            await link.restore()
            yield link
        finally:
            await link.cut()
            link._port.close()

    @property
    def port(self) -> int:
        """Where it listens, on loopback; the same after a cut."""
        return self._port.number

    async def cut(self) -> None:
        """Reset all connections and refuse new ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in self._connections:
            connection.reset()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def half_open(self) -> None:
        """Kill all connections without a sign; new ones are taken and dead too, until `restore`."""
        self._half_open = True
        for connection in self._connections:
            connection.dead = True

    async def restore(self) -> None:
        """New connections work again."""
        self._half_open, self.delay_s, self.bytes_per_s = False, 0.0, None
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, reuse_port=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.accepted += 1
        connection = _Connection((writer,), dead=self._half_open)
        self._connections.add(connection)
        try:
            await self._relay(connection, reader)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            connection.reset()
            self._connections.discard(connection)
            self._tasks.discard(task)

    async def _relay(self, connection: _Connection, reader: asyncio.StreamReader) -> None:
        back_reader, back_writer = await asyncio.open_connection(*self._target)
        front_writer = connection.writers[0]
        connection.writers = (front_writer, back_writer)
        async with asyncio.TaskGroup() as both:
            both.create_task(self._pump(connection, reader, back_writer), name="link-in")
            both.create_task(self._pump(connection, back_reader, front_writer), name="link-out")

    async def _pump(self, connection: _Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await reader.read(self._piece()):
                await self._pass_on(connection, chunk, writer)
            if not connection.dead and writer.can_write_eof():
                writer.write_eof()
        except OSError:  # one side is gone: so is the other
            connection.reset()

    async def _pass_on(self, connection: _Connection, chunk: bytes, writer: asyncio.StreamWriter) -> None:
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if self.bytes_per_s is not None:
            await asyncio.sleep(len(chunk) / self.bytes_per_s)
        if not connection.dead:
            writer.write(chunk)
            await writer.drain()

    def _piece(self) -> int:
        return _CHUNK if self.bytes_per_s is None else max(1, int(self.bytes_per_s / 10))

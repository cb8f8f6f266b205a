"""Ports that stay ours: held by a socket that never listens, while the server shares them.

A port that is only looked up and closed can be taken before the server binds it, or while a killed server is away and a
test waits for its return. The Kubernetes programs and etcd can share a port (SO_REUSEPORT) with the socket that holds
it; connections to it are refused as long as nobody listens.
"""

from __future__ import annotations

import socket


class HeldPort:
    """A loopback port that the system chose and nobody else is given until `close`."""

    def __init__(self) -> None:
        """Take one."""
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number = int(self._socket.getsockname()[1])

    def close(self) -> None:
        """Let go of it."""
        self._socket.close()

    def __str__(self) -> str:
        return str(self.number)

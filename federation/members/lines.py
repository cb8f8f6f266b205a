"""Lines out of chunks: a watch is one JSON object a line, and chunks end anywhere.

A line may be of any length up to a limit that is there for our memory only; readers with a fixed buffer die on the
first large object.
"""

from __future__ import annotations


class LongLineError(ValueError):
    """A line longer than the limit."""


class Lines:
    """Takes chunks, gives whole lines without their ends; empty lines are left out."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._held = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes. LongLineError once one is over the limit."""
        *whole, rest = chunk.split(b"\n")
        lines = []
        for piece in whole:
            self._hold(piece)
            lines.append(self._take())
        self._hold(rest)
        return [line for line in lines if line]

    def end(self) -> bytes:
        """What is left without a line end, empty for nothing."""
        return self._take()

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > self._limit:
            raise LongLineError(f"a line longer than {self._limit} bytes")
        if piece:
            self._parts.append(piece)

    def _take(self) -> bytes:
        line = b"".join(self._parts).rstrip(b"\r")
        self._parts.clear()
        self._held = 0
        return line

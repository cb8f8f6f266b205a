"""Lines of a CSV file, plain or gzip, with their numbers and the file's sha256, in bounded memory.

Public traces come with byte-order marks, CRLF, blank lines, moved columns and cut-off downloads. All of that is met
here once: a line is at most `LONGEST_LINE` bytes, damage is reported with its line, and the digest is of the bytes on
disk, so `sha256sum FILE` gives the same.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from prewarm.domain import InputError
from prewarm.traces.report import LoadLog

LONGEST_LINE = 4 * 2**20
BUFFER = 2**18
_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"

Progress = Callable[[str, int, int], None]  # file, bytes read so far, bytes in all


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a trace was read from; sha256 of the bytes on disk."""

    name: str
    sha256: str
    size_bytes: int


class _Metered(io.RawIOBase):
    """A raw file that digests what is read from it and tells the progress."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        self._path = path
        self._raw = path.open("rb", buffering=0)
        self._progress = progress
        self._size = path.stat().st_size
        self._digest = hashlib.sha256()
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        count = self._raw.readinto(buffer) or 0
        self._digest.update(buffer[:count])
        self.taken += count
        if self._progress is not None:
            self._progress(self._path.name, self.taken, self._size)
        return count

    def source(self) -> SourceFile:
        """Reads what is left, so that the digest is of the whole file."""
        while self.readinto(memoryview(bytearray(BUFFER))):
            pass
        return SourceFile(self._path.name, self._digest.hexdigest(), self.taken)

    def close(self) -> None:
        self._raw.close()
        super().close()


class LineFile:
    """One file as numbered lines; iterate once, inside `with`, then ask for `source()`.

    InputError where the file cannot be opened.
    """

    def __init__(self, path: Path, log: LoadLog, progress: Progress | None = None) -> None:
        self.path = path
        self._log = log
        try:
            self._metered = _Metered(path, progress)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        buffered = io.BufferedReader(self._metered, BUFFER)
        packed = buffered.peek(2)[:2] == _GZIP_MAGIC
        # gzip's own reads are of 8 KiB; a buffer on top makes lines cheap
        self._stream: IO[bytes] = io.BufferedReader(gzip.GzipFile(fileobj=buffered), BUFFER) if packed else buffered

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._metered.close()

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """(line number from 1, line without its end); blank lines are numbered but not given."""
        number = 0
        while (line := self._next_line(number + 1)) is not None:
            number += 1
            if number == 1:
                line = line.removeprefix(_BOM)
            line = line.rstrip(b"\r\n")
            if line.strip():
                yield number, line

    def _next_line(self, number: int) -> bytes | None:
        """The next line, skipping over-long ones; None at the end or where compressed data is damaged."""
        try:
            line = self._stream.readline(LONGEST_LINE)
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = self._stream.readline(LONGEST_LINE)
                self._log.reject(self.path, number, f"longer than {LONGEST_LINE} bytes")
                return b"\n"
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            self._log.reject(self.path, number, f"the compressed data is damaged from here on ({error})")
            return None
        return line or None

    def source(self) -> SourceFile:
        """Name, digest and size of the whole file; call it after the iteration."""
        return self._metered.source()


def split_cells(line: bytes) -> list[str] | None:
    """The cells of one CSV line, or None where its quotes do not close or a cell is longer than csv allows."""
    text = line.decode("utf-8", "replace")
    if '"' not in text:
        return text.split(",")
    try:
        rows = list(csv.reader([text], strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None


def header_cells(line: bytes) -> list[str]:
    """Column names of a header line, stripped; empty where it is not CSV."""
    cells = split_cells(line)
    return [cell.strip() for cell in cells] if cells else []


def first_header(path: Path) -> list[str]:
    """Column names of a file, for recognising its format; empty where there are none."""
    with LineFile(path, LoadLog()) as lines:
        for _, line in lines:
            return header_cells(line)
    return []


def column_positions(header: Sequence[str], wanted: Sequence[str], place: Path) -> list[int]:
    """Where each wanted column stands; InputError naming the first that is absent or there twice."""
    found = []
    for name in wanted:
        times = header.count(name)
        if times != 1:
            what = "has no column" if times == 0 else f"has {times} columns"
            raise InputError(f"{place}: {what} {name!r}")
        found.append(header.index(name))
    return found


def named_rows(lines: LineFile, log: LoadLog, wanted: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """(line number, the wanted cells, stripped, in that order) of each row that has as many cells as the header."""
    rows = iter(lines)
    header = header_cells(next(rows, (1, b""))[1])
    positions = column_positions(header, wanted, lines.path)
    for number, line in rows:
        cells = split_cells(line)
        if cells is None or len(cells) != len(header):
            log.reject(lines.path, number, cell_count_reason(cells, len(header)))
            continue
        yield number, [cells[position].strip() for position in positions]


def cell_count_reason(cells: Sequence[str] | None, expected: int) -> str:
    """Why a row does not fit its header."""
    if cells is None:
        return "its quotes do not close"
    return f"has {len(cells)} cells where the header has {expected}"


def combined_digest(sources: Sequence[SourceFile]) -> str:
    """The sum of one file as it is; of several, the sha256 of their `sum  name` lines sorted by name."""
    if len(sources) == 1:
        return sources[0].sha256
    listing = "".join(f"{source.sha256}  {source.name}\n" for source in sorted(sources, key=lambda s: s.name))
    return hashlib.sha256(listing.encode()).hexdigest()

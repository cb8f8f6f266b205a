"""Readings of runs that are kept, so that a benchmark that was stopped goes on where it was.

A line of JSON a run, under a key that names all that decides it (`seal` for code and weights); several processes may
append to one file. A run is seeded throughout, so a kept reading is the one that a new run would give.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

Reading = Mapping[str, float | str | None]
_DECIDE = ("numba", "numpy")
"""Packages whose next version may round otherwise."""


def seal(files: Iterable[Path], *more: bytes) -> str:
    """Sixteen hex digits of the files' names and contents, of `more`, and of the versions of what they are run with."""
    found = hashlib.sha256(" ".join(version(name) for name in _DECIDE).encode())
    for file in sorted(files):
        found.update(f"\0{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    for one in more:
        found.update(hashlib.sha256(one).digest())
    return found.hexdigest()[:16]


def sources(*places: Path) -> list[Path]:
    """The modules and data of packages (folders, not those below) and single files."""
    return [file for place in places for file in (_package(place) if place.is_dir() else [place])]


def _package(folder: Path) -> list[Path]:
    return [file for file in folder.iterdir() if file.suffix in (".py", ".json")]


class Kept:
    """What was read. path: of the file, None to keep nothing. computed_s: processor seconds that everything asked for
    took, when it was computed; fresh_s: those of them now.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.computed_s = self.fresh_s = 0.0
        self._lines: dict[str, tuple[Reading, float]] = {}
        self._read_to = 0

    def of(self, key: str, make: Callable[[], Reading]) -> Reading:
        """The reading of a key; made and written down where there is none. An empty key is never kept."""
        if key not in self._lines:
            self._read_on()
        if key in self._lines:
            reading, took_s = self._lines[key]
        else:
            began = time.process_time()
            reading = make()
            took_s = time.process_time() - began
            self.fresh_s += took_s
            if key:
                self._lines[key] = reading, took_s
                self._write(json.dumps({"key": key, "seconds": round(took_s, 3), "reading": reading}))
        self.computed_s += took_s
        return reading

    def _write(self, line: str) -> None:
        """In one piece, so that lines of two processes do not mix, and on a line of its own after one cut off."""
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as file:
                file.write(f"\n{line}\n".encode())

    def _read_on(self) -> None:
        """What has been written since, by other processes too; a line that was cut off is a run that was not ended."""
        if self.path is None or not self.path.is_file():
            return
        with self.path.open("rb") as file:
            file.seek(self._read_to)
            found = file.read()
        whole = found.rfind(b"\n") + 1
        self._read_to += whole
        for line in found[:whole].splitlines():
            try:
                told = json.loads(line)
                self._lines[told["key"]] = told["reading"], float(told["seconds"])
            except (ValueError, KeyError, TypeError):
                continue

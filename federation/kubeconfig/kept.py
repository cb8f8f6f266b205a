"""A file that is read again and again, and keeps its last good content while it is broken, cut off or gone.

A changed file is looked at twice a moment apart, since whoever writes it may not be done, and an emptied or cut-off
kubeconfig is often valid. Contents are compared, not times of change, which are too coarse for two writes in a row.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from prewarm.domain import InputError

MOST_BYTES = 16 << 20
Read = TypeVar("Read")


class KeptFile(Generic[Read]):
    """One file and what `parse` made of it when it was last good. All methods read the disk."""

    def __init__(self, path: Path, parse: Callable[[bytes, Path], Read]) -> None:
        self.path = path
        self.held: Read | None = None
        """None until the file was good once."""
        self.error: str | None = None
        """What is wrong with it now."""
        self.missing = False
        self._parse = parse
        self._data: bytes | None = None
        self._seen: bytes | None = None
        self._count = 0

    def __repr__(self) -> str:
        return f"KeptFile({str(self.path)!r})"

    @property
    def state(self) -> tuple[Path, int, str | None]:
        """Differs when anything about the file does."""
        return self.path, self._count, self.error

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of the file now."""
        kept = "; its last good content stays in use" if self.held is not None else ""
        return (f"{self.error}{kept}",) if self.error else ()

    def look(self) -> bool:
        """Whether the file holds something new, which `settle` has to judge a moment later."""
        seen = self._read()
        if seen is None:
            return False
        if seen == self._data:
            self.error = None
            return False
        self._seen = seen
        return True

    def settle(self) -> None:
        """Take the new content if it is still the same and good; keep what was held otherwise."""
        before, seen = self._seen, self._read()
        self._seen = None
        if seen is None:
            return
        try:
            if seen != before:
                raise InputError(f"{self.path}: is being written")
            if len(seen) > MOST_BYTES:
                raise InputError(f"{self.path}: is longer than {MOST_BYTES >> 20} MiB")
            if not seen.strip() and self.held is not None:
                raise InputError(f"{self.path}: is empty now")
            self.held, self._data, self.error = self._parse(seen, self.path), seen, None
            self._count += 1
        except InputError as error:
            self.error = str(error)

    def _read(self) -> bytes | None:
        try:
            with self.path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            self.missing = isinstance(error, FileNotFoundError)
            self.error = f"{self.path}: {error.strerror or 'cannot be read'}"
            return None
        self.missing = False
        return data

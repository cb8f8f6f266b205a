"""Resident memory of a process and its children, as the kernel counts it."""

from __future__ import annotations

import os
from pathlib import Path

_GIB = 1 << 30


def resident_gib(process: int | None = None) -> float:
    """GiB resident in `process` (this one) and all its descendants; shared pages count in each. Linux only."""
    own = process or os.getpid()
    return sum(_resident_bytes(each) for each in _family(own)) / _GIB


def _family(process: int) -> list[int]:
    found = [process]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            found += [int(child) for child in children.read_text().split()]
    return found


def _resident_bytes(process: int) -> int:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")

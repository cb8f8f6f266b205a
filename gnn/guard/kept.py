"""Runs that a detector is fitted on, kept as files, so that a fit that was stopped goes on where it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gnn.guard.fit import Stream


def kept_stream(path: Path | None, make: Callable[[], Stream]) -> Stream:
    """The run of a file; made and written there where there is none. Without a path nothing is kept."""
    if path is not None and path.is_file():
        with np.load(path) as found:
            return Stream(found["at"], found["rows"], found["told"])
    made = make()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        with unfinished.open("wb") as file:
            np.savez_compressed(file, at=made.at, rows=made.rows, told=made.told)
        unfinished.replace(path)
    return made

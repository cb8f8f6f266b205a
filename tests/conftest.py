"""Shared fixtures: the folder with the public traces, found by PREWARM_TRACES, skipped with a reason where absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def traces_dir() -> Path:
    """The folder of public traces."""
    named = os.environ.get("PREWARM_TRACES", "data/traces")
    folder = Path(named)
    if not (folder / "femux-azure2019").is_dir():
        pytest.skip(f"public traces are not at {named}; set PREWARM_TRACES")
    return folder

"""Shared by the comparisons with others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def kubectl() -> Path:
    """The real kubectl."""
    if "PREWARM_ASSETS" not in os.environ:
        pytest.skip("PREWARM_ASSETS is not set: there is no kubectl to compare with")
    program = Path(os.environ["PREWARM_ASSETS"]) / "bin" / "kubectl"
    if not program.is_file():
        pytest.skip(f"{program} is missing: there is no kubectl to compare with")
    return program

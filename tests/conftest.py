"""What all tests share: the folder with the public traces, how examples are drawn, and who runs what side by side.

Examples are new ones at every run of a person, and the same at every run of `.ci/run` (hypothesis reads CI), so that a
change is judged by what it changes. Time is no failure of a property: the machine may be busy. The traces are found by
PREWARM_TRACES; what needs them is skipped with a reason where they are absent. Real clusters are half a gigabyte each,
so their tests stay on one worker and share them; every other test goes where there is room.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

if not os.environ.get("CI"):
    settings.register_profile("busy", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")


@pytest.fixture(scope="session")
def traces_dir() -> Path:
    """The folder of public traces."""
    named = os.environ.get("PREWARM_TRACES", "data/traces")
    folder = Path(named)
    if not (folder / "femux-azure2019").is_dir():
        pytest.skip(f"public traces are not at {named}; set PREWARM_TRACES")
    return folder


def scope_of(nodeid: str) -> str:
    """What must stay on one worker: each test by itself, apart from those of real clusters."""
    return "tests/cluster" if nodeid.startswith("tests/cluster/") else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """The scheduler of `pytest -n`."""
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = scope_of
    return scheduler

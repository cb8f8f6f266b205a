"""A fleet of two members for the tests of this folder."""

from __future__ import annotations

import pytest

from tests.federation.desk.ground import Ground
from tests.service import HandClock


@pytest.fixture
def ground() -> Ground:
    """Ten cores in eu, twenty in us."""
    return Ground({"eu": 10, "us": 20}, HandClock(), {"eu": "eu", "us": "us"})

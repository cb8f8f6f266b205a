"""The same fleet as in the tests of the desk."""

from __future__ import annotations

from tests.federation.desk.conftest import ground

__all__ = ["ground"]

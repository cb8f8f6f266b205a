"""The same databases as the store's tests."""

from tests.store.conftest import address, postgres_server

__all__ = ["address", "postgres_server"]

"""What the rest of the federation sees of one member's API server: calls that answer, refuse or do not come back.

Errors are ours, once, at this border. A status of 400 and more is a `RefusedError` with the fields of Kubernetes'
Status; no answer (network, deadline, open breaker) is an `UnreachableError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from federation.kubeconfig.access import MemberError

__all__ = [
    "APPLY",
    "JSON",
    "JSON_PATCH",
    "MERGE",
    "Api",
    "Json",
    "MemberError",
    "RefusedError",
    "UnreachableError",
]

Json = dict[str, Any]

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


class UnreachableError(MemberError):
    """No answer within the deadline, or the breaker is open."""


class RefusedError(MemberError):
    """An answer of 400 or more. `reason` is Kubernetes' (Conflict, NotFound, Expired, ...), `causes` its details."""

    def __init__(
        self, member: str, status: int, *, reason: str = "", message: str = "", causes: tuple[Json, ...] = ()
    ) -> None:
        super().__init__(member, f"{status} {reason or 'without a reason'}: {message or 'no message'}")
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes


class Api(Protocol):
    """One member. Paths are as in Kubernetes, beginning with /api or /apis."""

    name: str

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object | None = None,
        content_type: str = JSON,
        deadline_s: float | None = None,
    ) -> Json:
        """The parsed answer. RefusedError, UnreachableError."""
        ...

    def stream(self, path: str, *, query: Mapping[str, str]) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Lines of a watch as they come; ends when the server ends it. RefusedError, UnreachableError."""
        ...

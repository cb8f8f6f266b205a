"""A member and the way in to it, as kubeconfig files (or a ClusterProfile directory, or the pod's own account) say."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from prewarm.domain import PrewarmError


class MemberError(PrewarmError):
    """Something between us and one member; `member` is its id."""

    def __init__(self, member: str, text: str) -> None:
        super().__init__(f"{member}: {text}")
        self.member = member


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """One member of the fleet. `id` is stable, a valid label value and object name; `context` is as the file spells it.

    server: URL of the API server. source: the file (or "in-cluster", or the profile) that named it. namespace: the
    context's default. warnings: what a person should know (certificate not checked, ...). A change of any field means a
    new client.
    """

    id: str
    context: str
    source: Path | str
    server: str
    namespace: str = "default"
    proxy_url: str | None = field(default=None, repr=False)  # may hold a password
    tls_server_name: str | None = None
    insecure: bool = False
    disable_compression: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokenMember:
    """A context that cannot become a member, and why; the others are not held up by it."""

    id: str
    context: str
    source: Path | str
    why: str


class Access(Protocol):
    """How one member's client authenticates. Never shared between members; secrets stay inside."""

    spec: MemberSpec

    async def headers(self) -> Mapping[str, str]:
        """Authorization and impersonation headers that are valid now; renewed before they expire. MemberError.

        A multidict: Impersonate-Group may come several times, so hand it on whole and never through a plain dict.
        """
        ...

    async def tls(self) -> ssl.SSLContext | None:
        """The context of a connection made now (another object once certificates changed); None for plain http."""
        ...

    async def renew(self) -> bool:
        """After a 401: get other credentials at once; False where there are none to get."""
        ...

"""What a kubeconfig says of one way into a cluster, as values: where the server is and who we are to it.

Secrets never show in a repr. Two equal pairs of `Endpoint` and `Login` are the same way in, so a client may stay when
its file is read again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pem:
    """A certificate or key: its bytes, or the file that holds them. `place` names it in errors."""

    place: str
    data: bytes | None = field(default=None, repr=False)
    path: Path | None = None

    def read(self) -> bytes:
        """The bytes; reads a file, so never on the event loop. OSError."""
        if self.data is not None:
            return self.data
        return self.path.read_bytes() if self.path else b""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A cluster entry. `server` has a scheme; `plugin_config` is JSON that a plug-in asks for (provideClusterInfo)."""

    server: str
    ca: Pem | None = None
    insecure: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = field(default=None, repr=False)
    disable_compression: bool = False
    plugin_config: str | None = field(default=None, repr=False)

    @property
    def encrypted(self) -> bool:
        """Whether TLS is spoken."""
        return self.server.startswith("https:")


@dataclass(frozen=True, slots=True)
class Plugin:
    """An exec plug-in: a program that prints credentials. `command` is absolute or to be found on PATH."""

    command: str
    api_version: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    install_hint: str | None = None
    provide_cluster_info: bool = False


@dataclass(frozen=True, slots=True)
class Login:
    """A user entry. A token file wins over `token`, and both over a plug-in, as in client-go.

    impersonation: headers, of which Impersonate-Group and -Extra- ones may come several times.
    """

    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    basic: tuple[str, str] | None = field(default=None, repr=False)
    certificate: Pem | None = None
    key: Pem | None = None
    plugin: Plugin | None = None
    impersonation: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class PluginLimits:
    """What a plug-in may take: seconds for an answer, bytes of it."""

    timeout_s: float = 10.0
    output_bytes: int = 1 << 20


DEFAULT_LIMITS = PluginLimits()

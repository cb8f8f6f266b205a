"""etcd of one cluster, and compaction, which is what turns an old resourceVersion into 410 Gone."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.cluster.real.ports import HeldPort
from tests.cluster.real.process import Process

_NO_SUCH_KEY = "L3JlZ2lzdHJ5L25vbmU="  # /registry/none, in etcd's base64


class Etcd(Process):
    """One etcd that keeps its data over kill and start; `url` is its client address."""

    def __init__(self, program: Path, folder: Path, *, ports: tuple[HeldPort, HeldPort]) -> None:
        """`ports` are for clients and peers."""
        self.url, peer = (f"http://127.0.0.1:{port}" for port in ports)
        command = [
            program,
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--socket-reuse-port",
            "--log-level=warn",
        ]
        super().__init__("etcd", [str(part) for part in command], folder=folder)

    def healthy(self) -> bool:
        """Whether it serves requests."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2.0) as answer:
                return bool(json.load(answer)["health"] == "true")
        except (OSError, urllib.error.URLError, ValueError):
            return False

    def compact(self) -> int:
        """Forget every revision before the present one, which is returned."""
        revision = int(self._post("kv/range", {"key": _NO_SUCH_KEY})["header"]["revision"])
        self._post("kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.url}/v3/{path}", data=json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10.0) as answer:
            return dict(json.load(answer))

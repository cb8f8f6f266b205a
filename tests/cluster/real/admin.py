"""The harness's own way to an API server: plain requests with the administrator's token, and kubectl as the witness.

Deliberately not prewarm's client: what prewarm claims is compared with what this sees.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Json = dict[str, Any]

JSON = "application/json"
MERGE = "application/merge-patch+json"
_BATCH = 200


class StatusError(Exception):
    """An answer of 400 and more."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text[:500]}")
        self.status = status


class Admin:
    """Requests to one API server as one bearer of a token."""

    def __init__(self, server: str, token: str, ca_file: Path) -> None:
        self.server, self.token = server, token
        self.tls = ssl.create_default_context(cafile=str(ca_file))

    def call(
        self, method: str, path: str, body: object | None = None, *, content_type: str = JSON, timeout_s: float = 30.0
    ) -> Json:
        """The parsed answer. StatusError; OSError where there is none."""
        return dict(json.loads(self.raw(method, path, body, content_type=content_type, timeout_s=timeout_s)))

    def raw(
        self, method: str, path: str, body: object | None = None, *, content_type: str = JSON, timeout_s: float = 30.0
    ) -> bytes:
        """The answer as it came. StatusError; OSError where there is none."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type, "Accept": JSON}
        request = urllib.request.Request(self.server + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout_s, context=self.tls) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            raise StatusError(error.code, error.read().decode(errors="replace")) from None
        except urllib.error.URLError as error:
            raise error.reason if isinstance(error.reason, OSError) else error from None

    def answers(self, path: str = "/readyz") -> bool:
        """Whether it says yes now."""
        try:
            self.raw("GET", path, timeout_s=2.0)
        except (OSError, StatusError):
            return False
        return True


class Kubectl:
    """Kubernetes' own command line with one kubeconfig and one context."""

    def __init__(self, program: Path, kubeconfig: Path, context: str) -> None:
        self._prefix = [str(program), "--kubeconfig", str(kubeconfig), "--context", context, "--request-timeout=20s"]

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        """Standard output; CalledProcessError with standard error in its `stderr` otherwise."""
        done = subprocess.run(
            [*self._prefix, *arguments], input=stdin, capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout

    def items(self, *arguments: str) -> list[Json]:
        """The items of `kubectl get ... -o json`."""
        return list(json.loads(self.run("get", *arguments, "-o", "json"))["items"])

    def apply(self, manifests: Iterable[Json], *, batch: int = _BATCH) -> None:
        """`kubectl apply` of the manifests, in batches."""
        todo = list(manifests)
        for start in range(0, len(todo), batch):
            document = {"apiVersion": "v1", "kind": "List", "items": todo[start : start + batch]}
            self.run("apply", "-f", "-", stdin=json.dumps(document))

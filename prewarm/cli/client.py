"""The commands' way to a running service: JSON over HTTP, problems as one line.

The standard library's client is enough for a handful of requests and starts faster than any other.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import Any
from urllib.parse import quote

from prewarm.domain import InputError, PrewarmError

DEFAULT_SERVICE = "http://127.0.0.1:8808"
_TOKEN = re.compile(r"[\x21-\x7e]+")


class ServiceError(PrewarmError):
    """The service refused or cannot be reached."""


class ServiceClient:
    """Requests to one service; the token comes from PREWARM_TOKEN, else the write or read token's variable."""

    def __init__(self, address: str) -> None:
        """InputError unless `address` is http:// or https://."""
        if not address.startswith(("http://", "https://")):
            raise InputError(f"service: must begin with http:// or https://, is {address!r}")
        try:
            urllib.parse.urlsplit(address)
        except ValueError as error:
            raise InputError(f"service: is no address: {error}") from None
        self._address = address.rstrip("/")
        names = ("PREWARM_TOKEN", "PREWARM_WRITE_TOKEN", "PREWARM_READ_TOKEN")
        given = next((name for name in names if os.environ.get(name, "").strip()), None)
        self._token = None if given is None else os.environ[given].strip()
        if self._token is not None and not _TOKEN.fullmatch(self._token):
            raise InputError(f"{given}: must be plain characters without spaces")

    def read(self, path: str) -> Any:
        """GET; the parsed answer."""
        return self.send("GET", path)

    def send(self, method: str, path: str, body: object = None) -> Any:
        """Any request; ServiceError with the service's own sentence where it refuses."""
        request = urllib.request.Request(self._address + path, method=method)  # noqa: S310 checked in __init__
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=15, context=self._tls()) as answer:  # noqa: S310
                return _parsed(answer.read(), self._address)
        except urllib.error.HTTPError as error:
            raise ServiceError(_sentence(error)) from None
        except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
            why = getattr(error, "reason", error)
            raise ServiceError(f"no service answers at {self._address} ({why}); start it: prewarm serve") from None

    def _tls(self) -> ssl.SSLContext | None:
        return ssl.create_default_context() if self._address.startswith("https://") else None


def encoded(key: str) -> str:
    """A key as a part of a path."""
    return quote(key, safe="")


def _parsed(body: bytes, address: str) -> Any:
    try:
        return json.loads(body or b"null")
    except ValueError:
        raise ServiceError(f"what answers at {address} is not prewarm: no JSON") from None


def _sentence(error: urllib.error.HTTPError) -> str:
    try:
        detail = json.loads(error.read()).get("detail")
    except (ValueError, AttributeError):
        detail = None
    return str(detail or f"the service answered {error.code} {error.reason}")

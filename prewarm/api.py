"""The aiohttp application: all routes over one desk, and the sockets that it listens on.

`build_app` is what tests and the service share. Listening checks that an address beyond this machine has tokens, serves
TLS where a certificate is configured, and reads a renewed certificate without dropping connections.
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from prewarm import __version__
from prewarm.domain import InputError
from prewarm.http.auth import Review, check_listen, split_address
from prewarm.http.decisions import decision_routes
from prewarm.http.desk import Desk
from prewarm.http.forecasts import forecast_routes
from prewarm.http.functions import function_routes
from prewarm.http.health import health_routes
from prewarm.http.invocations import invocation_routes
from prewarm.http.openapi import document
from prewarm.http.page import page_routes
from prewarm.http.people import people_routes
from prewarm.http.routes import Border, Route, close_off, install
from prewarm.settings import Auth

BODY_LIMIT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Mounted:
    """Routes of another part of the service, and what their handlers work with."""

    routes: tuple[Route[Any], ...]
    service: object
    review: Review | None = None
    """Who asks a cluster about tokens."""


def all_routes(mounted: Mounted | None = None) -> list[Route[Any]]:
    """Every operation of the demand side, described together with those that are mounted beside it."""
    routes: list[Route[Any]] = [
        *invocation_routes(),
        *function_routes(),
        *forecast_routes(),
        *decision_routes(),
        *people_routes(),
    ]
    beside = () if mounted is None else mounted.routes
    routes += [*health_routes(lambda: describe([*routes, *beside])), *page_routes()]
    return routes


def describe(routes: list[Route[Any]]) -> dict[str, Any]:
    """The OpenAPI document of the routes."""
    return document(routes, title="prewarm", version=__version__)


def build_app(desk: Desk, mounted: Mounted | None = None) -> web.Application:
    """The application over `desk`; the caller runs it and closes what the desk holds."""
    app = web.Application(client_max_size=BODY_LIMIT)
    review = None if mounted is None else mounted.review
    border = Border(auth=lambda: desk.fleet.settings.auth, watch=desk.fleet.metrics.answered, review=review)
    install(app, all_routes(mounted), desk, border)
    if mounted is not None:
        install(app, mounted.routes, mounted.service, border)
    close_off(app)
    return app


class Certificates:
    """The TLS context, and the files that it was read from."""

    def __init__(self, auth: Auth) -> None:
        """InputError when only one of the two files is named, or they cannot be used."""
        if (auth.tls_cert is None) != (auth.tls_key is None):
            raise InputError("auth: tls_cert and tls_key go together; one of them is missing")
        self.context: ssl.SSLContext | None = None
        self._auth = auth
        self._read: tuple[int, ...] = ()
        if auth.tls_cert is not None:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.minimum_version = ssl.TLSVersion.TLSv1_2
            self.reload()

    def reload(self) -> bool:
        """Read the files again where they changed; new connections get the new certificate. True when it was read."""
        cert, key = self._auth.tls_cert, self._auth.tls_key
        if self.context is None or cert is None or key is None:
            return False
        stamps = _stamps(cert, key)
        if stamps == self._read:
            return False
        try:
            self.context.load_cert_chain(cert, key)
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"auth.tls_cert: {cert} with {key} cannot be used ({error})") from None
        self._read = stamps
        return True


async def listen(
    app: web.Application, address: str, auth: Auth, certificates: Certificates
) -> tuple[web.AppRunner, str]:
    """Serve `app` on `address`; returns the runner and the URL. InputError when it may not or cannot listen there."""
    check_listen(address, auth)
    host, port = split_address(address)
    logging.getLogger("aiohttp.server").addFilter(_senders_fault)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=5.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, ssl_context=certificates.context, backlog=1024).start()
    except OSError as error:
        await runner.cleanup()
        raise InputError(f"listen: {address} cannot be used ({error.strerror or error})") from None
    bound = runner.addresses[0]
    shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
    return runner, f"http{'s' if certificates.context else ''}://{shown}:{bound[1]}/"


def _senders_fault(record: logging.LogRecord) -> bool:
    """A request that is no HTTP, or not coded as it says, was answered: one line says so, not our traceback."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, web.RequestPayloadError | HttpProcessingError):
        record.exc_info, record.levelno, record.levelname = None, logging.WARNING, "WARNING"
        record.msg, record.args, record.why = "bad request", (), " ".join(str(error).split())[:120]
    return True


def _stamps(*paths: Path) -> tuple[int, ...]:
    try:
        return tuple(path.stat().st_mtime_ns for path in paths)
    except OSError as error:
        raise InputError(f"auth: {error.filename} cannot be read ({error.strerror})") from None

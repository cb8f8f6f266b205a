"""Who may read and who may write: bearer tokens, kept as digests and compared in constant time.

A token in the read list reads; a token in the write list reads and writes. Where a cluster reviews tokens, any other
token is asked about there, and its bearer's rights hold by namespace. Without all of that the service is for this
machine alone, so it refuses to listen elsewhere, and it answers only requests that name this machine as their host (a
web page that rebinds its own name to the loopback address is turned away).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable, Callable, Iterable
from enum import IntEnum

from aiohttp import web

from prewarm.domain import InputError
from prewarm.http.problem import ProblemError
from prewarm.settings import Auth

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="prewarm"'}


class Right(IntEnum):
    """What a route asks for; a higher right holds the lower ones."""

    OPEN = 0
    READ = 1
    WRITE = 2


Review = Callable[[str, Right, frozenset[str]], Awaitable[None]]
"""Asks a cluster about a token: Problem 401, 403 or 503 unless its bearer holds the right in all these namespaces.

The empty namespace stands for all of them; without any namespace only the token itself is asked about.
"""


def has_tokens(auth: Auth) -> bool:
    """Whether anybody can show who they are."""
    return bool(auth.read_token_sha256 or auth.write_token_sha256 or auth.token_review)


def right_of(token: str, auth: Auth) -> Right:
    """What the bearer of `token` may do; every digest is compared, so that time tells nothing."""
    digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
    writes = _any_equal(digest, auth.write_token_sha256)
    reads = _any_equal(digest, auth.read_token_sha256)
    if writes:
        return Right.WRITE
    return Right.READ if reads else Right.OPEN


def check_request(request: web.Request, needed: Right, auth: Auth) -> str | None:
    """None when `request` holds the right; the token where it is to be reviewed; Problem 401, 403 or 421 otherwise."""
    if not has_tokens(auth):
        _check_host(request)
        return None
    if needed is Right.OPEN:
        return None
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    challenge = CHALLENGE
    if scheme.lower() != "bearer" or not token.strip():
        raise ProblemError(401, "a bearer token is needed: Authorization: Bearer TOKEN", headers=challenge)
    held = right_of(token.strip(), auth)
    if held is Right.OPEN and auth.token_review is not None:
        return token.strip()
    if held is Right.OPEN:
        raise ProblemError(401, "the token is not known here", headers=challenge)
    if held < needed:
        raise ProblemError(403, "this token may read, not write")
    return None


def split_address(listen: str) -> tuple[str, int]:
    """`HOST:PORT` or `[V6]:PORT`; InputError otherwise."""
    host, colon, port = listen.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise InputError(f"listen: must be HOST:PORT, is {listen!r}")
    return host.strip("[]"), int(port)


def check_listen(listen: str, auth: Auth) -> None:
    """InputError when the address is not this machine's own and no token is configured."""
    host, _ = split_address(listen)
    if not has_tokens(auth) and not is_loopback(host):
        raise InputError(
            f"listen: {listen} is reachable from other machines, which needs a token: "
            "set PREWARM_WRITE_TOKEN (and PREWARM_READ_TOKEN) or [auth], or listen on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine by name or address."""
    if host in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _check_host(request: web.Request) -> None:
    host = request.host
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if name not in _OWN_NAMES and not is_loopback(name):
        raise ProblemError(421, f"without tokens only this machine is served, not {host[:80]!r}")


def _any_equal(digest: str, known: Iterable[str]) -> bool:
    equal = [hmac.compare_digest(digest, one.lower()) for one in known]
    return any(equal)


_OWN_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})

"""What comes over the wire, turned once into ours: bodies of bounded size, Status objects, the errors of a network.

Dates and texts of the other side are taken as hints: they are shortened, checked, and never decide anything alone.
"""

from __future__ import annotations

import asyncio
import ssl
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import orjson

from federation.members.api import Json, RefusedError
from federation.members.health import Kind

REACHED_TO_REFUSE = (aiohttp.ClientConnectorCertificateError, ssl.SSLCertVerificationError)
"""The other side is there, and is not who we expect or does not want us."""
_SERVER_ERROR = 500


class BodyError(ValueError):
    """An answer that cannot be used: too large, or no JSON object."""


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The whole body, unpacked. BodyError once it is over `limit` bytes, before more of it is held."""
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > limit:
            raise BodyError(f"answer is larger than {limit} bytes")
        parts.append(chunk)
    return b"".join(parts)


def hang_up(response: aiohttp.ClientResponse) -> None:
    """Gives the connection of a whole answer back, and ends any other at once.

    A closing word of TLS would wait up to half a minute for a member that does not listen or does not stop talking.
    """
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


def parse_object(body: bytes) -> Json:
    """A JSON object; an empty body is an empty one. BodyError otherwise."""
    if not body.strip():
        return {}
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BodyError(f"answer is not JSON ({str(error)[:80]})") from None
    if not isinstance(parsed, dict):
        raise BodyError(f"answer is a JSON {type(parsed).__name__}, not an object")
    return parsed


def refusal(member: str, status: int, body: bytes) -> RefusedError:
    """The error that an answer of 400 and more (or a redirect) is, with the fields of its Status where it is one."""
    try:
        status_object = parse_object(body)
    except BodyError:
        status_object = {"message": body[:200].decode("utf-8", "replace").strip()}
    return refusal_of(member, status, status_object)


def refusal_of(member: str, status: int, status_object: Json) -> RefusedError:
    """The same from a parsed Status."""
    details = status_object.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return RefusedError(
        member,
        status,
        reason=_text(status_object.get("reason")),
        message=_text(status_object.get("message"))[:2_000],
        causes=tuple(cause for cause in causes if isinstance(cause, dict)) if isinstance(causes, list) else (),
    )


def kind_of(status: int) -> Kind:
    """What an answer says of the member's health."""
    if status == 401:
        return Kind.REFUSED
    if status == 403:
        return Kind.FORBIDDEN
    return Kind.FAILING if status >= _SERVER_ERROR else Kind.OK


def describe(error: BaseException) -> str:
    """One line for a person."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection to {error.host}:{error.port} ({error.os_error.strerror or error.os_error})"
    if isinstance(error, TimeoutError | asyncio.CancelledError):
        return "no answer in time"
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def retry_after_s(response: aiohttp.ClientResponse) -> float | None:
    """Seconds to wait that a 429 names; None where it names none (dates are not used: clocks differ)."""
    text = response.headers.get("Retry-After", "")
    return float(text) if response.status == 429 and text.isascii() and text.isdigit() else None


def date_of(response: aiohttp.ClientResponse) -> float | None:
    """When the member says it answered, in seconds of its own clock."""
    try:
        return parsedate_to_datetime(response.headers["Date"]).timestamp()
    except (KeyError, ValueError):
        return None


def clock_skew_s(date: float, ours: float) -> float:
    """The member's clock minus ours; whole seconds are told, so what one second may hide is no difference."""
    skew_s = date + 0.5 - ours
    return skew_s if abs(skew_s) > 1.0 else 0.0


def _text(raw: Any) -> str:
    return raw if isinstance(raw, str) else ""

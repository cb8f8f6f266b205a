"""From a TOML file and PREWARM_ variables to validated settings, with one line for each thing that is wrong.

PREWARM_SERVE__LISTEN=0.0.0.0:8808 sets [serve] listen; lists of tables ([[function]], ...) come from the file.
Tokens may be given as PREWARM_READ_TOKEN and PREWARM_WRITE_TOKEN; only their digests are kept.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import ConfigDict, TypeAdapter, ValidationError

from prewarm.domain import InputError, function_key
from prewarm.settings import (
    Auth,
    Call,
    ClusterPolicy,
    Event,
    FactorWeights,
    FunctionPolicy,
    Headroom,
    Link,
    PlacementPolicy,
    Retention,
    Serve,
    Settings,
    Window,
)

Value = TypeVar("Value")

_NESTED: dict[tuple[str, str], type] = {
    ("Settings", "serve"): Serve,
    ("Settings", "retention"): Retention,
    ("Settings", "auth"): Auth,
    ("Settings", "function"): FunctionPolicy,
    ("Settings", "call"): Call,
    ("Settings", "event"): Event,
    ("Settings", "cluster"): ClusterPolicy,
    ("Settings", "link"): Link,
    ("Settings", "placement"): PlacementPolicy,
    ("FunctionPolicy", "windows"): Window,
    ("ClusterPolicy", "autoscale_headroom"): Headroom,
    ("PlacementPolicy", "weights"): FactorWeights,
}
_DIGEST = re.compile("[0-9a-fA-F]{64}")
_TABLES = {"serve", "retention", "auth", "placement"}


def read_settings(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """Settings from `path` (defaults where None) with PREWARM_ variables on top; InputError names file and field."""
    raw = _read_toml(path) if path else {}
    place = str(path) if path else "environment"
    for name, text in environ.items():
        _apply_variable(raw, name, text)
    settings = validate(Settings, raw, place)
    for position, entry in enumerate(settings.function):
        check_policy(entry, f"{place}: function[{position}]")
    for position, event in enumerate(settings.event):
        _check_event(event, f"{place}: event[{position}]")
    for position, call in enumerate(settings.call):
        function_key(call.caller, f"{place}: call[{position}].caller")
        function_key(call.callee, f"{place}: call[{position}].callee")
    _check_retention(settings.retention, place)
    _check_auth(settings.auth, place)
    return settings


def validate(kind: type[Value], raw: object, place: str) -> Value:
    """`raw` as a `kind`, unknown fields refused; InputError with the first fault as `place: field: rule`."""
    adapter: TypeAdapter[Value] = TypeAdapter(kind, config=None if dataclasses.is_dataclass(kind) else ConfigDict())
    try:
        return adapter.validate_python(_refuse_unknown(kind, raw, place), strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
        shown = repr(first.get("input"))[:60]
        raise InputError(f"{place}: {where or 'settings'}: {first['msg'].lower()}, is {shown}") from None


def check_policy(entry: FunctionPolicy, place: str) -> None:
    """Rules between fields: bounds in order, zones that exist."""
    if entry.max is not None and entry.max < entry.min:
        raise InputError(f"{place}: max: must be at least min ({entry.min}), is {entry.max}")
    for position, window in enumerate(entry.windows):
        if window.min is not None and window.max is not None and window.max < window.min:
            raise InputError(f"{place}.windows[{position}]: max: must be at least min ({window.min}), is {window.max}")
        try:
            ZoneInfo(window.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):  # a folder of zones, such as Europe, is an OSError
            raise InputError(f"{place}.windows[{position}]: zone: is not a time zone: {window.zone!r}") from None


def _check_event(event: Event, place: str) -> None:
    for name, moment in (("start", event.start), ("end", event.end)):
        if moment.tzinfo is None:
            raise InputError(f"{place}: {name}: needs a zone (Z or +hh:mm), is {moment.isoformat()}")
        if not 1900 <= moment.year < 9000:
            raise InputError(f"{place}: {name}: must be in the years 1900 to 8999, is {moment.isoformat()}")
    if event.end <= event.start:
        raise InputError(f"{place}: end: must be after start ({event.start.isoformat()}), is {event.end.isoformat()}")


def _check_retention(told: Retention, place: str) -> None:
    days = (told.minute_days, told.five_minute_days, told.hour_days)
    if list(days) != sorted(days):
        shown = ", ".join(map(str, days))
        raise InputError(f"{place}: retention: minute_days <= five_minute_days <= hour_days is required, are {shown}")


def _check_auth(auth: Auth, place: str) -> None:
    """Certificate and key go together. A digest that can match nothing is not shown: it may be the token itself."""
    if (auth.tls_cert is None) != (auth.tls_key is None):
        raise InputError(f"{place}: auth: tls_cert and tls_key go together; one of them is missing")
    for name in ("read_token_sha256", "write_token_sha256"):
        for position, digest in enumerate(getattr(auth, name)):
            if not _DIGEST.fullmatch(digest):
                raise InputError(
                    f"{place}: auth.{name}[{position}]: must be 64 hexadecimal digits, the SHA-256 of the token "
                    "(printf %s TOKEN | sha256sum)"
                )


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: is not TOML: {error}") from None


def _apply_variable(raw: dict[str, Any], name: str, text: str) -> None:
    if name in ("PREWARM_READ_TOKEN", "PREWARM_WRITE_TOKEN"):
        _add_token(_table(raw, "auth"), name, text.strip())
        return
    table, _, key = name.removeprefix("PREWARM_").lower().partition("__")
    if not name.startswith("PREWARM_") or not key:
        return
    if table not in _TABLES:
        raise InputError(f"{name}: no such table; known are {', '.join(sorted(_TABLES))}")
    _table(raw, table)[key] = text


def _add_token(auth: dict[str, Any], name: str, token: str) -> None:
    """The digest of a token, beside those of the file; blanks around a token are none of it, as in a request."""
    if not token:
        raise InputError(f"{name}: is empty; give a token or leave the variable out")
    field = name.removeprefix("PREWARM_").lower() + "_sha256"
    digests = auth.get(field, [])
    if not isinstance(digests, list):
        raise InputError(f"auth.{field}: must be a list of digests")
    auth[field] = [*digests, hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()]


def _table(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """The table `name` of the file, made where it is absent."""
    table = raw.setdefault(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{name}: must be a table, written [{name}]")
    return table


def _refuse_unknown(kind: type, raw: object, place: str) -> object:
    """Unknown field names are faults; pydantic ignores them in plain dataclasses, so they are looked for here."""
    if not dataclasses.is_dataclass(kind) or not isinstance(raw, dict):
        return raw
    fields = {item.name for item in dataclasses.fields(kind)}
    for name, value in raw.items():
        if name not in fields:
            raise InputError(f"{place}: {name}: unknown field; known are {', '.join(sorted(fields))}")
        inner = _NESTED.get((kind.__name__, name))
        if kind is Settings and name not in _TABLES and not isinstance(value, list):
            raise InputError(f"{place}: {name}: must be a list of tables, written [[{name}]]")
        items = enumerate(value) if isinstance(value, list) else [(None, value)]
        for position, item in items:
            if inner is not None:
                where = f"{place}: {name}" if position is None else f"{place}: {name}[{position}]"
                _refuse_unknown(inner, item, where)
    return raw

"""Where the public originals are: addresses, sums, sizes and licences, from `manifest.json`.

An empty sum means that nobody of the project could take it yet; the first download records it in a lock file beside the
data, and every later one is held against it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from prewarm.domain import InputError

_SUM = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")


@dataclass(frozen=True, slots=True)
class Original:
    """A public file: data set, file name, addresses in order of preference; sum and size where known."""

    name: str
    file: str
    addresses: tuple[str, ...]
    sha256: str | None
    size_bytes: int | None
    unpack: bool
    licence: str
    about: str


def read_manifest(path: Path | None = None) -> tuple[Original, ...]:
    """The originals of a manifest file, the project's own by default; InputError naming the broken entry."""
    place = str(path or "manifest.json")
    try:
        raw = path.read_bytes() if path else resources.files(__package__).joinpath("manifest.json").read_bytes()
        entries = orjson.loads(raw)["files"]
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(f"{place}: must be JSON with a list `files`: {error}") from None
    if not isinstance(entries, list):
        raise InputError(f"{place}: files must be a list")
    return tuple(_original(entry, f"{place}: files[{at}]") for at, entry in enumerate(entries))


def _original(entry: object, place: str) -> Original:
    if not isinstance(entry, Mapping):
        raise InputError(f"{place}: must be an object")
    name, file = _text(entry, "name", place), _text(entry, "file", place)
    for part in (name, file):
        if not _NAME.fullmatch(part):
            raise InputError(f"{place}: must be a plain name, is {part[:60]!r}")
    addresses = entry.get("addresses")
    if not (isinstance(addresses, list) and addresses and all(isinstance(one, str) for one in addresses)):
        raise InputError(f"{place}: addresses must be a list of texts")
    for address in addresses:
        _check_address(address, place)
    expected, size = entry.get("sha256") or None, entry.get("size_bytes")
    if expected is not None and not (isinstance(expected, str) and _SUM.fullmatch(expected)):
        raise InputError(f"{place}: sha256 must be 64 hexadecimal digits or null")
    if size is not None and not (isinstance(size, int) and size >= 0):
        raise InputError(f"{place}: size_bytes must be a whole number or null")
    unpack = entry.get("unpack") is True
    licence, about = _text(entry, "licence", place), _text(entry, "about", place)
    return Original(name, file, tuple(addresses), expected, size, unpack, licence, about)


def _text(entry: Mapping[str, object], name: str, place: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value:
        raise InputError(f"{place}: {name} must be a text")
    return value


def _check_address(address: str, place: str) -> None:
    """https anywhere; http only on this machine."""
    parts = urlsplit(address)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in {"localhost", "127.0.0.1", "::1"}):
        return
    raise InputError(f"{place}: an address must begin with https://, is {address[:80]!r}")

"""Downloads the public originals: resumable, verified, and never twice.

A download grows in `FILE.part` and gets its name only when its sum is right, so a half file is never read as a whole
one. An interrupted one goes on where it stopped, if the server still has the same file (If-Range). The sum comes from
the manifest, or else from the lock file that the first download wrote (trust on first use).
"""

from __future__ import annotations

import hashlib
import http.client
import lzma
import shutil
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson

from prewarm.domain import InputError, PrewarmError
from prewarm.traces.lines import Progress
from prewarm.traces.manifest import Original

LOCK_FILE = "traces.lock.json"
TIMEOUT_S = 60.0
PAUSES_S = (1.0, 4.0, 15.0)  # before each further try at one address
_CHUNK = 2**18
_UNKNOWN_SIZE = 0
_DAMAGE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)


class FetchError(PrewarmError):
    """A file could not be had, or is not the one that it should be."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A verified file. `downloaded` is False where it was there already; `first` where its sum was recorded now."""

    original: Original
    path: Path
    sha256: str
    size_bytes: int
    downloaded: bool
    first: bool


@dataclass(frozen=True, slots=True)
class _Lock:
    """The sums that were recorded at first downloads, by `name/file`."""

    path: Path

    def read(self) -> dict[str, dict[str, object]]:
        if not self.path.exists():
            return {}
        try:
            values = orjson.loads(self.path.read_bytes())
        except orjson.JSONDecodeError as error:
            raise InputError(f"{self.path}: is not JSON: {error}") from None
        if not isinstance(values, dict) or not all(isinstance(value, dict) for value in values.values()):
            raise InputError(f"{self.path}: must be an object of objects")
        return values

    def expected(self, original: Original) -> str | None:
        known = self.read().get(_key(original), {}).get("sha256")
        return original.sha256 or (known if isinstance(known, str) else None)

    def record(self, original: Original, sha256: str, size_bytes: int, address: str) -> None:
        values = self.read() | {_key(original): {"sha256": sha256, "size_bytes": size_bytes, "address": address}}
        part = self.path.with_suffix(".part")
        part.write_bytes(orjson.dumps(values, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
        part.replace(self.path)


def fetch(
    original: Original,
    folder: Path,
    *,
    progress: Progress | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> Fetched:
    """The file under `folder/name/`, downloaded if it is not there, unpacked if the manifest says so.

    FetchError where no address gives it or its sum is wrong; a wrong download is removed, a wrong file that was there
    is left alone and named.
    """
    lock = _Lock(folder / LOCK_FILE)
    target = folder / original.name / original.file
    target.parent.mkdir(parents=True, exist_ok=True)
    expected = lock.expected(original)
    if target.exists():
        return _already_there(original, target, lock, expected)
    part = target.with_name(target.name + ".part")
    address = _download_from_any(original, part, progress, wait)
    sha256, size = _digest(part)
    if expected is not None and sha256 != expected:
        _forget(part)
        raise FetchError(f"{address}: its sha256 is {sha256}, expected is {expected}; the download was removed")
    part.replace(target)
    _forget(part)
    if expected is None:
        lock.record(original, sha256, size, address)
    _unpack(original, target)
    return Fetched(original, target, sha256, size, downloaded=True, first=expected is None)


def _already_there(original: Original, target: Path, lock: _Lock, expected: str | None) -> Fetched:
    sha256, size = _digest(target)
    if expected is not None and sha256 != expected:
        raise FetchError(f"{target}: its sha256 is {sha256}, expected is {expected}; remove it to fetch it again")
    if expected is None:
        lock.record(original, sha256, size, target.name)
    _unpack(original, target)
    return Fetched(original, target, sha256, size, downloaded=False, first=expected is None)


def _download_from_any(original: Original, part: Path, progress: Progress | None, wait: Callable[[float], None]) -> str:
    """The address that gave the whole file; tries each, several times where the fault may pass."""
    faults = []
    for address in original.addresses:
        for pause in (*PAUSES_S, None):
            try:
                _download(address, part, original, progress)
            except urllib.error.HTTPError as error:
                faults.append(f"{address}: HTTP {error.code}")
                error.close()
                if error.code < 500 and error.code not in {408, 429}:
                    break
            except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
                faults.append(f"{address}: {getattr(error, 'reason', None) or str(error) or type(error).__name__}")
            else:
                return address
            if pause is not None:
                wait(pause)
    raise FetchError(f"{original.name}/{original.file}: no address gave it ({'; '.join(dict.fromkeys(faults))})")


def _download(address: str, part: Path, original: Original, progress: Progress | None) -> None:
    """Append what is missing to `part`, or begin anew where the server cannot go on."""
    have = part.stat().st_size if part.exists() else 0
    tag_file = _tag_file(part)
    tag = tag_file.read_text() if have and tag_file.exists() else ""
    request = urllib.request.Request(address, headers={"User-Agent": "prewarm-fleet"})  # noqa: S310
    if have and tag:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", tag)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310 (manifest checks the scheme)
        goes_on = response.status == 206 and (response.headers["Content-Range"] or "").startswith(f"bytes {have}-")
        if not goes_on:
            have = 0
            tag_file.write_text(response.headers["ETag"] or "")
        length = response.headers["Content-Length"]
        whole = have + int(length) if length else original.size_bytes or _UNKNOWN_SIZE
        with part.open("ab" if goes_on else "wb") as file:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                have += len(chunk)
                if progress is not None:
                    progress(original.file, have, whole)
    if whole and have != whole:
        raise http.client.IncompleteRead(b"", whole - have)


def _key(original: Original) -> str:
    return f"{original.name}/{original.file}"


def _digest(path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return digest.hexdigest(), path.stat().st_size


def _tag_file(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


def _forget(part: Path) -> None:
    for path in (part, _tag_file(part)):
        path.unlink(missing_ok=True)


def _unpack(original: Original, archive: Path) -> None:
    """Beside the archive, once, if the manifest says so; nothing may leave the folder."""
    done = archive.with_name(archive.name + ".unpacked")
    if not original.unpack or done.exists():
        return
    try:
        if archive.suffix == ".zip":
            shutil.unpack_archive(archive, archive.parent)
        else:
            shutil.unpack_archive(archive, archive.parent, filter="data")
    except (shutil.ReadError, tarfile.TarError, zipfile.BadZipFile, *_DAMAGE) as error:
        raise FetchError(f"{archive}: cannot be unpacked: {error}") from error
    done.touch()

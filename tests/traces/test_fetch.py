"""Downloads from a server on this machine: whole, resumed, changed, wrong, moved and broken ones."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import orjson
import pytest

from prewarm.domain import InputError
from prewarm.traces.fetch import LOCK_FILE, PAUSES_S, FetchError, fetch
from prewarm.traces.manifest import Original, read_manifest

CONTENT = bytes(range(256)) * 4000


@dataclass
class Site:
    """A web site: what it holds, how it misbehaves, and which ranges it was asked for."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    etag: str = '"one"'
    ranges: list[str | None] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)


@pytest.fixture
def site() -> Iterator[Site]:
    """A running site on the loopback interface."""
    kept = Site()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self, kept)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing is printed during tests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        kept.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield kept
        server.shutdown()
        thread.join()


def answer(request: BaseHTTPRequestHandler, site: Site) -> None:
    """As a static server does: Range with If-Range, or one of the planned faults."""
    asked = request.headers["Range"]
    site.ranges.append(asked)
    status = site.statuses.pop(0) if site.statuses else 200
    body = site.files.get(request.path)
    if status != 200 or body is None:
        request.send_error(404 if body is None else status)
        return
    start = 0
    if asked and request.headers["If-Range"] == site.etag:
        start = int(asked.removeprefix("bytes=").rstrip("-"))
        request.send_response(206)
        request.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
    else:
        request.send_response(200)
    if site.etag:
        request.send_header("ETag", site.etag)
    request.send_header("Content-Length", str(len(body) - start))
    request.end_headers()
    request.wfile.write(body[start : start + site.cuts.pop(0)] if site.cuts else body[start:])


def original(site: Site, *, sha256: str | None = None, file: str = "trace.csv", unpack: bool = False) -> Original:
    return Original("set", file, (f"{site.address}/{file}",), sha256, None, unpack, "CC0", "a test")


def no_wait(_: float) -> None:
    """Tests do not wait."""


def sum_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_the_first_download_records_the_sum_and_the_second_is_none(site: Site, tmp_path: Path) -> None:
    site.files["/trace.csv"] = CONTENT
    told: list[tuple[str, int, int]] = []
    first = fetch(original(site), tmp_path, progress=lambda *state: told.append(state))
    assert (first.downloaded, first.first, first.sha256) == (True, True, sum_of(CONTENT))
    assert first.path == tmp_path / "set" / "trace.csv"
    assert first.path.read_bytes() == CONTENT
    assert told[-1] == ("trace.csv", len(CONTENT), len(CONTENT))
    lock = orjson.loads((tmp_path / LOCK_FILE).read_bytes())
    assert lock == {
        "set/trace.csv": {
            "sha256": sum_of(CONTENT),
            "size_bytes": len(CONTENT),
            "address": f"{site.address}/trace.csv",
        }
    }
    second = fetch(original(site), tmp_path)
    assert (second.downloaded, second.first) == (False, False)
    assert len(site.ranges) == 1
    assert [path.name for path in first.path.parent.iterdir()] == ["trace.csv"]


def test_a_sum_in_the_manifest_is_verified_and_not_recorded(site: Site, tmp_path: Path) -> None:
    site.files["/trace.csv"] = CONTENT
    got = fetch(original(site, sha256=sum_of(CONTENT)), tmp_path)
    assert got.first is False
    assert not (tmp_path / LOCK_FILE).exists()


def test_a_broken_connection_goes_on_where_it_stopped(site: Site, tmp_path: Path) -> None:
    site.files["/trace.csv"] = CONTENT
    site.cuts = [300_000, 500_000]
    waits: list[float] = []
    got = fetch(original(site), tmp_path, wait=waits.append)
    assert got.sha256 == sum_of(CONTENT)
    assert site.ranges == [None, "bytes=300000-", "bytes=800000-"]
    assert waits == list(PAUSES_S[:2])


def test_an_interrupted_run_is_resumed_by_the_next(site: Site, tmp_path: Path) -> None:
    site.files["/trace.csv"] = CONTENT
    site.cuts = [100_000] + [0] * len(PAUSES_S)
    with pytest.raises(FetchError, match="no address gave it"):
        fetch(original(site), tmp_path, wait=no_wait)
    assert (tmp_path / "set" / "trace.csv.part").stat().st_size == 100_000
    assert fetch(original(site), tmp_path).sha256 == sum_of(CONTENT)
    assert site.ranges[-1] == "bytes=100000-"


def test_a_file_that_changed_meanwhile_is_fetched_anew(site: Site, tmp_path: Path) -> None:
    site.files["/trace.csv"] = CONTENT
    site.cuts = [100_000]

    def change(_: float) -> None:
        site.files["/trace.csv"] = CONTENT[::-1]
        site.etag = '"two"'

    assert fetch(original(site), tmp_path, wait=change).sha256 == sum_of(CONTENT[::-1])


def test_without_an_etag_a_broken_download_begins_again(site: Site, tmp_path: Path) -> None:
    site.files["/trace.csv"] = CONTENT
    site.etag = ""
    site.cuts = [100_000]
    assert fetch(original(site), tmp_path, wait=no_wait).sha256 == sum_of(CONTENT)
    assert site.ranges == [None, None]


def test_a_wrong_sum_removes_the_download(site: Site, tmp_path: Path) -> None:
    site.files["/trace.csv"] = CONTENT
    with pytest.raises(FetchError, match=f"its sha256 is {sum_of(CONTENT)}, expected is {'0' * 64}"):
        fetch(original(site, sha256="0" * 64), tmp_path)
    assert list((tmp_path / "set").iterdir()) == []


def test_a_damaged_file_that_was_there_is_named_and_left(site: Site, tmp_path: Path) -> None:
    site.files["/trace.csv"] = CONTENT
    path = fetch(original(site), tmp_path).path
    path.write_bytes(b"damaged")
    with pytest.raises(FetchError, match=r"trace\.csv: its sha256 is .*remove it to fetch it again"):
        fetch(original(site), tmp_path)
    assert path.read_bytes() == b"damaged"


def test_a_moved_file_is_had_from_its_next_address(site: Site, tmp_path: Path) -> None:
    site.files["/trace.csv"] = CONTENT
    moved = replace(original(site), addresses=(f"{site.address}/old.csv", f"{site.address}/trace.csv"))
    assert fetch(moved, tmp_path, wait=no_wait).downloaded
    assert len(site.ranges) == 2


def test_a_server_that_is_busy_is_asked_again(site: Site, tmp_path: Path) -> None:
    site.files["/trace.csv"] = CONTENT
    site.statuses = [503, 429]
    assert fetch(original(site), tmp_path, wait=no_wait).downloaded


def test_what_no_address_has_is_told_with_every_reason(site: Site, tmp_path: Path) -> None:
    gone = replace(original(site), addresses=(f"{site.address}/trace.csv", "http://127.0.0.1:9/trace.csv"))
    with pytest.raises(FetchError, match=r"set/trace\.csv: no address gave it \(.*HTTP 404; .*refused"):
        fetch(gone, tmp_path, wait=no_wait)


def archive(name: str, members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(packed, "w") as zipped:
            for member, content in members.items():
                zipped.writestr(member, content)
    else:
        with tarfile.open(fileobj=packed, mode="w:xz") as tar:
            for member, content in members.items():
                entry = tarfile.TarInfo(member)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.parametrize("name", ["days.tar.xz", "days.zip"])
def test_an_archive_is_unpacked_beside_itself_once(site: Site, tmp_path: Path, name: str) -> None:
    site.files[f"/{name}"] = archive(name, {"d01.csv": b"a,b\n"})
    wanted = original(site, file=name, unpack=True)
    fetch(wanted, tmp_path)
    unpacked = tmp_path / "set" / "d01.csv"
    assert unpacked.read_bytes() == b"a,b\n"
    unpacked.write_bytes(b"mine")
    fetch(wanted, tmp_path)
    assert unpacked.read_bytes() == b"mine"


@pytest.mark.parametrize(
    "content", [b"no archive", archive("x.tar.xz", {"../out.csv": b"x"})], ids=["broken", "escape"]
)
def test_an_archive_that_is_broken_or_leaves_its_folder_is_refused(site: Site, tmp_path: Path, content: bytes) -> None:
    site.files["/days.tar.xz"] = content
    with pytest.raises(FetchError, match="cannot be unpacked"):
        fetch(original(site, file="days.tar.xz", unpack=True), tmp_path)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"a": 1}'])
def test_a_broken_lock_file_is_told(site: Site, tmp_path: Path, content: bytes) -> None:
    (tmp_path / LOCK_FILE).write_bytes(content)
    with pytest.raises(InputError, match=r"traces\.lock\.json"):
        fetch(original(site), tmp_path)


def test_the_manifest_of_the_project_is_sound() -> None:
    originals = read_manifest()
    assert {one.name for one in originals} == {"azure2019", "azure2021", "femux", "invitro", "alibaba-gpu-v2023"}
    assert len({(one.name, one.file) for one in originals}) == len(originals)
    assert all(one.licence and one.about for one in originals)


GOOD = {"name": "set", "file": "a.csv", "addresses": ["https://example.org/a.csv"], "licence": "MIT", "about": "x"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"addresses": ["ftp://example.org/a"]}, "must begin with https", id="ftp"),
        pytest.param({"addresses": ["http://example.org/a"]}, "must begin with https", id="http to others"),
        pytest.param({"addresses": ["file:///etc/passwd"]}, "must begin with https", id="file"),
        pytest.param({"addresses": []}, "addresses must be a list", id="no address"),
        pytest.param({"file": "../a.csv"}, "plain name", id="leaves the folder"),
        pytest.param({"name": ".."}, "plain name", id="name leaves the folder"),
        pytest.param({"sha256": "abc"}, "64 hexadecimal", id="sum"),
        pytest.param({"size_bytes": -1}, "size_bytes", id="size"),
        pytest.param({"licence": ""}, "licence must be a text", id="no licence"),
    ],
)
def test_a_broken_entry_of_a_manifest_is_named(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(orjson.dumps({"files": [GOOD, GOOD | change]}))
    with pytest.raises(InputError, match=rf"files\[1\]: .*{reason}"):
        read_manifest(path)


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"files": 1}', b'{"files": [1]}'])
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"manifest\.json"):
        read_manifest(path)

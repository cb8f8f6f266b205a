"""Files change under a running service: members come and go, and a broken file never empties the fleet."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
import yaml

from federation.kubeconfig.kept import KeptFile
from federation.kubeconfig.listing import Listing
from federation.kubeconfig.source import FleetSource, Places, kubeconfig_paths
from prewarm.domain import InputError
from tests.federation.kubeconfig.made import SERVER, config, write


def fleet(*names: str, token: str = "t") -> dict[str, object]:
    """Contexts of one cluster and user."""
    contexts = {name: {"cluster": "c", "user": "u"} for name in names}
    return config({"c": {"server": SERVER}}, {"u": {"token": token}}, contexts)


def ids(found: Listing) -> list[str]:
    """The ids of the members."""
    return [member.spec.id for member in found.members]


def test_a_kubeconfig_value_is_a_list_of_different_files() -> None:
    assert kubeconfig_paths("/a::/b:/a:c") == (Path("/a"), Path("/b"), Path("c"))
    assert kubeconfig_paths("") == ()


async def test_contexts_appear_and_go_without_a_restart(tmp_path: Path) -> None:
    file = write(tmp_path / "config", fleet("a", "b"))
    source = FleetSource(Places(files=(file,)), {})
    first = await source.read()
    assert ids(first) == ["a", "b"]
    assert await source.read() is first
    write(file, fleet("b", "c"))
    second = await source.read()
    assert ids(second) == ["b", "c"]
    assert second.find("b") == first.find("b")
    assert second.notices == ()


async def test_a_changed_secret_is_another_member_of_the_same_name(tmp_path: Path) -> None:
    file = write(tmp_path / "config", fleet("a"))
    source = FleetSource(Places(files=(file,)), {})
    before = (await source.read()).find("a")
    write(file, fleet("a", token="u"))  # as long as before
    after = (await source.read()).find("a")
    assert after.spec == before.spec
    assert after != before
    assert (await after.open().headers())["Authorization"] == "Bearer u"


@pytest.mark.parametrize("harm", ["", "   \n", "clusters: [", "kind: Pod", "\0"])
async def test_a_file_that_is_broken_keeps_its_last_good_members_and_says_so(tmp_path: Path, harm: str) -> None:
    file = write(tmp_path / "config", fleet("a"))
    source = FleetSource(Places(files=(file,)), {})
    first = await source.read()
    file.write_text(harm)
    kept = await source.read()
    assert kept.members == first.members
    (notice,) = kept.notices
    assert notice.startswith(str(file))
    assert notice.endswith("; its last good content stays in use")
    assert await source.read() is kept
    write(file, fleet("a"))
    assert await source.read() == first


async def test_a_file_that_is_gone_keeps_its_members_until_it_is_back(tmp_path: Path) -> None:
    file = write(tmp_path / "config", fleet("a"))
    for places in (Places(files=(file,)), Places(merged=(file,))):
        source = FleetSource(places, {})
        first = await source.read()
        file.rename(tmp_path / "away")
        kept = await source.read()
        assert kept.members == first.members
        assert kept.notices == (f"{file}: No such file or directory; its last good content stays in use",)
        (tmp_path / "away").rename(file)
        assert await source.read() == first


async def test_a_file_is_not_taken_while_it_is_being_written(tmp_path: Path) -> None:
    file = write(tmp_path / "config", fleet("a", "b"))
    source = FleetSource(Places(files=(file,)), {})
    first = await source.read()
    whole = yaml.safe_dump(fleet("a", "b", "c"))
    file.write_text(whole[: whole.index("users:")])  # valid, but nobody's login is in it yet
    reading = asyncio.create_task(source.read())
    await asyncio.sleep(0.02)
    file.write_text(whole)
    during = await reading
    assert during.members == first.members or ids(during) == ["a", "b", "c"]
    assert during.broken == ()
    assert ids(await source.read()) == ["a", "b", "c"]


def test_a_file_that_changes_between_two_looks_is_left_for_the_next(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    kept = KeptFile(path, lambda data, _: data.decode())
    assert kept.look()
    kept.settle()
    path.write_text("tw")
    assert kept.look()
    path.write_text("two")
    kept.settle()
    assert (kept.held, kept.error) == ("one", f"{path}: is being written")
    assert kept.look()
    kept.settle()
    assert (kept.held, kept.error) == ("two", None)
    assert "two" not in repr(kept)
    path.write_text("three")
    assert kept.look()
    path.write_text("two")  # taken back
    kept.settle()
    assert not kept.look()
    assert (kept.held, kept.error) == ("two", None)


def test_a_file_that_is_far_too_long_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(17 << 20)
    kept = KeptFile(path, lambda data, _: data)
    assert kept.look()
    kept.settle()
    assert (kept.held, kept.error) == (None, f"{path}: is longer than 16 MiB")


async def test_missing_and_empty_files_of_kubeconfig_are_skipped_with_a_notice_each(tmp_path: Path) -> None:
    good, empty, missing = write(tmp_path / "good", fleet("a")), tmp_path / "empty", tmp_path / "missing"
    empty.touch()
    source = FleetSource(Places(merged=(empty, missing, good)), {})
    found = await source.read()
    assert ids(found) == ["a"]
    assert sorted(found.notices) == [f"{empty}: is empty", f"{missing}: No such file or directory"]
    write(missing, fleet("b"))
    assert ids(await source.read()) == ["a", "b"]


async def test_at_the_start_a_wrong_file_is_an_error(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good", fleet("a")), tmp_path / "bad"
    bad.write_text("a: [\n")
    with pytest.raises(InputError, match=r"/missing: No such file or directory$"):
        await FleetSource(Places(files=(good, tmp_path / "missing")), {}).read()
    for places in (Places(files=(good, bad)), Places(merged=(good, bad))):
        with pytest.raises(InputError, match=r"/bad, line 1: is not YAML"):
            await FleetSource(places, {}).read()
    with pytest.raises(InputError, match="Is a directory"):
        await FleetSource(Places(merged=(tmp_path,)), {}).read()


async def test_a_file_of_kubeconfig_that_appears_half_written_is_waited_for(tmp_path: Path) -> None:
    good, late = write(tmp_path / "good", fleet("a")), tmp_path / "late"
    source = FleetSource(Places(merged=(good, late)), {})
    await source.read()
    late.write_text("contexts: [")
    found = await source.read()
    assert ids(found) == ["a"]
    assert found.notices[0].startswith(f"{late}, line 1: is not YAML")
    write(late, fleet("b"))
    assert ids(await source.read()) == ["a", "b"]


async def test_relative_paths_are_those_of_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "site/config", fleet("a"))
    monkeypatch.chdir(tmp_path / "site")
    source = FleetSource(Places(files=(Path("config"), Path("../site/config"))), {})
    monkeypatch.chdir("/")
    found = await source.read()
    assert [member.spec.source for member in found.members] == [tmp_path / "site/config"]
    assert ids(found) == ["a"]  # the same file twice is one


async def test_the_same_context_stays_the_same_member_in_whatever_file_of_kubeconfig_it_is(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", fleet("North")), write(tmp_path / "b", fleet("South"))
    before = await FleetSource(Places(merged=(a, b)), {}).read()
    shutil.move(a, tmp_path / "c")
    after = await FleetSource(Places(merged=(b, tmp_path / "c")), {}).read()
    assert ids(before) == ids(after)


async def test_readers_at_the_same_time_get_the_same_answer(tmp_path: Path) -> None:
    source = FleetSource(Places(files=(write(tmp_path / "config", fleet("a")),)), {})
    first, *others = await asyncio.gather(*(source.read() for _ in range(5)))
    assert all(other is first for other in others)


async def test_a_thousand_contexts_are_read_well_within_a_second(tmp_path: Path) -> None:
    source = FleetSource(Places(files=(write(tmp_path / "config", fleet(*(f"c{i}" for i in range(1000)))),)), {})
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert len((await source.read()).members) == 1000
    assert loop.time() - began < 5.0  # of a busy machine

"""One bad entry never holds up the others, and every name by which people call a member finds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from federation.kubeconfig.listing import Listing
from prewarm.domain import InputError
from tests.federation.kubeconfig.made import SERVER, config, read, write

CLUSTER = {"server": SERVER}


@pytest.mark.parametrize(
    ("context", "said"),
    [
        (None, "context 'bad': names no cluster"),
        ("text", "context 'bad': must be a mapping, is text"),
        ({}, "context 'bad': names no cluster"),
        ({"cluster": "c", "user": "ghost"}, "context 'bad': user 'ghost' is missing"),
        ({"cluster": "ghost"}, "context 'bad': cluster 'ghost' is missing"),
        ({"cluster": ["c"]}, "cluster must be text, is a list"),
        ({"cluster": "empty"}, "cluster 'empty': server is missing"),
        ({"cluster": "c", "user": "text"}, "user 'text': must be a mapping, is text"),
        ({"cluster": "c", "namespace": 7}, "namespace must be text, is a number"),
        ({"cluster": "c", "usr": "x"}, "'usr' is not supported"),
    ],
)
async def test_a_context_that_cannot_be_a_member_says_why(tmp_path: Path, context: Any, said: str) -> None:
    tree = config({"c": CLUSTER, "empty": None}, {"text": "text"}, {"bad": context, "good": {"cluster": "c"}})
    found = await read(write(tmp_path / "config", tree))
    assert [member.spec.id for member in found.members] == ["good"]
    (broken,) = found.broken
    assert (broken.id, broken.context, broken.source) == ("bad", "bad", tmp_path / "config")
    assert broken.why.startswith(str(tmp_path / "config"))
    assert said in broken.why
    with pytest.raises(InputError, match="member 'bad': is broken: "):
        found.find("bad")


async def test_a_user_without_a_word_is_nobody_in_particular(tmp_path: Path) -> None:
    tree = config({"c": CLUSTER}, {"u": None}, {"a": {"cluster": "c", "user": "u"}})
    (member,) = (await read(write(tmp_path / "config", tree))).members
    assert dict(await member.open().headers()) == {}


async def test_a_name_given_twice_in_a_file_is_nobody(tmp_path: Path) -> None:
    tree = config({"c": CLUSTER}, {"u": {"token": "one"}}, {"a": {"cluster": "c", "user": "u"}, "b": {"cluster": "c"}})
    tree["users"].append({"name": "u", "user": {"token": "two"}})
    found = await read(write(tmp_path / "config", tree))
    assert [member.spec.id for member in found.members] == ["b"]
    assert "user 'u': stands there 2 times" in found.broken[0].why


async def test_an_entry_of_another_file_is_named_with_that_file(tmp_path: Path) -> None:
    a = write(tmp_path / "a", config({}, {}, {"x": {"cluster": "c"}}))
    b = write(tmp_path / "b", config({"c": {"server": "ftp://x"}}))
    found = await read(merged=[a, b])
    assert found.broken[0].source == a
    assert found.broken[0].why.startswith(f"{b}: cluster 'c': server must be")


async def two_sites(folder: Path) -> Listing:
    """Two files that have a context of the same name, and each one more."""
    files = [
        write(folder / site / "config", config({"c": CLUSTER}, {}, {"admin": {"cluster": "c"}, site: {"cluster": "c"}}))
        for site in ("site-a", "site-b")
    ]
    return await read(*files)


async def test_every_name_that_is_clear_finds_its_member(tmp_path: Path) -> None:
    found = await two_sites(tmp_path)
    assert len({member.spec.id for member in found.members}) == 4
    for member in found.members:
        assert found.find(member.spec.id) is member
        assert found.find(f"{member.spec.source}#{member.spec.context}") is member
    assert found.find("site-a").spec.source == tmp_path / "site-a/config"
    assert found.find("site-b/config#admin").spec.source == tmp_path / "site-b/config"


@pytest.mark.parametrize("name", ["nobody", "", "config#nobody", "#site-a", "b/config#site-a"])
async def test_a_name_of_nobody_is_said_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="there is none of that name"):
        (await two_sites(tmp_path)).find(name)


@pytest.mark.parametrize("name", ["admin", "config#admin"])
async def test_a_name_of_several_lists_them(tmp_path: Path, name: str) -> None:
    found = await two_sites(tmp_path)
    with pytest.raises(InputError, match=r"could be any of admin-site-a-.*, admin-site-b-"):
        found.find(name)


async def test_an_id_comes_before_a_context_of_that_name(tmp_path: Path) -> None:
    first = await read(write(tmp_path / "config", config({"c": CLUSTER}, {}, {"North": {"cluster": "c"}})))
    (north,) = first.members
    contexts = {"North": {"cluster": "c"}, north.spec.id: {"cluster": "c"}}
    second = await read(write(tmp_path / "config", config({"c": CLUSTER}, {}, contexts)))
    assert second.find(north.spec.id).spec.context == "North"


async def test_the_order_of_the_file_changes_nothing(tmp_path: Path) -> None:
    names = ["B/x", "a", "Z", "m n"]
    contexts = {name: {"cluster": "c"} for name in names}
    one = await read(write(tmp_path / "config", config({"c": CLUSTER}, {}, contexts)))
    other = await read(write(tmp_path / "config", config({"c": CLUSTER}, {}, dict(reversed(contexts.items())))))
    assert one == other
    assert {member.spec.context for member in one.members} == set(names)

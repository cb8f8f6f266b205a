"""Headers of a member, and errors that are only this member's."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from federation.kubeconfig.access import MemberError
from tests.federation.kubeconfig.made import SERVER, HandClock, only, plugin, program


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        (None, {}),
        ({}, {}),
        ({"token": "made-up"}, {"Authorization": "Bearer made-up"}),
        ({"username": "ann", "password": "p:ö"}, {"Authorization": "Basic YW5uOnA6w7Y="}),
        ({"username": "ann"}, {"Authorization": "Basic YW5uOg=="}),
        ({"token": "t", **plugin("/no/such")}, {"Authorization": "Bearer t"}),
    ],
)
async def test_what_is_sent(tmp_path: Path, user: dict[str, Any] | None, sent: dict[str, str]) -> None:
    access = (await only(tmp_path, {"server": SERVER}, user)).open()
    assert dict(await access.headers()) == sent
    assert await access.renew() is False


async def test_impersonation_sends_each_group_and_escapes_what_a_header_cannot_hold(tmp_path: Path) -> None:
    user = {
        "token": "t",
        "as": "bob",
        "as-uid": "7",
        "as-groups": ["dev", "ops"],
        "as-user-extra": {"example.org/scope": ["a", "b"], "per%cent": ["c"]},
    }
    headers = await (await only(tmp_path, {"server": SERVER}, user)).open().headers()
    assert list(headers.items()) == [
        ("Impersonate-User", "bob"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-example.org%2Fscope", "a"),
        ("Impersonate-Extra-example.org%2Fscope", "b"),
        ("Impersonate-Extra-per%25cent", "c"),
        ("Authorization", "Bearer t"),
    ]


async def test_a_token_file_wins_over_a_token_and_is_found_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from the file\n".replace(" ", "-"))
    clock = HandClock()
    access = (await only(tmp_path, {"server": SERVER}, {"token": "t", "tokenFile": "token"})).open(now=clock)
    assert (await access.headers())["Authorization"] == "Bearer from-the-file"
    (tmp_path / "token").write_text("next")
    clock.now += 60
    assert (await access.headers())["Authorization"] == "Bearer next"


async def test_errors_are_of_one_member_and_name_what_is_at_fault(tmp_path: Path) -> None:
    access = (await only(tmp_path, {"server": SERVER}, {"tokenFile": "token"})).open()
    with pytest.raises(MemberError) as caught:
        await access.headers()
    assert caught.value.member == "only"
    assert str(caught.value) == f"only: tokenFile {tmp_path}/token: No such file or directory"
    assert await access.renew() is False


async def test_members_with_the_same_plugin_run_it_each_for_itself(tmp_path: Path) -> None:
    login = program(
        tmp_path / "login",
        f"""echo run >> {tmp_path}/runs
echo '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {{"token": "t"}}}}'""",
    )
    member = await only(tmp_path, {"server": SERVER}, plugin(login))
    one, other = member.open(), member.open()
    await asyncio.gather(*(access.headers() for access in (one, other) for _ in range(5)))
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_a_service_that_stops_ends_a_plugin_that_still_runs(tmp_path: Path) -> None:
    login = program(tmp_path / "login", f"echo $$ > {tmp_path}/self\nexec sleep 300")

    async def service() -> None:
        access = (await only(tmp_path, {"server": SERVER}, plugin(login))).open()
        waiting = asyncio.create_task(access.headers())
        while not (tmp_path / "self").exists() or not (tmp_path / "self").read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        waiting.cancel()

    asyncio.run(service())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "self").read_text()), 0)

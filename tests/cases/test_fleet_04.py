"""Reported: an exec plug-in's token ended and was sent on, or the plug-in ran for every request, or hung for ever.

The plug-in is a real program and the server a real one; only the time is moved by hand, so that twelve seconds of the
story take less. The plug-in takes its time from the same hand, by a file.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
import yaml
from aiohttp import web

from federation.kubeconfig.access import Access, MemberError
from federation.kubeconfig.login import DEFAULT_LIMITS, PluginLimits
from federation.kubeconfig.source import FleetSource, Places
from tests.federation.kubeconfig.made import HandClock

PLUGIN = """\
#!/bin/sh
# prints an ExecCredential with a numbered token that is valid for 3 seconds of the story
cd "$(dirname "$0")" || exit 9
n=$(( $(cat count 2>/dev/null || echo 0) + 1 )); echo "$n" > count
[ -e hang ] && sleep 300
[ -e fail ] && { echo "no session" >&2; exit 1; }
exp=$(date -u -d "@$(( $(cat now) + 3 ))" +%Y-%m-%dT%H:%M:%SZ)
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",'
printf '"status":{"token":"t-%s","expirationTimestamp":"%s"}}\\n' "$n" "$exp"
"""


@dataclass
class Cloud:
    """A fake API server that logs who asks, and refuses the tokens that it is told to."""

    url: str = ""
    seen: list[str] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)

    async def answer(self, request: web.Request) -> web.Response:
        """200, or 401."""
        token = request.headers.get("Authorization", "")
        self.seen.append(token)
        return web.Response(status=401 if token in self.refused else 200)


@pytest.fixture
async def cloud() -> AsyncIterator[Cloud]:
    """The server, on a port of its own."""
    here, app = Cloud(), web.Application()
    app.router.add_get("/version", here.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    here.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield here
    await runner.cleanup()


@dataclass
class Story:
    """A member of the fleet, its plug-in's folder and the time."""

    folder: Path
    access: Access
    clock: HandClock

    def at(self, second: float) -> None:
        """Move to this second of the story."""
        self.clock.now = 1_800_000_000.0 + second
        (self.folder / "now").write_text(str(int(self.clock.now)))

    @property
    def runs(self) -> int:
        """How often the plug-in was run."""
        return int((self.folder / "count").read_text())

    async def ask(self) -> int:
        """A client's call: once more after a 401 if there are other credentials."""
        async with aiohttp.ClientSession() as session:
            for attempt in (1, 2):
                headers = await self.access.headers()
                async with session.get(f"{self.access.spec.server}/version", headers=headers) as answer:
                    if answer.status != 401 or attempt == 2 or not await self.access.renew():
                        return answer.status
        raise AssertionError


async def story(folder: Path, cloud: Cloud, limits: PluginLimits = DEFAULT_LIMITS) -> Story:
    """The fleet of one member, with the plug-in beside its kubeconfig."""
    (folder / "exec-cred.sh").write_text(PLUGIN)
    (folder / "exec-cred.sh").chmod(0o755)
    version = "client.authentication.k8s.io/v1"
    program = {"apiVersion": version, "command": "./exec-cred.sh", "interactiveMode": "Never"}
    tree = {
        "clusters": [{"name": "cloud", "cluster": {"server": cloud.url}}],
        "contexts": [{"name": "cloud", "context": {"cluster": "cloud", "user": "cloud"}}],
        "users": [{"name": "cloud", "user": {"exec": program}}],
    }
    (folder / "config").write_text(yaml.safe_dump(tree))
    (member,) = (await FleetSource(Places(files=(folder / "config",)), {}).read()).members
    clock = HandClock()
    begun = Story(folder, member.open(limits, clock), clock)
    begun.at(0)
    return begun


@pytest.mark.parametrize("phase", [0.0, 0.5, 0.9])
async def test_the_token_changes_before_it_ends_and_not_for_every_request(
    tmp_path: Path, cloud: Cloud, phase: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")  # the command is found from the kubeconfig's folder
    here = await story(tmp_path, cloud)
    made_at: dict[str, float] = {}
    for second in range(12):
        here.at(second + phase)
        assert await here.ask() == 200
        made = made_at.setdefault(cloud.seen[-1], second)
        assert second + phase < made + 3
    assert 4 <= here.runs <= 6
    assert list(made_at) == [f"Bearer t-{n}" for n in range(1, here.runs + 1)]


async def test_a_401_causes_one_run_and_one_more_try(tmp_path: Path, cloud: Cloud) -> None:
    here = await story(tmp_path, cloud)
    cloud.refused = {"Bearer t-1"}
    assert await here.ask() == 200
    assert cloud.seen == ["Bearer t-1", "Bearer t-2"]
    assert here.runs == 2


async def test_a_server_that_refuses_everything_is_believed(tmp_path: Path, cloud: Cloud) -> None:
    here = await story(tmp_path, cloud)
    cloud.refused = {f"Bearer t-{n}" for n in range(99)}
    for _ in range(10):
        assert await here.ask() == 401
    assert here.runs == 2


async def test_a_plugin_that_fails_or_hangs_is_the_trouble_of_its_member_only(tmp_path: Path, cloud: Cloud) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "bad").mkdir()
    good = await story(tmp_path / "good", cloud)
    bad = await story(tmp_path / "bad", cloud, PluginLimits(timeout_s=0.5))
    (bad.folder / "fail").touch()
    for _ in range(5):
        with pytest.raises(MemberError, match=r"^cloud: exec plug-in .*/exec-cred\.sh: exit status 1: no session$"):
            await bad.ask()
    assert bad.runs == 1
    assert await good.ask() == 200
    (bad.folder / "hang").touch()
    bad.at(2)
    with pytest.raises(MemberError, match=r"no answer within 0\.5 s"):
        await bad.ask()
    (bad.folder / "hang").unlink()
    (bad.folder / "fail").unlink()
    bad.at(5)
    assert await bad.ask() == 200

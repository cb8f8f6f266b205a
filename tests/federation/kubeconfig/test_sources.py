"""Credentials in time: renewed before they end, once for all who wait, and never in a tight loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.kubeconfig.credentials.plugin import Credential, PluginError
from federation.kubeconfig.credentials.sources import Fixed, PluginSource, TokenFile
from prewarm.domain import PrewarmError
from tests.federation.kubeconfig.made import HandClock


class Login:
    """Stands where a plug-in's process does: numbered tokens, or a failure, after a moment if wanted."""

    def __init__(self, clock: HandClock, life_s: float | None = 100.0) -> None:
        self.clock, self.life_s = clock, life_s
        self.runs = 0
        self.fails = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> Credential:
        """One run."""
        self.runs += 1
        number = self.runs
        await self.gate.wait()
        if self.fails:
            raise PluginError(f"failed {number}")
        end = None if self.life_s is None else self.clock.now + self.life_s
        return Credential(f"t-{number}", expires_at=end)


def world(life_s: float | None = 100.0) -> tuple[HandClock, Login, PluginSource]:
    """A clock, a plug-in and its source."""
    clock = HandClock()
    login = Login(clock, life_s)
    return clock, login, PluginSource(login, clock)


async def test_a_token_is_kept_until_shortly_before_its_end() -> None:
    clock, login, source = world()
    for after_s, token in ((0, "t-1"), (94.9, "t-1"), (95.0, "t-2"), (180.0, "t-2"), (190.0, "t-3")):
        clock.now = 1_800_000_000.0 + after_s
        assert (await source.current()).token == token
    assert login.runs == 3


async def test_a_long_lived_token_is_renewed_ten_seconds_before_its_end() -> None:
    clock, _, source = world(3600.0)
    await source.current()
    clock.now += 3589.9
    assert (await source.current()).token == "t-1"
    clock.now += 0.1
    assert (await source.current()).token == "t-2"


async def test_a_token_without_an_end_is_kept() -> None:
    clock, login, source = world(None)
    await source.current()
    clock.now += 1e9
    assert (await source.current()).token == "t-1"
    assert login.runs == 1


@given(st.lists(st.floats(0, 30), min_size=1, max_size=30), st.floats(1, 60))
def test_no_ended_token_is_ever_given_and_none_is_thrown_away_early(steps: list[float], life_s: float) -> None:
    async def story() -> None:
        clock, login, source = world(life_s)
        began = clock.now
        for step in steps:
            clock.now += step
            got = await source.current()
            assert got.expires_at is not None
            assert got.expires_at > clock.now
        assert login.runs <= 1 + (clock.now - began) / (0.95 * life_s) + 1e-6

    asyncio.run(story())


async def test_many_requests_wait_for_one_run() -> None:
    _, login, source = world()
    login.gate.clear()
    waiting = [asyncio.create_task(source.current()) for _ in range(20)]
    await asyncio.sleep(0)
    login.gate.set()
    assert {credential.token for credential in await asyncio.gather(*waiting)} == {"t-1"}
    assert login.runs == 1


async def test_a_request_that_gives_up_leaves_the_run_to_the_others() -> None:
    _, login, source = world()
    login.gate.clear()
    first, second = asyncio.create_task(source.current()), asyncio.create_task(source.current())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    login.gate.set()
    assert (await second).token == "t-1"
    assert login.runs == 1
    assert first.cancelled()


async def test_a_failing_plugin_rests_longer_each_time_and_its_failure_is_the_answer() -> None:
    clock, login, source = world()
    login.fails = True
    began, runs_at = clock.now, []
    for _ in range(800):  # a request every half second
        before = login.runs
        with pytest.raises(PluginError, match=rf"failed ({max(before, 1)}|{before + 1})$"):
            await source.current()
        if login.runs > before:
            runs_at.append(round(clock.now - began))
        clock.now += 0.5
    assert runs_at == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363]
    login.fails = False
    clock.now += 60
    assert (await source.current()).token == "t-13"


async def test_a_failed_renewal_leaves_the_token_until_its_end() -> None:
    clock, login, source = world()
    await source.current()
    login.fails = True
    clock.now += 96
    assert (await source.current()).token == "t-1"
    assert login.runs == 2
    clock.now += 4
    with pytest.raises(PluginError, match="failed"):
        await source.current()
    login.fails = False
    clock.now += 10
    assert (await source.current()).token == "t-4"


async def test_a_credential_that_has_ended_already_is_a_failure() -> None:
    _, login, source = world(-1.0)
    for _ in range(10):
        with pytest.raises(PluginError, match="already ended"):
            await source.current()
    assert login.runs == 1


async def test_requests_that_are_refused_together_cause_one_run() -> None:
    clock, login, source = world()
    await source.current()
    clock.now += 1
    login.gate.clear()
    waiting = [asyncio.create_task(source.renew()) for _ in range(10)]
    await asyncio.sleep(0)
    login.gate.set()
    assert all(await asyncio.gather(*waiting))
    clock.now += 2
    assert await source.renew()  # a straggler, refused with the token before
    assert login.runs == 2
    assert (await source.current()).token == "t-2"


async def test_a_server_that_refuses_every_token_does_not_make_the_plugin_run_for_each_request() -> None:
    clock, login, source = world(None)
    began, runs_at = clock.now, []
    for _ in range(600):
        await source.current()
        before = login.runs
        await source.renew()
        if login.runs > before:
            runs_at.append(round(clock.now - began))
        clock.now += 0.5
    assert runs_at == [0, 5, 15, 35, 75, 135, 195, 255]


async def test_a_renewal_that_gives_the_same_token_is_none() -> None:
    clock = HandClock()

    async def same() -> Credential:
        return Credential("t")

    source = PluginSource(same, clock)
    await source.current()
    assert await source.renew() is False
    assert (await source.current()).token == "t"


async def test_a_failed_renewal_drops_the_refused_token() -> None:
    _, login, source = world()
    await source.current()
    login.fails = True
    assert await source.renew() is False
    with pytest.raises(PluginError, match="failed 2"):
        await source.current()


async def test_a_token_file_is_read_again_each_minute(tmp_path: Path) -> None:
    clock, file = HandClock(), tmp_path / "token"
    file.write_text("one\n")
    source = TokenFile(file, None, clock)
    assert (await source.current()).token == "one"
    file.write_text("two")
    clock.now += 59
    assert (await source.current()).token == "one"
    clock.now += 1
    assert (await source.current()).token == "two"
    file.unlink()
    clock.now += 60
    assert (await source.current()).token == "two"


async def test_a_refused_token_is_looked_for_in_the_file_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    source = TokenFile(file, None, HandClock())
    await source.current()
    assert await source.renew() is False
    file.write_text("two")
    assert await source.renew() is True
    assert (await source.current()).token == "two"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"a b", "holds spaces"),
        (b"\xff", "is not text"),
    ],
)
async def test_a_token_file_without_a_token_is_named(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(PrewarmError, match=said) as caught:
        await TokenFile(file, None, HandClock()).current()
    assert str(file) in str(caught.value)
    stands_in = TokenFile(file, "fixed", HandClock())
    assert (await stands_in.current()).token == "fixed"


async def test_a_fixed_credential_has_no_other() -> None:
    source = Fixed(Credential("t"))
    assert (await source.current()).token == "t"
    assert await source.renew() is False

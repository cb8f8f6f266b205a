"""Decisions, overrides, settings and model state: what is written is read back, and every change has its trace."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from prewarm.domain import Action, Decision, FunctionKey, Mode, Override, PolicyTag, Reason, decision_id
from prewarm.history import Retention
from prewarm.store import (
    Stamp,
    Store,
    add_decisions,
    audit_entries,
    documents,
    drop_document,
    end_expired,
    end_override,
    find_decision,
    find_model,
    latest_counts,
    mark_applied,
    overrides,
    page_decisions,
    put_document,
    put_model,
    put_override,
)

NOW = 1_780_000_000.0
ANA = Stamp("ana", NOW)
PIN = Override(FunctionKey("shop/cart"), None, Action.PIN, 3, "team-shop", "launch", NOW, NOW + 60)


def decision(second: int, function: str = "shop/cart") -> Decision:
    at = NOW + second
    return Decision(
        id=decision_id(at, function),
        at=at,
        function=FunctionKey(function),
        cluster="eu-1",
        from_count=1,
        to_count=2,
        applied=False,
        mode=Mode.SHADOW,
        policy=PolicyTag("prewarm", "1", rule_decided=True, why="worker died"),
        inputs={"lead_s": 3.1, "forecast": "01JDW", "data_age_s": None},
        reasons=(Reason("max", "bound not reached", 5.0), Reason("p_at_least_2", "needed with 22 %", 0.22, 0.112)),
        held="no data for 340 s; kept 1",
    )


async def test_a_decision_is_read_back_whole(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        written = decision(1)
        await store.submit(partial(add_decisions, decisions=[written]))
        assert await store.read(partial(find_decision, decision_id=written.id)) == written
        assert await store.read(partial(find_decision, decision_id="01")) is None


async def test_pages_run_from_newest_to_oldest_and_end(address: str) -> None:
    written = [decision(second, function) for second in range(5) for function in ("shop/cart", "shop/stock")]
    async with Store.open(address, Retention()) as store:
        await store.submit(partial(add_decisions, decisions=written))
        await store.submit(partial(add_decisions, decisions=[replace(written[0], to_count=9)]))
        seen: list[Decision] = []
        cursor: str | None = None
        while True:
            page = await store.read(partial(page_decisions, limit=3, cursor=cursor, function="shop/cart"))
            seen += page.decisions
            cursor = page.next
            if cursor is None:
                break
        assert seen == [one for one in reversed(written) if one.function == "shop/cart"]
        assert len((await store.read(partial(page_decisions, limit=100))).decisions) == 10


async def test_applied_is_noted_and_old_decisions_go(address: str) -> None:
    async with Store.open(address, Retention(decisions_days=1)) as store:
        old, new = decision(0), decision(86_400)
        await store.submit(partial(add_decisions, decisions=[old, new]))
        await store.submit(partial(mark_applied, ids=[new.id]))
        await store.maintain(NOW + 86_401)
        page = await store.read(partial(page_decisions, limit=10))
        assert page.decisions == (replace(new, applied=True),)


async def test_a_shorter_age_told_later_holds_from_the_next_maintenance_on(address: str) -> None:
    async with Store.open(address, Retention(decisions_days=30)) as store:
        await store.submit(partial(add_decisions, decisions=[decision(0)]))
        await store.maintain(NOW + 10 * 86_400)
        assert len((await store.read(partial(page_decisions, limit=10))).decisions) == 1
        store.keep_for(decisions_days=5, audit_days=5)
        await store.maintain(NOW + 10 * 86_400)
        assert (await store.read(partial(page_decisions, limit=10))).decisions == ()


async def test_what_only_a_placement_has_is_kept_with_it(address: str) -> None:
    detail = {"filtered": [{"cluster": "us-1", "filter": "residency", "reason": "region us not allowed"}]}
    placed = replace(decision(0), kind="placement", cluster=None, detail=detail)
    async with Store.open(address, Retention()) as store:
        await store.submit(partial(add_decisions, decisions=[placed]))
        assert (await store.read(partial(page_decisions, limit=10))).decisions == (placed,)


async def test_the_newest_decision_on_a_pool_says_how_large_it_is(address: str) -> None:
    cart = [replace(decision(second), cluster=None, to_count=second) for second in (1, 2, 3)]
    other = [
        replace(decision(9, "shop/web"), cluster=None, to_count=7),
        replace(decision(10, "shop/web"), cluster=None, kind="placement", to_count=1),
        decision(11, "shop/stock"),
    ]
    async with Store.open(address, Retention()) as store:
        await store.submit(partial(add_decisions, decisions=[*cart, *other]))
        assert await store.read(latest_counts) == {"shop/cart": 3, "shop/web": 7}


async def test_overrides_replace_end_expire_and_are_audited(address: str) -> None:
    everywhere, in_one = PIN, replace(PIN, cluster="eu-1", action=Action.FREEZE, value=None, expires_at=None)
    async with Store.open(address, Retention()) as store:
        for override in (everywhere, in_one, replace(everywhere, value=5)):
            await store.submit(partial(put_override, override=override, stamp=ANA))
        assert await store.read(overrides) == (replace(everywhere, value=5), in_one)
        assert await store.submit(partial(end_expired, now=NOW + 59)) == 0
        assert await store.submit(partial(end_expired, now=NOW + 60)) == 1
        assert await store.submit(partial(end_override, function="shop/cart", cluster="eu-1", stamp=ANA))
        assert not await store.submit(partial(end_override, function="shop/cart", cluster="eu-1", stamp=ANA))
        assert await store.read(overrides) == ()
        trail = await store.read(partial(audit_entries, limit=10))
    assert [(entry.actor, entry.name) for entry in reversed(trail)] == [
        ("ana", "shop/cart"),
        ("ana", "shop/cart@eu-1"),
        ("ana", "shop/cart"),
        ("expiry", "shop/cart"),
        ("ana", "shop/cart@eu-1"),
    ]
    assert trail[2].before is not None and trail[2].after is not None
    assert (trail[2].before["value"], trail[2].after["value"], trail[1].after) == (3, 5, None)


async def test_the_audit_is_paged_and_kept_for_its_days(address: str) -> None:
    async with Store.open(address, Retention(audit_days=1)) as store:
        for day in range(3):
            stamp = Stamp("ana", NOW + day * 86_400)
            await store.submit(partial(put_document, kind="mode", name="fleet", body={"day": day}, stamp=stamp))
        newest = (await store.read(partial(audit_entries, limit=1)))[0]
        rest = await store.read(partial(audit_entries, limit=9, cursor=newest.id, name="fleet"))
        assert [entry.after for entry in rest] == [{"day": 1}, {"day": 0}]
        await store.maintain(NOW + 2 * 86_400)
        assert [entry.after for entry in await store.read(partial(audit_entries, limit=9))] == [{"day": 2}, {"day": 1}]


@pytest.mark.parametrize("kind", ["policy", "mode", "graph"])
async def test_documents_are_kept_by_kind_and_name(address: str, kind: str) -> None:
    async with Store.open(address, Retention()) as store:
        put = partial(put_document, kind=kind, name="shop/ä", body={"max": 5, "windows": [1]}, stamp=ANA)
        await store.submit(put)
        await store.submit(put)
        assert await store.read(partial(documents, kind=kind)) == {"shop/ä": {"max": 5, "windows": [1]}}
        assert await store.read(partial(documents, kind="other")) == {}
        assert await store.submit(partial(drop_document, kind=kind, name="shop/ä", stamp=ANA))
        assert not await store.submit(partial(drop_document, kind=kind, name="shop/ä", stamp=ANA))
        assert await store.read(partial(documents, kind=kind)) == {}


async def test_a_model_finds_its_state_again(address: str) -> None:
    async with Store.open(address, Retention()) as store:
        assert await store.read(partial(find_model, name="selector")) is None
        for version in ("1", "2"):
            await store.submit(partial(put_model, name="selector", version=version, payload=b"\x00\xff", at=NOW))
        assert await store.read(partial(find_model, name="selector")) == ("2", b"\x00\xff")

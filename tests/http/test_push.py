"""Pushed counts: taken once, rejected by event, visible at once, safe after a restart."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from prewarm.domain import rfc3339
from tests.service import NOW, running_desk, running_service


async def test_the_same_pair_again_changes_nothing_and_answers_the_same(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        first = await service.push({"shop/checkout": 12}, 1)
        again = await service.push({"shop/checkout": 99, "shop/other": 1}, 1)
        assert first == again == {"accepted": 1, "rejected": []}
        assert list(service.desk.fleet.keys) == ["shop/checkout"]
        assert service.desk.fleet.history.dense(_rows(0), int(NOW // 60), minutes=1)[0, 0] == 12


async def test_another_source_may_use_the_same_sequence(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.push({"shop/checkout": 12}, 1)
        await service.push({"shop/checkout": 3}, 1, source="gateway-b")
        assert service.desk.fleet.history.dense(_rows(0), int(NOW // 60), minutes=1)[0, 0] == 15


async def test_events_that_are_too_late_or_too_early_are_rejected_by_their_index(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        ats = [NOW - 60, NOW - 3600, NOW + 3600]
        events = [{"function": "shop/a", "at": rfc3339(at), "window_s": 60, "count": 1} for at in ats]
        body = {"source": "g", "sequence": 1, "events": events}
        answer = await service.client.post("/v1/invocations", json=body)
        said = await answer.json()
        assert said["accepted"] == 1
        assert said["rejected"][0] == {"index": 1, "reason": "older than retention.late_s (900)"}
        assert said["rejected"][1]["index"] == 2
        assert "ahead of our clock" in said["rejected"][1]["reason"]


async def test_a_count_that_is_not_known_is_never_zero(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        event = {"function": "shop/a", "at": rfc3339(NOW - 60), "count": None}
        await service.client.post("/v1/invocations", json={"source": "g", "sequence": 1, "events": [event]})
        await service.tick()
        row = (await (await service.client.get("/v1/functions")).json())["functions"][0]
        assert row["data"] == "partial"


async def test_a_faulty_event_is_named_and_nothing_of_its_batch_is_taken(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        good = {"function": "shop/a", "at": rfc3339(NOW - 60), "count": 1}
        body = {"source": "g", "sequence": 1, "events": [good, good, good, {**good, "count": -2}]}
        answer = await service.client.post("/v1/invocations", json=body)
        assert answer.status == 400
        assert await answer.json() == {
            "type": "about:blank",
            "title": "Invalid request",
            "status": 400,
            "detail": "events[3].count: must be 0 or more, is -2",
            "instance": "/v1/invocations",
        }
        assert not service.desk.fleet.keys


async def test_counts_answers_and_what_people_said_survive_a_restart(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        first = await service.push({"shop/checkout": 12}, 1)
        pin = {"action": "pin", "value": 3, "owner": "team", "reason": "launch", "expires_at": None}
        assert (await service.client.put("/v1/overrides/shop%2Fcheckout", json=pin)).status == 200
        assert (await service.client.put("/v1/mode", json={"default": "active"})).status == 200
        await service.tick()
        made = (await (await service.client.get("/v1/decisions")).json())["decisions"]
        assert [(one["function"], one["from"], one["to"]) for one in made] == [("shop/checkout", 0, 3)]
    async with running_service(tmp_path) as service:
        assert await service.push({"shop/checkout": 50}, 1) == first
        assert service.desk.fleet.history.dense(_rows(0), int(NOW // 60), minutes=1)[0, 0] == 12
        held = (await (await service.client.get("/v1/overrides")).json())["overrides"]
        assert [(one["function"], one["action"], one["value"]) for one in held] == [("shop/checkout", "pin", 3)]
        assert (await (await service.client.get("/v1/mode")).json())["default"] == "active"
        found = await (await service.client.get(f"/v1/decisions/{made[0]['id']}")).json()
        assert found == made[0]


async def test_an_acknowledged_push_is_on_disk_without_a_stop(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.push({"shop/checkout": 12}, 1)
        async with running_desk(tmp_path) as (second, _):
            assert list(second.fleet.keys) == ["shop/checkout"]


async def test_after_a_restart_the_silence_of_one_source_is_not_spoken_for_by_another(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.push({"shop/checkout": 9}, 1, source="left")
        await service.push({"pay/charge": 9}, 1, source="right")
    async with running_service(tmp_path) as service:
        service.clock.time += 60
        await service.push({"pay/charge": 9}, 2, source="right")
        found = service.desk.fleet.history.dense(_rows(0), int(service.clock.time // 60), minutes=1)
        assert np.isnan(found[0, 0])


async def test_after_a_restart_a_pool_without_news_is_held_where_it_was(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.minute({"shop/checkout": 200, "pay/charge": 1}, 1)
        before = (await (await service.client.get("/v1/functions/shop%2Fcheckout/decision")).json())["to"]
        assert before > 1
    async with running_service(tmp_path) as service:
        service.clock.time += 600
        await service.tick()
        made = await (await service.client.get("/v1/functions/shop%2Fcheckout/decision")).json()
        assert (made["from"], made["to"]) == (before, before)
        assert made["held"].startswith("no data for")


async def test_absurd_figures_neither_overflow_nor_stop_the_ticks(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.client.put("/v1/functions/shop%2Ftiny/policy", json={"utilisation": 0.01})
        for sequence in range(2):
            service.clock.time += 60
            event = {"at": rfc3339(service.clock.time - 60), "count": 1_000_000_000, "duration_ms_mean": 1e12}
            events = [{"function": key, **event} for key in ("shop/huge", "shop/tiny")]
            body = {"source": "g", "sequence": sequence, "events": events}
            assert (await service.client.post("/v1/invocations", json=body)).status == 202
            await service.desk.ticks.tick(service.clock.time)
        totals = (await (await service.client.get("/v1/overview")).json())["totals"]
        assert totals["needed"] == 2_000_000
        for key in ("huge", "tiny"):
            assert (await service.client.get(f"/v1/functions/shop%2F{key}/forecast?steps=2")).status == 200


def _rows(row: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array([row], dtype=np.int32)

"""Lists in pages, forecasts with their fallback, what the page reads."""

from __future__ import annotations

from pathlib import Path

from tests.service import AbsentPool, running_service

FORECAST = "/v1/functions/shop%2Fcheckout/forecast"


async def test_functions_come_in_pages_and_by_search(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.push({f"shop/f{i}": 1 for i in range(5)} | {"pay/charge": 1}, 1)
        await service.tick()
        seen, cursor = list[str](), None
        while True:
            query = {"limit": "2"} | ({} if cursor is None else {"cursor": cursor})
            page = await (await service.client.get("/v1/functions", params=query)).json()
            seen += [row["key"] for row in page["functions"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert seen == ["pay/charge", *(f"shop/f{i}" for i in range(5))]
        found = await (await service.client.get("/v1/functions?search=PAY")).json()
        assert [row["key"] for row in found["functions"]] == ["pay/charge"]


async def test_a_function_is_listed_before_its_first_tick(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.push({"shop/checkout": 1}, 1)
        row = (await (await service.client.get("/v1/functions")).json())["functions"][0]
        assert (row["key"], row["data"], row["model"]) == ("shop/checkout", "ok", "none")
        assert service.desk.ticks.wake.is_set()


async def test_decisions_come_newest_first_in_pages(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        for sequence in range(3):
            await service.push({"shop/checkout": sequence % 2, "pay/charge": 1}, sequence)
            await service.tick()
        first = await (await service.client.get("/v1/decisions?limit=1")).json()
        rest = await (await service.client.get("/v1/decisions", params={"cursor": first["next"]})).json()
        ids = [one["id"] for one in first["decisions"] + rest["decisions"]]
        assert ids == sorted(ids, reverse=True)
        assert len(ids) == len(set(ids)) >= 2
        mine = await (await service.client.get("/v1/decisions?function=pay/charge")).json()
        assert {one["function"] for one in mine["decisions"]} == {"pay/charge"}


async def test_a_decision_that_changed_nothing_is_explained_until_the_next_tick(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        for sequence in range(2):
            await service.push({"shop/checkout": 1}, sequence)
            await service.tick()
        made = await (await service.client.get("/v1/functions/shop%2Fcheckout/decision")).json()
        assert made["from"] == made["to"] == 1
        assert made["policy"]["rule_decided"] is True
        assert made["policy"]["why"] == "the worker process died"
        assert made["inputs"]["cost_idle_per_min"] > 0
        assert await (await service.client.get(f"/v1/decisions/{made['id']}")).json() == made
        gone = await service.client.get("/v1/decisions/01M8P2XRR0R134J4BVWEWT9N2Y")
        assert gone.status == 404


async def test_a_forecast_is_a_distribution_and_is_written_once_a_tick(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        for sequence in range(4):
            await service.push({"shop/checkout": 70}, sequence)
            await service.tick()
        said = await (await service.client.get(f"{FORECAST}?steps=3")).json()
        assert said["step_s"] == 60
        assert len(said["steps"]) == 3
        for step in said["steps"]:
            quantiles = list(step["quantiles"].values())
            assert quantiles == sorted(quantiles)
            chances = list(step["p_at_least"].values())
            assert chances == sorted(chances, reverse=True)
        view = service.desk.fleet.view
        assert view is not None
        assert list(view.bodies) == [f"{FORECAST}?steps=3"]
        await service.tick()
        assert service.desk.fleet.view is not None
        assert not service.desk.fleet.view.bodies


async def test_without_its_worker_the_tick_itself_forecasts_and_says_so(tmp_path: Path) -> None:
    async with running_service(tmp_path, fits=AbsentPool()) as service:
        await service.push({"shop/checkout": 70}, 1)
        await service.tick()
        said = await (await service.client.get(f"{FORECAST}?steps=2")).json()
        assert said["model"] == "rule"
        assert said["reason"].endswith("the worker process died")
        assert said["steps"][0]["p_at_least"] == {"1": 1.0, "2": 1.0, "3": 0.0, "4": 0.0}
        body = {"series": [{"id": "a", "values": [1.0]}]}
        refused = await service.client.post("/v1/forecasts", json=body)
        assert (refused.status, refused.headers["Retry-After"]) == (503, "2")


async def test_several_series_are_answered_in_order(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        series = [{"id": name, "values": [1, 0, 2]} for name in ("b", "a")]
        said = await (await service.client.post("/v1/forecasts", json={"series": series, "steps": 2})).json()
        assert [one["function"] for one in said["forecasts"]] == ["b", "a"]
        assert "function" not in said


async def test_the_overview_adds_up(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        assert (await service.client.get("/v1/overview")).status == 503
        for sequence in range(3):
            await service.minute({"shop/checkout": 70, "pay/charge": 1}, sequence)
        await service.tick()
        said = await (await service.client.get("/v1/overview")).json()
        assert said["service"]["simulated"] is False
        assert said["totals"]["functions"] == 2
        assert said["totals"]["data"] == {"ok": 2, "partial": 0, "stale": 0, "none": 0}
        assert said["minutes"]["need"][-2:] == [3, None]
        assert said["totals"]["needed"] is None
        assert said["totals"]["cold"] == sum(said["minutes"]["cold"])
        past = await (await service.client.get("/v1/functions/shop%2Fcheckout/history")).json()
        assert past["minutes"]["need"][-3:] == [2, None, None]
        assert past["minutes"]["warm"][-1] == 2


async def test_health_and_metrics(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        assert (await service.client.get("/healthz")).status == 200
        assert (await service.client.get("/readyz")).status == 503
        await service.push({"shop/checkout": 1}, 1)
        await service.tick()
        assert (await service.client.get("/readyz")).status == 200
        text = await (await service.client.get("/metrics")).text()
        assert 'prewarm_decisions_total{change="up"} 1.0' in text
        assert 'prewarm_decided_total{by="rule"} 1.0' in text
        assert 'prewarm_events_total{result="accepted"} 1.0' in text
        assert 'prewarm_http_request_seconds_count{route="POST /v1/invocations",status="202"} 1.0' in text
        service.clock.time += 3600
        late = await service.client.get("/readyz")
        assert "the last tick was 3600 s ago" in (await late.json())["detail"]

"""Questions of placement through the API: what is answered, what is written, what is kept."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from federation.api.models import PlacementAnswer
from federation.apply.rollout.carry import Carrier
from federation.apply.state.objects import Ref
from federation.members.api import RefusedError
from prewarm.domain import Mode
from prewarm.http.models import DecisionAnswer
from tests.federation.apply.made import Says
from tests.federation.desk.ground import Ground, Standing, form, manifest, standing, where
from tests.federation.fakeapi import until
from tests.service import HandClock


async def test_a_question_is_a_dry_run_by_default_and_writes_nothing(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        answer = await at.call("POST", "/v1/placements", {"manifest": manifest(replicas=6)})
        assert (answer["dry_run"], answer["became"], answer["unplaced"]) == (True, "dry_run", 0)
        assert answer["reserved_until"] is None
        assert sum(where(answer).values()) == 6
        assert sum(one["weight"] for one in answer["placements"]) == pytest.approx(1.0, abs=1e-5)
        assert ground.writes() == 0
        assert (await at.call("GET", "/v1/placements"))["placements"] == []
        assert (await at.decision(answer["decision"]))["applied"] is False


async def test_what_fits_nowhere_is_answered_with_the_reason_of_every_filter(tmp_path: Path) -> None:
    ground = Ground({"ap": 20, "eu": 10, "us": 20}, HandClock(), {"ap": "ap", "eu": "eu", "us": "us"})
    ground.darken("us")
    async with standing(tmp_path, ground) as at:
        asked = form(replicas=3, affinity={"regions": ["eu", "us"]}) | {"requests": {"cpu": "11", "memory": "64Mi"}}
        answer = await at.call("POST", "/v1/placements", {"workload": asked})
        assert (answer["unplaced"], answer["placements"]) == (3, [])
        reasons = {one["cluster"]: (one["filter"], one["reason"]) for one in answer["filtered"]}
        assert set(reasons) == {"ap", "eu", "us"}
        assert "cpu" in reasons["eu"][1]
        kept = await at.decision(answer["decision"])
        assert kept["filtered"] == answer["filtered"]
        assert (kept["unplaced"], kept["to"]) == (3, 0)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"workload": form(), "manifest": manifest()}, "one of workload and manifest must be given, and not both"),
        ({"dry_run": True}, "one of workload and manifest must be given"),
        ({"workload": form(), "cluster": "eu"}, "cluster: unknown field"),
        ({"workload": form(colour="red")}, "workload.colour: unknown field"),
        ({"workload": form(spread={"most": 2})}, "workload.spread.most: unknown field"),
        ({"workload": form(replicas=-1)}, "workload.replicas: "),
        ({"workload": form(key="checkout")}, "workload.key: "),
        ({"workload": {**form(), "requests": {"cpu": "one"}}}, "workload.requests.cpu"),
        ({"workload": form(), "deadline_ms": 0}, "deadline_ms: "),
        ({"workload": form(), "dry_run": "no"}, "dry_run: "),
        ({"manifest": {"kind": "Pod"}}, "manifest"),
        ({"manifest": {**manifest(), "kind": "DaemonSet"}}, "manifest"),
    ],
)
async def test_a_faulty_question_is_refused_naming_the_field(
    tmp_path: Path, ground: Ground, body: dict[str, Any], told: str
) -> None:
    async with standing(tmp_path, ground) as at:
        problem = await at.call("POST", "/v1/placements", body, status=400)
        assert told in problem["detail"], problem


@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.PAUSED])
async def test_the_mode_turns_a_real_request_into_a_dry_run_and_says_so(
    tmp_path: Path, ground: Ground, mode: Mode
) -> None:
    async with standing(tmp_path, ground, mode=mode) as at:
        answer = await at.place(manifest())
        assert (answer["dry_run"], answer["became"]) == (True, "dry_run")
        assert answer["why"] == f"the mode of shop/checkout is {mode}"
        assert (await at.decision(answer["decision"]))["mode"] == mode
        assert ground.writes() == 0


async def test_in_active_mode_it_is_carried_out_kept_and_told(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        answer = await at.place(manifest(replicas=25))
        assert (answer["became"], answer["dry_run"], answer["unplaced"]) == ("carried_out", False, 0)
        assert ground.replicas() == where(answer)
        assert sum(ground.replicas().values()) == 25
        assert answer["reserved_until"] is not None
        (row,) = (await at.call("GET", "/v1/placements"))["placements"]
        assert (row["key"], row["kind"], row["replicas"]) == ("shop/checkout", "deployment", 25)
        assert row["clusters"] == row["ready"] == where(answer)
        assert row["decision"] == answer["decision"]
        kept = await at.decision(answer["decision"])
        assert (kept["kind"], kept["applied"], kept["from"], kept["to"]) == ("placement", True, 0, 25)


async def test_contributions_of_a_kept_decision_sum_to_its_scores(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        asked = form(replicas=3, callers=[{"region": "eu", "calls_per_s": 14.0}])
        answer = await at.call("POST", "/v1/placements", {"workload": asked})
        kept = await at.decision(answer["decision"])
        assert [one["cluster"] for one in kept["scores"]] != []
        for one in kept["scores"]:
            assert sum(part["contribution"] for part in one["factors"]) == pytest.approx(one["score"], abs=1e-6)
            for part in one["factors"]:
                assert part["value"] * part["weight"] == pytest.approx(part["contribution"], abs=1e-6)
        assert kept["runner_up"] == kept["scores"][1]["cluster"]
        assert kept["margin"] == pytest.approx(kept["scores"][0]["score"] - kept["scores"][1]["score"], abs=1e-6)
        assert set(kept["ages_s"]) == {"eu", "us"}
        listed = (await at.call("GET", "/v1/decisions?function=shop%2Fcheckout"))["decisions"]
        assert listed == [kept]


@pytest.mark.parametrize("dry_run", [True, False])
async def test_what_is_written_without_models_is_what_the_models_describe(
    tmp_path: Path, ground: Ground, dry_run: bool
) -> None:
    async with standing(tmp_path, ground) as at:
        asked = form(replicas=30, affinity={"regions": ["eu"]})
        answer = await at.call("POST", "/v1/placements", {"workload": asked, "dry_run": dry_run})
        read = PlacementAnswer.model_validate_json(orjson.dumps(answer), strict=True)
        assert not read.model_extra, "every field is described"
        assert read.model_dump(mode="json") == answer
        assert answer["filtered"] == [{"cluster": "us", "filter": "region", "reason": "region us not allowed (eu)"}]
        kept = await at.decision(answer["decision"])
        assert DecisionAnswer.model_validate_json(orjson.dumps(kept), strict=True).id == answer["decision"]


async def test_reserved_room_is_seen_by_the_next_request(tmp_path: Path) -> None:
    ground = Ground({"eu": 1}, HandClock())
    async with standing(tmp_path, ground) as at:
        first = await at.place(form("shop/a"))
        assert (first["became"], first["unplaced"]) == ("reserved", 0)
        assert (await at.place(form("shop/b")))["unplaced"] == 1
        (shown,) = (await at.call("GET", "/v1/clusters"))["clusters"]
        assert (shown["in_flight"]["cpu"], shown["in_flight"]["pods"]) == (1.0, 1)
        ground.clock.time += 91.0
        assert (await at.place(form("shop/b")))["unplaced"] == 0


async def test_requests_that_come_together_never_share_one_slot(tmp_path: Path) -> None:
    ground = Ground({"eu": 3}, HandClock())
    async with standing(tmp_path, ground) as at:
        answers = await asyncio.gather(*(at.place(manifest(f"w{number}", 1)) for number in range(8)))
        assert sorted(one["unplaced"] for one in answers) == [0, 0, 0, 1, 1, 1, 1, 1]
        placed = [name for name in range(8) if ground.replicas(f"w{name}")]
        assert len(placed) == 3


async def test_a_refused_write_gives_its_room_back_and_says_who_refused(tmp_path: Path) -> None:
    ground = Ground({"eu": 1}, HandClock())

    def refuse(call: Any) -> None:
        if call.method == "PATCH":
            raise RefusedError("eu", 403, reason="Forbidden", message="no rights in shop")

    ground.apis["eu"].fault = refuse
    async with standing(tmp_path, ground) as at:
        answer = await at.place(manifest(replicas=1))
        assert answer["became"] in ("refused", "undone")
        assert "eu" in answer["why"]
        assert "no rights in shop" in answer["why"]
        assert (await at.decision(answer["decision"]))["applied"] is False
        assert (await at.call("GET", "/v1/placements"))["placements"] == []
        assert (await at.place(form("shop/other")))["unplaced"] == 0


class Waits(Says):
    """Instances are ready once somebody says so."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def wait_ready(self, member: str, ref: Ref, replicas: int) -> str | None:
        await self.go.wait()
        return await super().wait_ready(member, ref, replicas)


async def slow(at: Standing) -> Waits:
    """Have the rollouts of this desk wait."""
    assert at.desk.carrier is not None
    waits = Waits()
    at.desk.carrier = Carrier(replace(at.desk.carrier._means, observer=waits))
    return waits


async def test_past_its_deadline_it_goes_on_and_is_recorded_later(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        waits = await slow(at)
        answer = await at.place(manifest(), deadline_ms=50)
        assert answer["became"] == "under_way"
        assert answer["why"] == "still under way after 50 ms"
        assert (await at.decision(answer["decision"]))["applied"] is False
        again = await at.place(manifest(replicas=9), status=409)
        assert again["detail"] == "another placement of shop/checkout is under way"
        waits.go.set()
        await until(lambda: not at.desk.under_way)
        assert (await at.decision(answer["decision"]))["applied"] is True
        assert ground.replicas() == where(answer)
        assert [row["key"] for row in (await at.call("GET", "/v1/placements"))["placements"]] == ["shop/checkout"]


async def test_an_end_takes_away_what_was_made_and_nothing_else(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        await at.place(manifest("stock", 2))
        await at.place(manifest(replicas=25))
        ended = await at.call("DELETE", "/v1/placements/shop%2Fcheckout")
        assert (ended["became"], ended["why"], ended["kept"]) == ("carried_out", None, [])
        assert len(ended["removed"]) == 2
        assert ground.replicas() == {}
        assert sum(ground.replicas("stock").values()) == 2
        assert [row["key"] for row in (await at.call("GET", "/v1/placements"))["placements"]] == ["shop/stock"]
        assert at.desk.placer.book.own("shop/checkout") == ()
        await at.call("DELETE", "/v1/placements/shop%2Fcheckout", status=404)


async def test_in_shadow_nothing_is_taken_away(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        await at.place(manifest())
        await at.mode("shadow")
        problem = await at.call("DELETE", "/v1/placements/shop%2Fcheckout", status=409)
        assert problem["detail"] == "nothing is taken away: the mode of shop/checkout is shadow"
        assert sum(ground.replicas().values()) == 4


async def test_a_promise_that_nothing_was_made_of_can_be_ended(tmp_path: Path) -> None:
    ground = Ground({"eu": 1}, HandClock())
    async with standing(tmp_path, ground, writes=False) as at:
        answer = await at.place(manifest(replicas=1))
        assert (answer["became"], answer["why"]) == ("reserved", "this fleet is simulated")
        assert (await at.place(form("shop/b")))["unplaced"] == 1
        assert (await at.call("DELETE", "/v1/placements/shop%2Fcheckout"))["became"] == "released"
        assert (await at.place(form("shop/b")))["unplaced"] == 0
        await at.call("DELETE", "/v1/placements/shop%2Fcheckout", status=404)


async def test_the_list_goes_on_where_a_page_ended(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        for number in range(5):
            await at.place(manifest(f"w{number}", 1))
        first = await at.call("GET", "/v1/placements?limit=3")
        assert [row["key"] for row in first["placements"]] == ["shop/w0", "shop/w1", "shop/w2"]
        rest = await at.call("GET", f"/v1/placements?limit=3&cursor={first['next'].replace('/', '%2F')}")
        assert [row["key"] for row in rest["placements"]] == ["shop/w3", "shop/w4"]
        assert rest["next"] is None


async def test_decisions_on_placements_are_forgotten_after_their_time(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        answer = await at.call("POST", "/v1/placements", {"workload": form()})
        at.service.keeper.keep_for(decisions_days=2, audit_days=2)
        await at.service.keeper.maintain(at.clock.now() + 86_400.0)
        assert (await at.decision(answer["decision"]))["kind"] == "placement"
        await at.service.keeper.maintain(at.clock.now() + 3 * 86_400.0)
        await at.decision(answer["decision"], status=404)

"""The scorer as a part of the service: told over HTTP, set by people with an audit entry, kept over a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from federation.desk.learned import Allowed
from gnn.guard.asked import row_names
from gnn.guard.book import LAG_S
from gnn.guard.detector import Detector
from gnn.guard.fit import Fit, Stream, fit
from gnn.guard.guarded import Guarded
from gnn.guard.serving import Served
from gnn.guard.trial import Standing
from gnn.scorer import LearnedScorer
from prewarm.settings import PlacementPolicy
from tests.federation.desk.ground import Ground, form, standing
from tests.federation.desk.ground import Standing as Service
from tests.gnn.questions import some_student
from tests.service import HandClock


@pytest.fixture
def ground() -> Ground:
    """Ten cores in eu, twenty in us."""
    return Ground({"eu": 10, "us": 20}, HandClock(), {"eu": "eu", "us": "us"})


def anything_goes() -> Detector:
    """A detector that was shown every kind of row of the right width."""
    rng = np.random.default_rng(0)
    streams = [
        Stream(np.arange(3.0), rng.uniform(-50.0, 50.0, (3, len(row_names()))), np.zeros((3, 1))) for _ in range(30)
    ]
    return fit(streams, rng, Fit(rate=0.05))


@asynccontextmanager
async def served(
    folder: Path, ground: Ground, *, version: str = "7", mode: Any = "shadow"
) -> AsyncIterator[tuple[Service, Served, CollectorRegistry]]:
    """A desk with a scorer over drawn weights."""
    async with standing(folder, ground) as at:
        registry = CollectorRegistry()
        scorer = LearnedScorer(some_student(), version, lambda: 0.0)
        guard = Guarded(scorer, anything_goes(), PlacementPolicy, allowed=Allowed(mode))
        one = Served(guard, at.store, registry)
        await one.recall()
        at.desk.scorer = one
        yield at, one, registry


async def test_a_desk_without_a_scorer_says_that_the_rule_decides(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        told = await at.call("GET", "/v1/scorer")
        assert (told["name"], told["allowed"]["mode"], told["guard"]["state"]) == (None, "off", "none")
        body = {"mode": "promote", "owner": "ops", "reason": "try it"}
        problem = await at.call("PUT", "/v1/scorer", body, status=409)
        assert problem["detail"].startswith("no learned scorer is installed")


async def test_a_decision_in_shadow_is_told_and_counted(tmp_path: Path, ground: Ground) -> None:
    async with served(tmp_path, ground) as (at, _, registry):
        made = await at.place(form(replicas=3), dry_run=True)
        assert (made["rule_decided"], made["why"]) == (True, "shadow: compared only; the learned share of shop is 0")
        told = await at.call("GET", "/v1/scorer")
        assert (told["name"], told["version"], told["form"], told["deadline_ms"]) == ("learned", "7", "weights", 10.0)
        assert told["decisions"] == {"used": 0, "shadowed": 1, "declined": {}}
        assert told["guard"]["state"] == "calm"
        assert 0 <= told["guard"]["level"] < 1
        assert " of its limit (" in told["guard"]["outstanding"]
        assert told["took_ms"] == {"p50": 0.0, "p99": 0.0}
        assert b'prewarm_scorer_decisions_total{became="shadowed",why=""} 1.0' in generate_latest(registry)


async def test_one_that_has_earned_it_decides_and_the_record_names_it(tmp_path: Path, ground: Ground) -> None:
    async with served(tmp_path, ground, mode="promote") as (at, one, _):
        one.guarded.book.standings["shop"] = Standing(3)
        made = await at.place(form(replicas=3), dry_run=True)
        assert (made["rule_decided"], made["why"]) == (False, None)
        record = await at.decision(made["decision"])
        assert record["policy"]["name"] == "learned"
        assert record["policy"]["version"] == "7"
        for score in record["scores"]:
            assert sum(f["contribution"] for f in score["factors"]) == pytest.approx(score["score"], abs=1e-6)


async def test_people_set_how_far_it_may_go_with_an_audit_entry(tmp_path: Path, ground: Ground) -> None:
    async with served(tmp_path, ground) as (at, _, _):
        body = {"mode": "promote", "share": 0.5, "namespaces": {"shop": 0.1}, "owner": "ops", "reason": "canary"}
        told = await at.call("PUT", "/v1/scorer", body)
        assert told["allowed"] == {"mode": "promote", "share": 0.5, "namespaces": {"shop": 0.1}}
        entry = (await at.call("GET", "/v1/audit"))["audit"][0]
        assert (entry["what"], entry["actor"], entry["after"]["mode"]) == ("scorer-limits", "ops: canary", "promote")
        for wrong, status in (({"what": 1}, 400), ({"mode": "always"}, 400), ({"share": 2}, 422), ({"owner": ""}, 400)):
            await at.call("PUT", "/v1/scorer", {**body, **wrong}, status=status)
        assert (await at.call("GET", "/v1/scorer"))["allowed"] == told["allowed"]


async def test_a_share_that_was_earned_outlives_a_restart_and_is_audited(tmp_path: Path, ground: Ground) -> None:
    async with served(tmp_path, ground, mode="promote") as (at, one, _):
        one.guarded.book.standings["shop"] = Standing(1, 2, 5.0, "earned", 6)
        one.guarded.book.unkept.add("shop")
        await one.round(at.ground.snapshot(at.clock.now()), at.clock.now())
        entry = (await at.call("GET", "/v1/audit"))["audit"][0]
        assert (entry["what"], entry["name"], entry["actor"], entry["after"]["share"]) == (
            "scorer",
            "shop",
            "guard",
            0.1,
        )
        one.guarded.book.unkept.add("shop")  # a window that changed nothing is no news
        await one.round(at.ground.snapshot(at.clock.now()), at.clock.now())
        assert (await at.call("GET", "/v1/audit"))["audit"][0]["id"] == entry["id"]
    async with served(tmp_path, ground, mode="promote") as (at, one, _):
        assert one.guarded.book.standing("shop") == Standing(1, 2, 5.0, "earned", 6)
        assert one.guarded.share_of("shop") == 0.1


async def test_other_weights_begin_anew(tmp_path: Path, ground: Ground) -> None:
    async with served(tmp_path, ground, mode="promote") as (at, one, _):
        one.guarded.book.standings["shop"] = Standing(3, 0, 5.0, "earned", 9)
        one.guarded.book.unkept.add("shop")
        await one.round(at.ground.snapshot(at.clock.now()), at.clock.now())
    async with served(tmp_path, ground, mode="promote", version="8") as (at, one, _):
        assert one.guarded.share_of("shop") == 0.0
        await one.round(at.ground.snapshot(at.clock.now()), at.clock.now())
        entry = (await at.call("GET", "/v1/audit"))["audit"][0]
        assert (entry["before"]["share"], entry["after"]["share"]) == (1.0, 0.0)


async def test_an_alarm_outlives_a_restart(tmp_path: Path, ground: Ground) -> None:
    async with served(tmp_path, ground, mode="promote") as (at, one, registry):
        one.guarded.look_out(np.full(len(one.guarded._names), np.nan), at.clock.now())
        await one.round(at.ground.snapshot(at.clock.now()), at.clock.now())
        assert b"prewarm_scorer_alarm 1.0" in generate_latest(registry)
    async with served(tmp_path, ground, mode="promote") as (at, one, _):
        told = (await at.call("GET", "/v1/scorer"))["guard"]
        assert (told["state"], told["level"]) == ("alarm", None)
        assert told["why"].startswith("out of distribution: a value that is not finite")
        made = await at.place(form(replicas=3), dry_run=True)
        assert made["why"].startswith("out of distribution until all is calm for 600 s")


async def test_pairs_are_priced_and_shown(tmp_path: Path, ground: Ground) -> None:
    async with served(tmp_path, ground) as (at, one, _):
        for number in range(25):
            await at.place(form(f"shop/w{number}"), dry_run=True)
        at.clock.time += LAG_S
        await one.round(at.ground.snapshot(at.clock.now()), at.clock.now())
        row = (await at.call("GET", "/v1/scorer"))["namespaces"][0]
        assert (row["namespace"], row["share"], row["open_pairs"], row["last"]) == ("shop", 0.0, 25, None)
        at.clock.time += one.guarded.book.terms.window_s
        await one.round(at.ground.snapshot(at.clock.now()), at.clock.now())
        row = (await at.call("GET", "/v1/scorer"))["namespaces"][0]
        assert (row["windows"], row["open_pairs"], row["last"]["pairs"]) == (1, 0, 25)
        assert row["last"]["low"] <= row["last"]["mean"] <= row["last"]["high"]

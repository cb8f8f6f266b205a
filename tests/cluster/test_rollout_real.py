"""Rollouts over real clusters: pods that start, clusters that fall silent, and a database that remembers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from federation.apply.around.unplace import ending_of, rollout_to_end
from federation.apply.ready import StatusObserver
from federation.apply.rollout.carry import Carrier
from federation.apply.rollout.journal import StoreJournal
from federation.apply.rollout.means import Limits, Means
from federation.apply.rollout.work import Report, Rollout, Verdict, works_of
from federation.apply.writer import RehearsalWriter, ServerWriter, writers_of
from federation.members.client import ClientOptions
from federation.members.fleet import Members
from prewarm.history import Retention
from prewarm.store import Store
from tests.cluster.reaching import members_of
from tests.cluster.real.cluster import wait_for
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import deployment

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

NOW = 1_700_000_000.0
LIMITS = Limits(member_s=3.0, ready_s=30.0)


@dataclass
class Hand:
    """A carrier over the fleet's members, with its database."""

    members: Members
    store: Store
    carrier: Carrier
    namespace: str

    async def place(
        self, name: str, after: Mapping[str, int], before: Mapping[str, int], *, cpu: str = "100m"
    ) -> Report:
        body = deployment(f"{self.namespace}/checkout", sum(after.values()), requests={"cpu": cpu})
        works = works_of(body, after, before, beside={})
        return await self.carrier.carry_out(Rollout(name, f"{self.namespace}/checkout", works), now=NOW)


@asynccontextmanager
async def hand(fleet: Fleet, namespace: str, folder: Path, limits: Limits = LIMITS) -> AsyncIterator[Hand]:
    store = await asyncio.to_thread(Store.open, f"sqlite:///{folder}/state.db", Retention())
    async with store, members_of(fleet.kubeconfig(), ClientOptions(deadline_s=2.0)) as members:
        writers = writers_of(lambda: members.clients)
        means = Means(writers, StoreJournal(store), StatusObserver(writers, 0.1), limits)
        yield Hand(members, store, Carrier(means), namespace)


async def settled(carrier: Carrier) -> list[Verdict]:
    """What came of the journal once nothing in it was unfinished: a server that just woke up may be slow at first."""
    async with asyncio.timeout(30.0):
        while True:
            reports = await carrier.resume()
            if all(report.verdict is not Verdict.UNFINISHED for report in reports):
                return [report.verdict for report in reports]
            await asyncio.sleep(0.2)


def replicas(fleet: Fleet, namespace: str) -> dict[str, tuple[int, int]]:
    """Wanted and ready instances by cluster, as kubectl's own way sees them."""
    found: dict[str, tuple[int, int]] = {}
    for name in ("ap", "eu", "us"):
        items: list[dict[str, Any]] = fleet[name].admin.call(
            "GET", f"/apis/apps/v1/namespaces/{namespace}/deployments"
        )["items"]
        for one in items:
            found[name] = (one["spec"]["replicas"], one["status"].get("readyReplicas", 0))
    return found


async def test_a_workload_is_placed_moved_and_ended(fleet: Fleet, namespace: str, tmp_path: Path) -> None:
    async with hand(fleet, namespace, tmp_path) as one:
        assert (await one.place("p1", {"eu": 3, "us": 2}, {})).verdict is Verdict.DONE
        assert replicas(fleet, namespace) == {"eu": (3, 3), "us": (2, 2)}
        assert (await one.place("p2", {"eu": 3, "us": 2}, {})).verdict is Verdict.UNCHANGED
        moved = await one.place("p3", {"ap": 4, "us": 1}, {"eu": 3, "us": 2})
        assert [(out.member, out.stage.value, out.state.value) for out in moved.outcomes] == [
            ("ap", "surge", "written"),
            ("eu", "drain", "written"),
            ("us", "drain", "written"),
        ]
        shrunk = partial(wait_for, lambda: replicas(fleet, namespace) == {"ap": (4, 4), "us": (1, 1)}, what="shrunk")
        await asyncio.to_thread(shrunk)
        endings = [await ending_of(api, f"{namespace}/checkout") for api in one.members.clients.values()]
        ended = await one.carrier.carry_out(rollout_to_end("p4", f"{namespace}/checkout", endings), now=NOW)
        assert ended.verdict is Verdict.DONE
        assert replicas(fleet, namespace) == {}
        assert await StoreJournal(one.store).load() == ()


async def test_instances_that_find_no_node_are_taken_back(fleet: Fleet, namespace: str, tmp_path: Path) -> None:
    async with hand(fleet, namespace, tmp_path, Limits(member_s=3.0, ready_s=2.0)) as one:
        assert (await one.place("p1", {"eu": 2}, {})).verdict is Verdict.DONE
        report = await one.place("p2", {"us": 2}, {"eu": 2}, cpu="500")
        assert report.verdict is Verdict.UNDONE
        assert report.why == f"2 instances of Deployment {namespace}/checkout were not ready within 2 s"
        assert replicas(fleet, namespace) == {"eu": (2, 2)}


async def test_a_cluster_that_fell_silent_is_drained_when_it_answers_again(
    fleet: Fleet, namespace: str, tmp_path: Path
) -> None:
    async with hand(fleet, namespace, tmp_path) as one:
        await one.place("p1", {"eu": 2}, {})
        fleet["eu"].api_server.pause()
        report = await one.place("p2", {"us": 2}, {"eu": 2})
        assert report.verdict is Verdict.UNFINISHED
        assert (report.why or "").startswith("eu: ")
        fleet["eu"].api_server.resume()
        assert replicas(fleet, namespace) == {"eu": (2, 2), "us": (2, 2)}
    async with hand(fleet, namespace, tmp_path) as again:
        assert await settled(again.carrier) == [Verdict.DONE]
        assert replicas(fleet, namespace) == {"us": (2, 2)}


async def test_a_target_that_falls_silent_while_it_is_written_is_undone_when_it_answers_again(
    fleet: Fleet, namespace: str, tmp_path: Path
) -> None:
    async with hand(fleet, namespace, tmp_path) as one:
        us = one.members.clients["us"]
        call = us.call

        async def call_and_pause(method: str, path: str, **more: Any) -> dict[str, Any]:
            answer = await call(method, path, **more)
            if method == "PATCH":
                fleet["us"].api_server.pause()
            return answer

        us.call = call_and_pause  # type: ignore[method-assign]
        report = await one.place("p1", {"eu": 2, "us": 2}, {})
        assert report.verdict is Verdict.UNFINISHED
        fleet["us"].api_server.resume()
        assert set(replicas(fleet, namespace)) == {"us"}
    async with hand(fleet, namespace, tmp_path) as again:
        assert await settled(again.carrier) == [Verdict.UNDONE]
        await asyncio.to_thread(
            partial(wait_for, lambda: replicas(fleet, namespace) == {}, what="without the Deployment")
        )


async def test_a_rehearsal_over_the_fleet_keeps_nothing(fleet: Fleet, namespace: str, tmp_path: Path) -> None:
    async with hand(fleet, namespace, tmp_path) as one:
        await one.place("p1", {"eu": 2}, {})
        writers = writers_of(lambda: one.members.clients, kind=RehearsalWriter)
        rehearsal = Carrier(Means(writers, StoreJournal(one.store), StatusObserver(writers), LIMITS))
        body = deployment(f"{namespace}/checkout", 3, requests={"cpu": "100m"})
        works = works_of(body, {"eu": 1, "us": 2}, {"eu": 2}, beside={})
        report = await rehearsal.rehearse(Rollout("p2", f"{namespace}/checkout", works))
        assert [(out.member, out.state.value) for out in report.outcomes] == [("eu", "written"), ("us", "written")]
        assert replicas(fleet, namespace) == {"eu": (2, 2)}


async def test_an_object_of_another_tool_is_adopted_only_without_contest(
    fleet: Fleet, namespace: str, tmp_path: Path
) -> None:
    theirs = deployment(f"{namespace}/checkout", 5, requests={"cpu": "100m"})
    fleet["eu"].kubectl.apply([theirs])
    async with hand(fleet, namespace, tmp_path) as one:
        report = await one.place("p1", {"eu": 2, "us": 1}, {})
        assert report.verdict is Verdict.UNDONE
        assert "spec.replicas is owned by" in (report.why or "")
        assert set(replicas(fleet, namespace)) == {"eu"}
        assert replicas(fleet, namespace)["eu"][0] == 5
        live = await ServerWriter(one.members.clients["eu"]).read(works_of(theirs, {"eu": 5}, {}, beside={})[0].refs[0])
        assert live is not None
        assert "prewarm" not in [entry["manager"] for entry in live["metadata"]["managedFields"]]

"""Clusters, maintenance and the network through the API, and that what was said outlives a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.federation.desk.ground import Ground, form, manifest, standing, where
from tests.service import HandClock


async def test_clusters_are_told_with_amounts_and_ages(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=3, annotations={"prewarm.dev/regions": "eu"}))
        ground.clock.time += 7.0
        eu, us = (await at.call("GET", "/v1/clusters"))["clusters"]
        assert (eu["name"], eu["state"], eu["region"], eu["nodes"]) == ("eu", "ready", "eu", 1)
        assert (eu["requested"]["cpu"], eu["allocatable"]["cpu"]) == (3.0, 10.0)
        assert (eu["allocatable"]["memory"], eu["used"]) == (64 * 2**30, {"cpu": None, "memory": None})
        assert (eu["instances"], eu["ready"], us["instances"]) == (3, 3, 0)
        assert (eu["last_answer_s"], eu["ages_s"]["nodes"]) == (0.0, 0.0)
        ground.darken("us")
        ground.clock.time += 30.0
        us = await at.call("GET", "/v1/clusters/us")
        assert (us["state"], us["last_answer_s"], us["running"]) == ("dark", 30.0, [])
        eu = await at.call("GET", "/v1/clusters/eu")
        counts = {"wanted": 3, "existing": 3, "ready": 3, "pending": 0}
        assert eu["running"] == [{"key": "shop/checkout", **counts, "used": None}]
        problem = await at.call("GET", "/v1/clusters/nowhere", status=404)
        assert problem["detail"] == "there is no cluster 'nowhere'; see /v1/clusters"


async def test_a_member_never_heard_of_has_no_ages(tmp_path: Path, ground: Ground) -> None:
    ground.unseen = True
    async with standing(tmp_path, ground) as at:
        for one in (await at.call("GET", "/v1/clusters"))["clusters"]:
            assert one["last_answer_s"] is None
            assert set(one["ages_s"].values()) == {None}
            unknown = ("nodes", "nodes_in_all", "allocatable", "requested", "instances", "ready", "start_s")
            assert {name: one[name] for name in unknown} == dict.fromkeys(unknown)  # never zero


async def test_how_long_an_instance_takes_to_start_is_told_where_it_is_known(tmp_path: Path, ground: Ground) -> None:
    ground.start_s = {"eu": 4.5}
    async with standing(tmp_path, ground) as at:
        eu, us = (await at.call("GET", "/v1/clusters"))["clusters"]
        assert (eu["start_s"], us["start_s"]) == (4.5, None)
        assert (await at.call("GET", "/v1/clusters/eu"))["start_s"] == 4.5


async def test_clusters_come_in_pages(tmp_path: Path) -> None:
    async with standing(tmp_path, Ground(dict.fromkeys("abcde", 1), HandClock())) as at:
        first = await at.call("GET", "/v1/clusters?limit=2")
        assert ([one["name"] for one in first["clusters"]], first["next"]) == (["a", "b"], "b")
        last = await at.call("GET", "/v1/clusters?limit=3&cursor=b")
        assert ([one["name"] for one in last["clusters"]], last["next"]) == (["c", "d", "e"], None)


async def test_a_cordoned_cluster_gets_nothing_new_and_keeps_what_it_has(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        before = where(await at.place(manifest(replicas=25)))
        said = await at.call("PUT", "/v1/clusters/us/maintenance", {"owner": "ops", "reason": "kernel"})
        assert said == {"cluster": "us", "state": "cordoned"}
        assert (await at.call("GET", "/v1/clusters/us"))["state"] == "cordoned"
        asked = await at.place(form("shop/other", 6))
        assert "us" not in where(asked)
        assert any(one["cluster"] == "us" for one in asked["filtered"])
        assert where(await at.place(manifest(replicas=25))) == before
        assert await at.call("DELETE", "/v1/clusters/us/maintenance") == {"cluster": "us", "state": "open"}
        assert (await at.place(form("shop/third", 1)))["unplaced"] == 0
        await at.call("DELETE", "/v1/clusters/us/maintenance", status=404)


@pytest.mark.parametrize(("drain", "state"), [(False, "cordoned"), (True, "draining")])
async def test_what_was_said_of_a_cluster_outlives_a_restart(
    tmp_path: Path, ground: Ground, drain: bool, state: str
) -> None:
    async with standing(tmp_path, ground) as at:
        body = {"owner": "ops", "reason": "kernel", "drain": drain}
        assert (await at.call("PUT", "/v1/clusters/eu/maintenance", body))["state"] == state
    async with standing(tmp_path, ground) as at:
        assert at.desk.said["eu"].reason == "kernel"
        assert ground.said["eu"].owner == "ops"
        assert where(await at.call("POST", "/v1/placements", {"workload": form(replicas=4)})) == {"us": 4}
        await at.call("DELETE", "/v1/clusters/eu/maintenance")
    async with standing(tmp_path, ground) as at:
        assert at.desk.said == {}


async def test_maintenance_of_nobody_or_without_a_reason_is_refused(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        await at.call("PUT", "/v1/clusters/nowhere/maintenance", {"owner": "ops", "reason": "x"}, status=404)
        problem = await at.call("PUT", "/v1/clusters/eu/maintenance", {"owner": "ops"}, status=400)
        assert "reason" in problem["detail"]
        problem = await at.call("PUT", "/v1/clusters/eu/maintenance", {"owner": "o", "reason": "x", "y": 1}, status=400)
        assert "y: unknown field" in problem["detail"]


async def test_a_drained_fleet_is_not_left_without_any_choice(tmp_path: Path, ground: Ground) -> None:
    """Both being drained, what runs stays: nobody else could take it."""
    async with standing(tmp_path, ground) as at:
        await at.place(manifest(replicas=5))
        for name in ("eu", "us"):
            await at.call("PUT", f"/v1/clusters/{name}/maintenance", {"owner": "o", "reason": "x", "drain": True})
        again = await at.place(manifest(replicas=5))
        assert sum(where(again).values()) == 5


async def test_a_second_name_of_the_drained_cluster_is_nobody_who_could_take_its_work(tmp_path: Path) -> None:
    """Two contexts of one API server: the other one is shown as cordoned, and counts for nothing."""
    ground = Ground({"eu": 10, "eu-admin": 10}, HandClock())
    async with standing(tmp_path, ground) as at:
        assert where(await at.place(manifest(replicas=5, annotations={"prewarm.dev/clusters": "eu"}))) == {"eu": 5}
        await at.call("PUT", "/v1/clusters/eu/maintenance", {"owner": "o", "reason": "x", "drain": True})
        assert at.desk.draining() == {"eu"}
        await at.call("PUT", "/v1/clusters/eu-admin/maintenance", {"owner": "o", "reason": "same API server"})
        at.desk.look()
        assert at.desk.draining() == frozenset()
        assert where(await at.place(manifest(replicas=5, annotations={"prewarm.dev/clusters": "eu"}))) == {"eu": 5}


async def test_the_network_is_set_shown_kept_and_used(tmp_path: Path, ground: Ground) -> None:
    links = [{"a": "eu", "b": "us", "delay_ms": 80.0, "bandwidth_mbps": 1000.0}]
    async with standing(tmp_path, ground) as at:
        empty = await at.call("GET", "/v1/network")
        assert (empty["links"], empty["clusters"]) == ([], ["eu", "us"])
        assert empty["delay_ms"] == [[0.0, None], [None, 0.0]]
        set_ = await at.call("PUT", "/v1/network", {"links": links})
        assert set_["delay_ms"] == [[0.0, 80.0], [80.0, 0.0]]
        assert await at.call("GET", "/v1/network") == set_
        assert (await at.call("GET", "/v1/clusters/eu"))["links_ms"] == {"us": 80.0}
    async with standing(tmp_path, ground) as at:
        assert await at.call("GET", "/v1/network") == set_
        problem = await at.call("PUT", "/v1/network", {"links": [{"a": "eu", "b": "us", "delay_ms": -1}]}, status=400)
        assert "links[0].delay_ms" in problem["detail"]

"""The fleet as a snapshot shows it, while members come, go, fail and are spoken of by people."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from federation.informer.cluster import Cordon, twins
from federation.informer.fleet import FleetWatch
from federation.informer.settings import FleetPolicy, WatchOptions
from federation.kubeconfig.access import BrokenMember
from federation.members.client import ClientOptions
from federation.snapshot import MemberState, Running
from prewarm.domain import InputError
from prewarm.settings import Call, ClusterPolicy, Headroom, Link
from tests.federation.fakeapi import (
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    NODE_METRICS,
    NODES,
    POD_METRICS,
    PODS,
    QUOTAS,
    SERVICES,
    FakeApi,
    body,
    fake_api,
    hang,
    refuse,
    until,
)
from tests.federation.informer.made import GI, Json, deployment, node, pod, told
from tests.federation.informer.watching import cluster_in, watching
from tests.federation.members.made import Source, member

NOWHERE = "http://127.0.0.1:9"


def now() -> float:
    return time.time()


def fill(api: FakeApi) -> None:
    api.put(NODES, node("n1", labels={"topology.kubernetes.io/region": "eu"}))
    shop: Json = {"owner": ("ReplicaSet", "shop-1"), "labels": {"pod-template-hash": "1"}}
    api.put(PODS, pod("a", "n1", cpu="1", ready=True, **shop))
    api.put(DEPLOYMENTS, deployment("shop", 2))
    api.put(NAMESPACES, {"metadata": {"name": "demo"}})
    api.put(
        QUOTAS,
        {"metadata": {"name": "q", "namespace": "demo"}, "status": {"hard": {"pods": "9"}, "used": {"pods": "1"}}},
    )


def known(watch: FleetWatch, name: str) -> Callable[[], bool]:
    def all_listed() -> bool:
        cluster = watch.snapshot(now()).cluster(name)
        if cluster is None or cluster.present is None or "demo/shop" not in cluster.running:
            return False
        ages = cluster.ages
        return None not in (ages.nodes, ages.pods, ages.quotas) and cluster.running["demo/shop"].wanted == 2

    return all_listed


async def test_a_member_is_shown_with_everything_that_is_known_of_it() -> None:
    async with fake_api() as api:
        fill(api)
        async with watching(Source(member("east", api.url, zone="a"))) as watch:
            await until(known(watch, "east"))
            assert watch.ready()
            cluster = cluster_in(watch, "east", now())
    assert (cluster.name, cluster.context, cluster.state) == ("east", "ctx-east", MemberState.READY)
    assert cluster.region == "eu"
    assert cluster.labels == {"zone": "a"}
    assert cluster.nodes.names == (("n1",),)
    assert cluster.nodes.total(cluster.nodes.free) == {"cpu": 3000, "memory": 8 * GI - (256 << 20), "pods": 109}
    assert cluster.running == {"demo/shop": Running(wanted=2, existing=1, ready=1)}
    assert cluster.present == {"namespace": frozenset({"demo"})}
    assert [(quota.namespace, dict(quota.hard)) for quota in cluster.quotas] == [("demo", {"pods": 9})]
    ages = cluster.ages.at(now())
    assert ages["metrics"] is None
    assert max(age for age in ages.values() if age is not None) < 5
    assert cluster.notes == ("usage unavailable: metrics.k8s.io is not served",)


async def test_an_event_is_in_the_next_snapshot_and_not_in_the_last() -> None:
    async with fake_api() as api:
        fill(api)
        async with watching(Source(member("east", api.url))) as watch:
            await until(known(watch, "east"))
            await api.watched(PODS)
            before = cluster_in(watch, "east", now())
            api.put(PODS, pod("b", "n1", cpu="2"))
            await until(lambda: cluster_in(watch, "east", now()).nodes.requested[0, 0] == 3000)
            assert before.nodes.requested[0, 0] == 1000


async def test_clusters_are_in_the_order_of_their_names_with_broken_contexts_shown() -> None:
    broken = BrokenMember("broken", "ctx", "test", "context 'ctx': names no cluster")
    async with fake_api() as api:
        source = Source(member("west", NOWHERE), member("east", api.url), broken=(broken,))
        async with watching(source) as watch:
            await until(lambda: len(watch.snapshot(now()).clusters) == 3)
            clusters = watch.snapshot(now()).clusters
    assert [cluster.name for cluster in clusters] == ["broken", "east", "west"]
    assert (clusters[0].state, clusters[0].why) == (MemberState.DARK, "context 'ctx': names no cluster")
    assert len(clusters[0].nodes) == 0


async def test_two_contexts_of_one_server_count_once() -> None:
    async with fake_api() as api, fake_api() as other:
        fill(api)
        fill(other)
        source = Source(member("east", api.url), member("admin", api.url + "/"), member("west", other.url))
        async with watching(source) as watch:
            await until(known(watch, "admin"))
            await until(known(watch, "west"))
            admin, east, west = watch.snapshot(now()).clusters
    assert (len(admin.nodes), len(east.nodes), len(west.nodes)) == (1, 0, 1)
    assert (dict(east.running), east.state) == ({}, MemberState.CORDONED)
    assert east.why == "is the same API server as admin, which stands for it"
    assert dict(admin.running) == dict(west.running) != {}


def test_a_context_that_is_let_in_stands_for_one_that_is_not() -> None:
    first, second = member("a", NOWHERE).spec, member("b", NOWHERE).spec
    assert twins([(first, MemberState.REFUSED), (second, MemberState.READY)]) == {"a": "b"}
    assert twins([(first, MemberState.DARK), (second, MemberState.READY)]) == {"b": "a"}
    proxied = replace(second, proxy_url="http://127.0.0.1:8")
    assert twins([(first, MemberState.READY), (proxied, MemberState.READY)]) == {}


async def test_members_come_and_go_with_their_source() -> None:
    async with fake_api() as east, fake_api() as west:
        source = Source(member("east", east.url))
        async with watching(source) as watch:
            await east.watched(NODES)
            source.members.append(member("west", west.url))
            await west.watched(NODES)
            source.members.pop(0)
            await until(lambda: not east.watchers(NODES) and not east.watchers(PODS))
            await until(lambda: len(watch.snapshot(now()).clusters) == 1)
            assert [cluster.name for cluster in watch.snapshot(now()).clusters] == ["west"]


async def test_a_member_that_changed_is_watched_through_its_new_client() -> None:
    async with fake_api() as api:
        source = Source(member("east", api.url, token="old"))
        async with watching(source):
            await api.watched(NODES)
            source.members[0] = member("east", api.url, token="new")
            await until(lambda: api.requests[-1].headers["Authorization"] == "Bearer new")
            await until(lambda: api.watchers(NODES) == 1)
            seen = [request.headers["Authorization"] for request in api.requests]
            assert seen == sorted(seen, reverse=True), "the old token is not sent again after the new one"


async def test_a_source_that_fails_leaves_the_fleet_as_it_is() -> None:
    async with fake_api() as api:
        source = Source(member("east", api.url))
        async with watching(source) as watch:
            await api.watched(NODES)
            source.error = InputError("fleet.yaml: gone")
            asked = source.asked
            await until(lambda: source.asked >= asked + 2)
            assert watch.notices == ("fleet.yaml: gone",)
            assert [cluster.name for cluster in watch.snapshot(now()).clusters] == ["east"]
            source.error = ValueError("a bug of the source")
            await until(lambda: "a bug of the source" in watch.notices[0])
            source.error = None
            await until(lambda: watch.notices == ())
            assert api.watchers(NODES) == 1


async def test_one_datum_that_may_not_be_read_is_unknown_and_the_rest_works() -> None:
    async with fake_api() as api:
        fill(api)
        api.always(QUOTAS, refuse(403, "Forbidden", "cannot list resourcequotas"))
        async with watching(Source(member("east", api.url))) as watch:
            await until(watch.ready)
            await until(lambda: any("resourcequotas" in note for note in cluster_in(watch, "east", now()).notes))
            cluster = cluster_in(watch, "east", now())
    assert cluster.state is MemberState.READY
    assert cluster.ages.quotas is None
    assert cluster.quotas == ()
    assert cluster.nodes.schedulable.all()
    assert "resourcequotas unknown: may not be read (east: 403 Forbidden: cannot list resourcequotas)" in cluster.notes


async def test_without_pods_no_node_is_taken_for_empty() -> None:
    async with fake_api() as api:
        fill(api)
        api.always(PODS, refuse(403, "Forbidden"))
        async with watching(Source(member("east", api.url))) as watch:
            await until(lambda: [len(one.nodes) for one in watch.snapshot(now()).clusters] == [1])
            cluster = cluster_in(watch, "east", now())
            assert not watch.ready()
    assert not cluster.nodes.schedulable.any()
    assert cluster.ages.pods is None


async def test_what_cannot_be_read_is_named_and_the_rest_loads() -> None:
    async with fake_api() as api:
        fill(api)
        for number in range(5):
            api.put(NODES, node(f"bad{number}", cpu="?"))
        async with watching(Source(member("east", api.url))) as watch:
            await until(known(watch, "east"))
            cluster = cluster_in(watch, "east", now())
    assert sum(bool(facts[-1]) for facts in told(cluster.nodes).values()) == 1
    assert "node bad0 unknown: quantity '?': must be a quantity such as 250m, 2 or 1.5Gi" in cluster.notes
    assert "and 2 more that cannot be read" in cluster.notes


def usage(at: str) -> Json:
    item = {"metadata": {"name": "n1"}, "timestamp": at, "usage": {"cpu": "700m", "memory": "1Gi"}}
    return {"items": [item]}


async def test_usage_comes_from_the_metrics_api_and_stays_while_that_is_away() -> None:
    async with fake_api() as api:
        fill(api)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        api.program(NODE_METRICS, body(usage(stamp)))
        api.always(NODE_METRICS, refuse(503, "ServiceUnavailable", "metrics-server is away"))
        async with watching(Source(member("east", api.url))) as watch:
            await until(lambda: len(api.asked(NODE_METRICS)) >= 3)
            await until(watch.ready)
            first = cluster_in(watch, "east", now())
            late = cluster_in(watch, "east", now() + 300)
    assert first.notes == ("usage unavailable: east: 503 ServiceUnavailable: metrics-server is away",)
    assert first.state is MemberState.READY
    assert first.ages.metrics is not None
    assert first.nodes.used.tolist() == [[700.0, float(GI)]]
    assert np.isnan(late.nodes.used).all()


def pod_usage(at: str, **memory: str) -> Json:
    def item(name: str) -> Json:
        containers = [{"name": "c", "usage": {"cpu": "100m", "memory": memory[name]}}]
        return {"metadata": {"namespace": "demo", "name": name}, "timestamp": at, "containers": containers}

    return {"items": [item(name) for name in memory]}


async def test_what_an_instance_uses_is_the_mean_of_those_that_are_ready_and_grows_stale() -> None:
    owner: Json = {"owner": ("ReplicaSet", "shop-1"), "labels": {"pod-template-hash": "1"}}
    async with fake_api() as api:
        fill(api)
        for name, ready in (("a", True), ("b", True), ("c", False)):
            api.put(PODS, pod(name, "n1", ready=ready, **owner))
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        api.always(NODE_METRICS, body(usage(stamp)))
        api.always(POD_METRICS, body(pod_usage(stamp, a="100Mi", b="300Mi", c="900Mi", gone="5Gi")))
        async with watching(Source(member("east", api.url))) as watch:
            await until(known(watch, "east"))
            await until(lambda: bool(cluster_in(watch, "east", now()).use))
            first = cluster_in(watch, "east", now())
            late = cluster_in(watch, "east", now() + 300)
    found = first.use["demo/shop"]
    assert (found.cpu, found.memory, found.instances) == (100.0, 200.0 * (1 << 20), 2)
    assert first.notes == ()
    assert late.use == {}


async def test_names_are_watched_on_demand() -> None:
    async with fake_api() as api:
        fill(api)
        api.put(CONFIGMAPS, {"metadata": {"name": "rates", "namespace": "demo"}})
        async with watching(Source(member("east", api.url))) as watch:
            await until(known(watch, "east"))
            assert not api.asked(CONFIGMAPS)
            watch.demand(frozenset({"configmap"}))
            await until(lambda: "configmap:demo" in (cluster_in(watch, "east", now()).present or {}))
            found = cluster_in(watch, "east", now()).present
    assert found == {"namespace": frozenset({"demo"}), "configmap:demo": frozenset({"rates"})}


async def test_a_member_without_knative_is_known_to_have_none() -> None:
    async with fake_api() as api:
        fill(api)
        api.always(SERVICES, refuse(404, "NotFound"))
        async with watching(Source(member("east", api.url))) as watch:
            await until(known(watch, "east"))
            await until(lambda: bool(cluster_in(watch, "east", now()).unserved))
            assert cluster_in(watch, "east", now()).unserved == {"knative"}


async def test_a_member_with_knative_lacks_no_kind() -> None:
    async with fake_api() as api:
        fill(api)
        api.put(SERVICES, {"metadata": {"namespace": "demo", "name": "web"}})
        async with watching(Source(member("east", api.url))) as watch:
            await until(known(watch, "east"))
            await until(lambda: "demo/web" in cluster_in(watch, "east", now()).running)
            assert cluster_in(watch, "east", now()).unserved == frozenset()


async def test_a_kind_that_is_not_kept_is_an_error_at_the_start() -> None:
    with pytest.raises(InputError, match="'pod' is not"):
        WatchOptions(kinds=frozenset({"pod"}))


async def test_what_people_said_of_a_cluster_is_in_the_snapshot() -> None:
    said = (
        ClusterPolicy("ctx-east", region="us", price=0.7, autoscale_headroom=Headroom(3, "8", "32Gi", 90.0, gpus=2)),
        ClusterPolicy("other", context="ctx-west", price=2.0, cordoned=True),
    )
    policy = FleetPolicy(said, (Link("us", "west", 50.0),), (Call("a/a", "b/b"),))
    async with fake_api() as api, fake_api() as other:
        fill(api)
        fill(other)
        source = Source(member("east", api.url), member("west", other.url))
        async with watching(source, policy=policy) as watch:
            await until(known(watch, "east"))
            await until(known(watch, "west"))
            snapshot = watch.snapshot(now())
            watch.policy = FleetPolicy()
            after = cluster_in(watch, "west", now())
    east, west = snapshot.clusters
    assert (east.region, east.price) == ("us", 0.7)
    assert east.headroom is not None
    assert (east.headroom.nodes, east.headroom.start_s) == (3, 90.0)
    assert east.headroom.allocatable == {"cpu": 8000, "memory": 32 * GI, "pods": 110, "nvidia.com/gpu": 2}
    assert (west.price, west.state, west.why) == (2.0, MemberState.CORDONED, "cordoned by configuration")
    assert after.state is MemberState.READY
    assert snapshot.links.delay_ms[0, 1] == 50.0
    assert snapshot.calls == (Call("a/a", "b/b"),)


def test_the_entry_of_an_id_wins_over_that_of_a_context() -> None:
    policy = FleetPolicy((ClusterPolicy("ctx", price=1.5), ClusterPolicy("east", price=3.0), ClusterPolicy("x", "ctx")))
    assert policy.of("east", "ctx").price == 3.0
    assert policy.of("west", "ctx").name == "x"
    assert policy.of("north", "none") == ClusterPolicy("north")


def test_headroom_that_cannot_be_read_is_an_error_that_names_the_cluster() -> None:
    entry = ClusterPolicy("east", autoscale_headroom=Headroom(1, "eight", "1Gi"))
    with pytest.raises(InputError, match="cluster east: autoscale_headroom: quantity 'eight'"):
        FleetPolicy((entry,))


async def test_a_person_cordons_a_member_that_answers_and_the_dark_stay_dark() -> None:
    async with fake_api() as api:
        fill(api)
        source = Source(member("east", api.url), member("dark", NOWHERE))
        async with watching(source) as watch:
            await until(known(watch, "east"))
            await until(lambda: "no connection" in (cluster_in(watch, "dark", now()).why or ""))
            for name in ("east", "dark"):
                watch.cordons[name] = Cordon("ops", "kernel upgrade", 17.0)
            east, dark = cluster_in(watch, "east", now()), cluster_in(watch, "dark", now())
            del watch.cordons["east"]
            assert cluster_in(watch, "east", now()).state is MemberState.READY
    assert (east.state, east.since, east.why) == (MemberState.CORDONED, 17.0, "cordoned by ops: kernel upgrade")
    assert dark.state is MemberState.DARK


async def test_a_clock_that_is_off_is_told_and_no_age_follows_it() -> None:
    async with fake_api() as api:
        fill(api)
        api.headers = {"Date": "Mon, 05 Jan 2026 12:00:00 GMT"}
        async with watching(Source(member("east", api.url))) as watch:
            await until(known(watch, "east"))
            await until(lambda: cluster_in(watch, "east", now()).notes[0].startswith("its clock is"))
            cluster = cluster_in(watch, "east", now())
    assert cluster.notes[0].endswith("s behind")
    assert cluster.state is MemberState.READY
    assert cluster.ages.at(now())["nodes"] == pytest.approx(0.0, abs=5.0)


async def test_start_up_waits_for_nobody() -> None:
    async with fake_api() as api:
        for path in ("/version", NODES, PODS, QUOTAS):
            api.always(path, hang())
        async with watching(Source(member("hangs", api.url)), client=ClientOptions(deadline_s=30)) as watch:
            await until(lambda: watch.snapshot(now()).clusters)
            assert not watch.ready()
            assert cluster_in(watch, "hangs", now()).ages.nodes is None


async def test_when_it_ends_no_task_and_no_connection_is_left() -> None:
    async with fake_api() as api:
        fill(api)
        before = asyncio.all_tasks()
        async with watching(Source(member("east", api.url), member("dark", NOWHERE))) as watch:
            await until(known(watch, "east"))
            names = {task.get_name() for task in asyncio.all_tasks()}
            assert {"fleet:follow", "fleet:probe", "watch:east", "reflect:east:pods", "usage:dark"} <= names
        await until(lambda: not api.watchers(NODES))
        assert {task for task in asyncio.all_tasks() if task.get_name().partition(":")[2]} <= before

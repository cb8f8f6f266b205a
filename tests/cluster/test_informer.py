"""The snapshot says what kubectl says: under churn, over restarts, lost versions, expired tokens and every fault."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from federation.informer.fleet import FleetWatch
from federation.informer.reflect.reflector import ReflectorOptions
from federation.snapshot import MemberState
from tests.cluster.faultproxy import FaultProxy
from tests.cluster.faults import Answer, Drip, Fault, GoneLine, LostLine, OversizeLine, Skew, TruncatedLine
from tests.cluster.reaching import ANSWERING, QUICK_CLIENT, QUICK_WATCH, seen, state_of, until, until_equal, watch_of
from tests.cluster.real.accounts import make_account, rule
from tests.cluster.real.admin import Admin
from tests.cluster.real.cluster import Cluster, wait_for
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.kubeconfig import write_kubeconfig
from tests.cluster.real.manifests import READY_DELAY, deployment, pod_spec
from tests.cluster.truth import told_by

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    # a connection that is given up in the very moment in which it comes about is closed by the collector
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]

PODS = "/api/v1/pods"


def age_s(fleet: FleetWatch, name: str) -> float:
    """Age of what is known of a member's pods."""
    now = time.time()
    cluster = fleet.snapshot(now).cluster(name)
    assert cluster is not None
    age = cluster.ages.at(now)["pods"]
    return float("inf") if age is None else age


async def churn(cluster: Cluster, where: str, *, seconds: float, seed: int) -> None:
    """Deployments made, scaled, deleted, and bare pods made and removed, as fast as the server takes them."""
    rng = random.Random(seed)
    give_up = time.monotonic() + seconds
    pods, deployments = f"/api/v1/namespaces/{where}/pods", f"/apis/apps/v1/namespaces/{where}/deployments"
    alive: list[str] = []
    step = 0
    while time.monotonic() < give_up:
        step += 1
        if alive and rng.random() < 0.45:
            path = alive.pop(rng.randrange(len(alive)))
            await asyncio.to_thread(cluster.admin.call, "DELETE", f"{path}?gracePeriodSeconds=0")
        elif rng.random() < 0.3:
            made = deployment(f"{where}/d{step}", rng.randrange(4), annotations={READY_DELAY: "300ms"})
            await asyncio.to_thread(cluster.admin.call, "POST", deployments, made)
            alive.append(f"{deployments}/d{step}")
        else:
            meta = {"name": f"p{step}", "namespace": where, "labels": {"app": f"p{step}"}}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod_spec({"cpu": "10m"})}
            await asyncio.to_thread(cluster.admin.call, "POST", pods, pod)
            alive.append(f"{pods}/p{step}")


async def test_three_clusters_are_seen_as_kubectl_sees_them_while_everything_changes(
    fleet: Fleet, namespace: str
) -> None:
    async with watch_of(fleet.kubeconfig()) as watch:
        for cluster in fleet:
            await until_equal(watch, cluster)
        await asyncio.gather(*(churn(cluster, namespace, seconds=8.0, seed=seed) for seed, cluster in enumerate(fleet)))
        for cluster in fleet:
            await until_equal(watch, cluster)
            view = seen(watch, cluster.name)
            assert view is not None
            assert sum(existing for _, existing, _ in view.running.values()) > 0
        snapshot = watch.snapshot(time.time())
        assert [(one.name, one.region, one.state.value) for one in snapshot.clusters] == [
            (name, name, "ready") for name in ("ap", "eu", "us")
        ]


async def test_a_killed_api_server_ages_alone_and_is_caught_up_with_after_its_return(
    fleet: Fleet, namespace: str
) -> None:
    eu = fleet["eu"]
    async with watch_of(fleet.kubeconfig()) as watch:
        for cluster in fleet:
            await until_equal(watch, cluster)
        eu.api_server.kill()
        await asyncio.sleep(0.3)  # what was on its way arrives
        before = seen(watch, "eu")
        fleet["us"].kubectl.apply([deployment(f"{namespace}/meanwhile", 3)])
        await until(lambda: state_of(watch, "eu") is MemberState.DARK)
        await until_equal(watch, fleet["us"])
        assert seen(watch, "eu") == before, "what was known is kept, with its age"
        assert state_of(watch, "us") in ANSWERING
        await asyncio.to_thread(eu.start_api_server)
        eu.kubectl.apply([deployment(f"{namespace}/afterwards", 2)])
        await until_equal(watch, eu, deadline_s=40.0)
        await until(lambda: state_of(watch, "eu") in ANSWERING)


async def test_a_member_that_is_silent_from_the_start_holds_up_nobody(fleet: Fleet) -> None:
    fleet["ap"].api_server.pause()
    async with watch_of(fleet.kubeconfig()) as watch:
        assert await until(watch.ready) < 5.0
        for name in ("eu", "us"):
            await until_equal(watch, fleet[name], deadline_s=5.0)
        began = time.perf_counter()
        for _ in range(100):
            watch.snapshot(time.time())
        assert time.perf_counter() - began < 1.0, "a snapshot never waits"
        assert seen(watch, "ap") is None
        await until(lambda: state_of(watch, "ap") is MemberState.DARK)
        fleet["ap"].api_server.resume()
        await until_equal(watch, fleet["ap"], deadline_s=40.0)


@pytest.fixture
async def proxy(fleet: Fleet) -> AsyncIterator[FaultProxy]:
    """In front of eu."""
    async with FaultProxy.open(fleet["eu"].server, fleet["eu"].admin.tls) as opened:
        yield opened


def through(proxy: FaultProxy, cluster: Cluster, folder: Path) -> Path:
    """A kubeconfig that leads to the cluster through the proxy."""
    entry = replace(cluster.entry(context="proxied", server=proxy.url), ca_pem=proxy.ca_pem)
    return write_kubeconfig(folder / "proxied.yaml", [entry])


async def test_a_version_lost_to_compaction_costs_one_list(
    fleet: Fleet, namespace: str, proxy: FaultProxy, tmp_path: Path
) -> None:
    eu = fleet["eu"]
    async with watch_of(through(proxy, eu, tmp_path)) as watch:
        await until_equal(watch, eu, name="proxied")
        assert proxy.count(path=PODS, watch=False) == 1
        await proxy.link.cut()
        eu.kubectl.apply([deployment(f"{namespace}/unseen", 3)])
        await asyncio.to_thread(wait_for, lambda: ready_count(eu, namespace) == 3, what="three pods ready")
        eu.kubectl.run("delete", "deployment", "unseen", "-n", namespace, "--wait=true")
        eu.kubectl.apply([deployment(f"{namespace}/later", 1)])
        eu.etcd.compact()
        await asyncio.to_thread(eu.restart_api_server)
        await proxy.link.restore()
        await until_equal(watch, eu, name="proxied", deadline_s=75.0)
        await asyncio.sleep(3.0)
        assert proxy.count(path=PODS, watch=False) == 2
        asked = [one.query for one in proxy.seen if one.path == PODS and "watch=1" in one.query]
        assert not any("None" in query or "resourceVersion=&" in query for query in asked)


def ready_count(cluster: Cluster, where: str) -> int:
    return sum(ready for key, (_, _, ready) in told_by(cluster.kubectl).running.items() if key.startswith(where))


async def test_a_token_that_expires_is_replaced_and_nothing_is_missed(
    fleet: Fleet, namespace: str, tmp_path: Path
) -> None:
    eu = fleet["eu"]
    everything = [rule(["*"], ["list", "watch", "get"], group=group) for group in ("", "apps")]
    account = make_account(eu, f"{namespace}/watcher", everything)
    file = tmp_path / "token"
    short = account.token(valid_s=5.0)
    file.write_text(short)
    kubeconfig = write_kubeconfig(tmp_path / "config", [replace(eu.entry(), credential={"tokenFile": str(file)})])
    short_watches = replace(QUICK_WATCH, reflector=ReflectorOptions(watch_s=(2.0, 3.0)))
    async with watch_of(kubeconfig, watch=short_watches) as watch:
        await until_equal(watch, eu)
        file.write_text(account.token())
        bearer = Admin(eu.server, short, eu.identity.ca_file)
        await asyncio.to_thread(
            wait_for, lambda: not bearer.answers("/api/v1/nodes"), deadline_s=30.0, what="refusing the old token"
        )
        eu.kubectl.apply([deployment(f"{namespace}/after-expiry", 2)])
        await until_equal(watch, eu)
        await asyncio.sleep(4.0)
        assert age_s(watch, "eu") < 4.0
        assert state_of(watch, "eu") in ANSWERING


async def test_narrow_rights_show_what_is_unknown_and_keep_the_rest(
    fleet: Fleet, namespace: str, tmp_path: Path
) -> None:
    eu = fleet["eu"]
    account = make_account(eu, f"{namespace}/narrow", [rule(["nodes", "pods"], ["list", "watch"])])
    kubeconfig = write_kubeconfig(tmp_path / "config", [replace(eu.entry(), credential=account.token())])
    async with watch_of(kubeconfig) as watch:
        eu.kubectl.apply([deployment(f"{namespace}/web", 2)])
        await until(lambda: (view := seen(watch, "eu")) is not None and view.nodes == told_by(eu.kubectl).nodes)

        def refused() -> set[str]:
            found = watch.snapshot(time.time()).cluster("eu")
            assert found is not None
            return {note.split(" ")[0] for note in found.notes if " unknown: may not be read" in note}

        await until(lambda: {"resourcequotas", "deployments", "namespaces"} <= refused())
        cluster = watch.snapshot(time.time()).cluster("eu")
        assert cluster is not None
        assert cluster.state in ANSWERING
        assert cluster.present is None or "namespace" not in cluster.present
        view = seen(watch, "eu")
        assert view is not None
        assert view.running[f"{namespace}/web"] == (2, 2, 2)


Strike: TypeAlias = Callable[[FaultProxy], Awaitable[None]]


async def cut(proxy: FaultProxy) -> None:
    await proxy.link.cut()
    await asyncio.sleep(1.5)
    await proxy.link.restore()


async def half_open(proxy: FaultProxy) -> None:
    proxy.link.half_open()
    await asyncio.sleep(1.0)
    await proxy.link.restore()


def on_watches(fault: Fault, times: int = 1) -> Strike:
    async def strike(proxy: FaultProxy) -> None:
        proxy.add(fault, PODS, watch=True, times=times)

    return strike


async def refuse(proxy: FaultProxy) -> None:
    """Every watch ends, and the next requests are refused."""
    proxy.add(Answer(503, "ServiceUnavailable"), times=4)
    proxy.add(Answer(429, "TooManyRequests", retry_after_s=1), times=4)
    await proxy.link.cut()
    await proxy.link.restore()


FAULTS: dict[str, Strike] = {
    "cut": cut,
    "half-open": half_open,
    "refused-and-busy": refuse,
    "gone": on_watches(GoneLine()),
    "gone-and-gone-again": on_watches(GoneLine(), times=3),
    "ends-in-a-line": on_watches(TruncatedLine()),
    "breaks-in-a-line": on_watches(TruncatedLine(broken=True)),
    "oversize": on_watches(OversizeLine(6_000_000)),
    "monstrous": on_watches(OversizeLine(20_000_000)),
    "drip": on_watches(Drip(4_000.0), times=10),
}


@pytest.mark.parametrize("strike", FAULTS.values(), ids=FAULTS)
async def test_after_any_fault_the_snapshot_is_true_again_without_a_storm_of_requests(
    fleet: Fleet, namespace: str, proxy: FaultProxy, tmp_path: Path, strike: Strike
) -> None:
    eu = fleet["eu"]
    async with watch_of(through(proxy, eu, tmp_path), client=replace(QUICK_CLIENT, silence_s=4.0)) as watch:
        await until_equal(watch, eu, name="proxied")
        proxy.seen.clear()
        began = time.monotonic()
        await strike(proxy)
        eu.kubectl.apply([deployment(f"{namespace}/web", 4)])
        await until_equal(watch, eu, name="proxied", deadline_s=40.0)
        eu.kubectl.run("scale", "deployment/web", "--replicas=1", "-n", namespace)
        await until_equal(watch, eu, name="proxied", deadline_s=40.0)
        took_s = time.monotonic() - began
        requests = sum(one.path == PODS for one in proxy.seen)
        assert requests <= 6 + took_s, f"{requests} requests for pods in {took_s:.0f} s"


@pytest.mark.parametrize("off_s", [-3600, 600], ids=["an-hour-behind", "ten-minutes-ahead"])
async def test_a_member_whose_clock_is_off_is_told_of_and_aged_by_our_own(
    fleet: Fleet, namespace: str, proxy: FaultProxy, tmp_path: Path, off_s: int
) -> None:
    eu = fleet["eu"]
    proxy.add(Skew(off_s))
    async with watch_of(through(proxy, eu, tmp_path)) as watch:
        eu.kubectl.apply([deployment(f"{namespace}/web", 2)])
        await until_equal(watch, eu, name="proxied")
        now = time.time()
        cluster = watch.snapshot(now).cluster("proxied")
        assert cluster is not None
        assert any("clock" in note and ("behind" if off_s < 0 else "ahead") in note for note in cluster.notes)
        ages = cluster.ages.at(now)
        assert all(age is not None and 0.0 <= age < 20.0 for name, age in ages.items() if name != "metrics"), ages
        assert cluster.state in ANSWERING


async def test_a_lost_event_is_made_good_by_the_next_full_list(
    fleet: Fleet, namespace: str, proxy: FaultProxy, tmp_path: Path
) -> None:
    eu = fleet["eu"]
    eu.kubectl.apply([deployment(f"{namespace}/web", 2)])
    await asyncio.to_thread(wait_for, lambda: ready_count(eu, namespace) == 2, what="two pods ready")
    often = replace(QUICK_WATCH, reflector=ReflectorOptions(watch_s=(3.0, 4.0), resync_s=6.0))
    async with watch_of(through(proxy, eu, tmp_path), watch=often) as watch:
        await until_equal(watch, eu, name="proxied")
        proxy.add(LostLine(), "/api/v1/pods", watch=True, times=3)
        eu.kubectl.run("delete", "deployment", "web", "-n", namespace)
        await until_equal(watch, eu, name="proxied", deadline_s=30.0)
        (cluster,) = watch.snapshot(time.time()).clusters
        assert f"{namespace}/web" not in cluster.running or cluster.running[f"{namespace}/web"].wanted == 0

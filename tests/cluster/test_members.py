"""prewarm's client of a member against real API servers: killed, paused, half open, with expiring and narrow tokens."""

from __future__ import annotations

import asyncio
import json
import stat
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from federation.members.api import RefusedError, UnreachableError
from federation.members.client import ClientOptions, MemberClient
from federation.snapshot import MemberState
from tests.cluster.faultproxy import FaultProxy
from tests.cluster.faults import Answer, OversizeLine, Skew
from tests.cluster.reaching import ANSWERING, member_of, members_of
from tests.cluster.real.accounts import make_account, rule
from tests.cluster.real.admin import Admin
from tests.cluster.real.cluster import Cluster, wait_for
from tests.cluster.real.fleet import Fleet

pytestmark = pytest.mark.cluster

QUICK = ClientOptions(deadline_s=1.0, silence_s=1.0)
WATCH = {"watch": "1", "timeoutSeconds": "60"}


def config_maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def made(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def next_name(lines: AsyncIterator[bytes]) -> str:
    """The object of the next line of a watch."""
    event = json.loads(await asyncio.wait_for(anext(lines), 10.0))
    return str(event["object"]["metadata"]["name"])


async def answers_again(client: MemberClient, *, deadline_s: float = 20.0) -> None:
    give_up = time.monotonic() + deadline_s
    while True:
        try:
            await client.call("GET", "/version")
        except UnreachableError:
            assert time.monotonic() < give_up, "the member did not come back for its client"
            await asyncio.sleep(0.1)
        else:
            return


async def test_every_context_leads_to_its_own_cluster(fleet: Fleet) -> None:
    async with members_of(fleet.kubeconfig()) as members:
        assert list(members.clients) == ["ap", "eu", "us"]
        for name, client in members.clients.items():
            answer = await client.call("GET", "/api/v1/nodes")
            regions = {node["metadata"]["labels"]["topology.kubernetes.io/region"] for node in answer["items"]}
            assert regions == {name}
            assert client.health.state in ANSWERING
            assert client.health.notes == ()


@pytest.mark.slow
async def test_a_killed_api_server_costs_only_its_own_watch_and_comes_back(fleet: Fleet, namespace: str) -> None:
    path = config_maps(namespace)
    async with members_of(fleet.kubeconfig(), QUICK) as members:
        eu, us = members.clients["eu"], members.clients["us"]
        patient = {name: replace(client.options, silence_s=60.0) for name, client in members.clients.items()}
        eu.options, us.options = patient["eu"], patient["us"]
        async with eu.stream(path, query=WATCH) as eu_lines, us.stream(path, query=WATCH) as us_lines:
            assert await next_name(eu_lines) == await next_name(us_lines) == "kube-root-ca.crt"
            fleet["eu"].api_server.kill()
            with pytest.raises(UnreachableError):
                await next_name(eu_lines)
            fleet["us"].admin.call("POST", path, made("while-eu-was-dead"))
            assert await next_name(us_lines) == "while-eu-was-dead"
        for _ in range(2):
            with pytest.raises(UnreachableError):
                await eu.call("GET", path)
        assert eu.health.state is MemberState.DARK
        await asyncio.to_thread(fleet["eu"].start_api_server)
        await answers_again(eu)
        assert {one["metadata"]["name"] for one in (await eu.call("GET", path))["items"]} == {"kube-root-ca.crt"}


@pytest.mark.slow
async def test_a_silent_member_makes_a_poll_no_longer_than_its_deadline(fleet: Fleet) -> None:
    async with members_of(fleet.kubeconfig(), QUICK) as members:
        await members.poll()
        fleet["ap"].api_server.pause()
        for _ in range(2):
            began = time.monotonic()
            await members.poll()
            assert time.monotonic() - began < 2.0
        dark = {name for name, client in members.clients.items() if client.health.state is MemberState.DARK}
        assert dark == {"ap"}
        fleet["ap"].api_server.resume()
        await answers_again(members.clients["ap"])


@pytest.mark.slow
async def test_without_its_etcd_a_member_is_dark_and_then_whole_again(bare_cluster: Cluster, tmp_path: Path) -> None:
    async with member_of(tmp_path, bare_cluster.entry(), QUICK) as client:
        await client.call("POST", config_maps("default"), body=made("before-etcd-died"))
        bare_cluster.etcd.kill()
        for _ in range(2):
            with pytest.raises((UnreachableError, RefusedError)):
                await client.call("POST", config_maps("default"), body=made("never"))
        await asyncio.to_thread(bare_cluster.repair)
        await answers_again(client)
        assert await client.call("GET", f"{config_maps('default')}/before-etcd-died")


async def test_narrow_rights_are_a_refusal_and_not_a_dark_member(bare_cluster: Cluster, tmp_path: Path) -> None:
    account = make_account(bare_cluster, "default/lister", [rule(["nodes"], ["list"])])
    async with member_of(tmp_path, replace(bare_cluster.entry(), credential=account.token())) as client:
        assert len((await client.call("GET", "/api/v1/nodes"))["items"]) == 3
        with pytest.raises(RefusedError) as refused:
            await client.call("GET", "/api/v1/secrets")
        assert (refused.value.status, refused.value.reason) == (403, "Forbidden")
        assert "secrets" in refused.value.message
        assert client.health.state in ANSWERING


async def test_a_client_certificate_is_a_way_in(bare_cluster: Cluster, tmp_path: Path) -> None:
    pair = bare_cluster.identity.client_pair("carla", "system:masters")
    async with member_of(tmp_path, replace(bare_cluster.entry(), credential=pair)) as client:
        assert len((await client.call("GET", "/api/v1/nodes"))["items"]) == 3


async def test_a_server_of_another_authority_is_not_talked_to(
    fleet: Fleet, bare_cluster: Cluster, tmp_path: Path
) -> None:
    wrong = replace(bare_cluster.entry(), ca_pem=fleet["eu"].identity.ca_pem)
    async with member_of(tmp_path, wrong) as client:
        with pytest.raises(UnreachableError, match="certificate"):
            await client.call("GET", "/api/v1/nodes")
        assert client.health.state is MemberState.REFUSED


@pytest.mark.slow
async def test_an_expired_token_is_read_anew_from_its_file(bare_cluster: Cluster, tmp_path: Path) -> None:
    account = make_account(bare_cluster, "default/rotating", [rule(["nodes"], ["list"])])
    file = tmp_path / "token"
    short = account.token(valid_s=4.0)
    file.write_text(short)
    async with member_of(tmp_path, replace(bare_cluster.entry(), credential={"tokenFile": str(file)})) as client:
        assert len((await client.call("GET", "/api/v1/nodes"))["items"]) == 3
        file.write_text(account.token())
        await until_refused(bare_cluster, short)
        assert len((await client.call("GET", "/api/v1/nodes"))["items"]) == 3
        assert client.health.state in ANSWERING


async def until_refused(cluster: Cluster, token: str) -> None:
    """Wait until the API server refuses the token."""
    bearer = Admin(cluster.server, token, cluster.identity.ca_file)

    def refused() -> bool:
        return not bearer.answers("/api/v1/nodes")

    await asyncio.to_thread(wait_for, refused, deadline_s=25.0, what="refusing the token")


PLUGIN = """#!/bin/sh
echo run >> '{folder}/runs'
printf '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", '
printf '"status": {{"token": "%s"}}}}' "$(cat '{folder}/current')"
"""


@pytest.mark.slow
async def test_an_expired_token_is_asked_of_the_plug_in_again_once(bare_cluster: Cluster, tmp_path: Path) -> None:
    account = make_account(bare_cluster, "default/plugged", [rule(["nodes"], ["list"])])
    program = tmp_path / "plugin.sh"
    program.write_text(PLUGIN.format(folder=tmp_path))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    short = account.token(valid_s=4.0)
    (tmp_path / "current").write_text(short)
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(program),
            "interactiveMode": "Never",
        }
    }
    async with member_of(tmp_path, replace(bare_cluster.entry(), credential=user)) as client:
        for _ in range(3):
            assert await client.call("GET", "/api/v1/nodes")
        (tmp_path / "current").write_text(account.token())
        await until_refused(bare_cluster, short)
        for _ in range(3):
            assert len((await client.call("GET", "/api/v1/nodes"))["items"]) == 3
    assert (tmp_path / "runs").read_text().split() == ["run", "run"]


@pytest.fixture
async def proxy(bare_cluster: Cluster) -> AsyncIterator[FaultProxy]:
    async with FaultProxy.open(bare_cluster.server, bare_cluster.admin.tls) as opened:
        yield opened


def through(proxy: FaultProxy, cluster: Cluster) -> Any:
    return replace(cluster.entry(context="proxied", server=proxy.url), ca_pem=proxy.ca_pem)


async def test_a_watch_that_is_half_open_ends_after_its_longest_silence(
    bare_cluster: Cluster, proxy: FaultProxy, tmp_path: Path
) -> None:
    async with member_of(tmp_path, through(proxy, bare_cluster), QUICK) as client:
        async with client.stream("/api/v1/nodes", query=WATCH) as lines:
            assert [await next_name(lines) for _ in range(3)] == ["node-0", "node-1", "node-2"]
            proxy.link.half_open()
            began = time.monotonic()
            with pytest.raises(UnreachableError, match="watch silent for 1 s"):
                await next_name(lines)
            assert 0.8 < time.monotonic() - began < 3.0
        await proxy.link.restore()
        await answers_again(client)


async def test_a_busy_server_is_obeyed_and_asked_again(
    bare_cluster: Cluster, proxy: FaultProxy, tmp_path: Path
) -> None:
    proxy.add(Answer(429, "TooManyRequests", retry_after_s=1), "/api/v1/nodes", times=1)
    async with member_of(tmp_path, through(proxy, bare_cluster)) as client:
        assert len((await client.call("GET", "/api/v1/nodes"))["items"]) == 3
    first, second = (one.at for one in proxy.seen if one.path == "/api/v1/nodes")
    assert 1.0 <= second - first < 2.0


async def test_large_lines_pass_and_monstrous_ones_end_the_watch(
    bare_cluster: Cluster, proxy: FaultProxy, tmp_path: Path
) -> None:
    options = ClientOptions(line_limit=2_000_000)
    async with member_of(tmp_path, through(proxy, bare_cluster), options) as client:
        proxy.add(OversizeLine(1_500_000), times=1)
        async with client.stream("/api/v1/nodes", query=WATCH) as lines:
            assert await next_name(lines) == "node-0"
        proxy.add(OversizeLine(2_500_000), times=1)
        async with client.stream("/api/v1/nodes", query=WATCH) as lines:
            with pytest.raises(UnreachableError, match="longer than 2000000 bytes"):
                await next_name(lines)
        assert await client.call("GET", "/version")


@pytest.mark.parametrize("off_s", [-600, 90], ids=["behind", "ahead"])
async def test_a_clock_that_is_off_is_noticed(
    bare_cluster: Cluster, proxy: FaultProxy, tmp_path: Path, off_s: int
) -> None:
    proxy.add(Skew(off_s))
    async with member_of(tmp_path, through(proxy, bare_cluster)) as client:
        await client.call("GET", "/version")
        assert client.health.skew_s == pytest.approx(off_s, abs=2.0)
        assert client.health.notes == (f"its clock is {abs(off_s)} s {'ahead' if off_s > 0 else 'behind'}",)
        assert client.health.state in ANSWERING

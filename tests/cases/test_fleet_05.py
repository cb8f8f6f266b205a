"""Reported: one cluster in a black hole, and the poll of all others waited for it, every time."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random

from federation.kubeconfig.source import FleetSource, Places
from federation.members.client import ClientOptions
from federation.members.fleet import Members
from federation.placement.pipeline import place
from federation.placement.workload import Workload
from federation.snapshot import MemberState
from tests.federation.fakeapi import NAMESPACES, NODES, PODS, FakeApi, fake_api, until
from tests.federation.informer.made import node
from tests.federation.informer.watching import cluster_in, watching
from tests.federation.members.made import open_access

FILE = """\
apiVersion: v1
kind: Config
clusters:
- {{name: east, cluster: {{server: "{east}"}}}}
- {{name: dark, cluster: {{server: "{dark}", insecure-skip-tls-verify: true}}}}
- {{name: west, cluster: {{server: "{west}"}}}}
contexts:
- {{name: east, context: {{cluster: east, user: u}}}}
- {{name: dark, context: {{cluster: dark, user: u}}}}
- {{name: west, context: {{cluster: west, user: u}}}}
users:
- {{name: u, user: {{token: made-up}}}}
"""


@contextmanager
def black_hole() -> Iterator[str]:
    """The address of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as server:
        yield f"https://127.0.0.1:{server.getsockname()[1]}"


@asynccontextmanager
async def fleet(folder: Path) -> AsyncIterator[tuple[FleetSource, FakeApi, FakeApi]]:
    async with fake_api() as east, fake_api() as west:
        for api in (east, west):
            api.put(NODES, node("n1"))
            api.put(NAMESPACES, {"metadata": {"name": "demo"}})
        with black_hole() as dark:
            file = folder / "fleet.yaml"
            file.write_text(FILE.format(east=east.url, west=west.url, dark=dark))
            yield FleetSource(Places(files=(file,)), {}), east, west


async def test_one_poll_is_over_soon_after_the_members_deadline(tmp_path: Path) -> None:
    async with fleet(tmp_path) as (source, *_):
        members = Members(ClientOptions(deadline_s=3.0), open_access, rng=Random(1))
        await members.follow((await source.read()).members)
        began = time.monotonic()
        await members.poll()
        took_s = time.monotonic() - began
        states = {name: client.health for name, client in members.clients.items()}
        await members.close()
    assert 2.9 < took_s < 5.0
    assert {name: health.state for name, health in states.items()} == {
        "dark": MemberState.DARK,
        "east": MemberState.READY,
        "west": MemberState.READY,
    }
    assert states["dark"].why == "no answer within 3 s"
    assert states["dark"].answered_at is None


async def test_start_up_and_placements_do_not_wait_for_the_dark(tmp_path: Path) -> None:
    quick = ClientOptions(deadline_s=0.3)
    async with fleet(tmp_path) as (source, *_), watching(source, client=quick) as watch:
        began = time.monotonic()
        await until(lambda: sum(one.nodes.schedulable.any() for one in watch.snapshot(time.time()).clusters) == 2)
        assert time.monotonic() - began < 3.0
        dark_for: list[float] = []
        for _ in range(20):
            await asyncio.sleep(0.05)
            now = time.time()
            assert watch.ready()
            for name in ("east", "west"):
                answered_s = cluster_in(watch, name, now).ages.at(now)["answer"]
                assert answered_s is not None
                assert answered_s < 1.0  # polls come every 0.1 s and last 0.3 s while the dark one is waited for
            dark_for.append(now - cluster_in(watch, "dark", now).since)
        now = time.time()
        snapshot, dark = watch.snapshot(now), cluster_in(watch, "dark", now)
        placed = place(snapshot, Workload(key="demo/f", kind="deployment", replicas=4), now=now)
    assert dark.state is MemberState.DARK
    assert dark.why
    assert dark.ages.answer is None
    assert dark_for[-1] > dark_for[0]
    assert {share.cluster for share in placed.shares if share.replicas} <= {"east", "west"}
    assert placed.unplaced == 0
    assert [one.cluster for one in placed.filtered] == ["dark"]


async def test_connections_and_tasks_do_not_pile_up_over_a_hundred_polls(tmp_path: Path) -> None:
    async with fleet(tmp_path) as (source, east, west):
        members = Members(ClientOptions(deadline_s=0.3), open_access, rng=Random(1))
        for _ in range(100):
            await members.follow((await source.read()).members)
            await members.poll()
        ours = [task for task in asyncio.all_tasks() if task.get_name().startswith("probe:")]
        connections = [len(api.connections) for api in (east, west)]
        asked = [len(api.asked("/version")) for api in (east, west)]
        await members.close()
    assert ours == []
    assert max(connections) <= 3  # one, and another where a busy machine overran the deadline
    assert min(asked) >= 90
    assert not east.asked(PODS)

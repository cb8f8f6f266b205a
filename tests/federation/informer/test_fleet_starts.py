"""How long instances take to start in a member, as the fleet's snapshot tells it from the pods that are watched."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from federation.informer.hold.starts import WINDOW_S
from tests.federation.fakeapi import PODS, FakeApi, fake_api, line, status, until
from tests.federation.informer.made import Json, pod
from tests.federation.informer.watching import cluster_in, watching
from tests.federation.members.made import Source, member

SHOP: Json = {"owner": ("ReplicaSet", "shop-1"), "labels": {"pod-template-hash": "1"}}
LATER_S = 60.0
"""Far enough from another snapshot for its value to be made anew."""


def begin(api: FakeApi, name: str, took_s: float, *, at: float | None = None, **fields: object) -> None:
    """A pod of the member became ready, just now unless told otherwise."""
    ready_at = time.time() if at is None else at
    since = {"PodScheduled": ready_at - took_s, "Ready": ready_at}
    api.put(PODS, pod(name, "n1", **{**SHOP, "since": since, **fields}))


async def test_the_median_start_is_in_the_snapshot_once_three_are_known() -> None:
    async with fake_api() as api:
        begin(api, "a", 4.0)
        begin(api, "b", 5.0)
        for number in range(5):
            begin(api, f"agent{number}", 1.0, owner=("DaemonSet", "agent"))
            begin(api, f"again{number}", 900.0, restarts=1)
        async with watching(Source(member("east", api.url))) as watch:
            await until(watch.ready)
            await api.watched(PODS)
            before = cluster_in(watch, "east", time.time())
            begin(api, "c", 30.0)
            await until(lambda: cluster_in(watch, "east", time.time()).start_s is not None)
            after = cluster_in(watch, "east", time.time())
            late = cluster_in(watch, "east", time.time() + WINDOW_S + LATER_S)
    assert (before.start_s, after.start_s, late.start_s) == (None, 5.0, None)


async def test_a_list_after_a_lost_version_counts_nothing_again() -> None:
    async with fake_api() as api:
        for name, took_s in (("a", 30.0), ("b", 30.0), ("c", 30.0), ("d", 2.0), ("e", 2.0)):
            begin(api, name, took_s)
        async with watching(Source(member("east", api.url))) as watch:
            await until(watch.ready)
            await api.watched(PODS)
            for name in "abc":
                api.remove(PODS, f"demo/{name}")
            await until(lambda: cluster_in(watch, "east", time.time()).running["demo/shop"].existing == 2)
            listed = len(api.asked(PODS))
            api.raw(PODS, line("ERROR", status(410, "Expired", "too old resource version")))
            await until(lambda: len(api.asked(PODS)) > listed)
            await api.watched(PODS)
            found = cluster_in(watch, "east", time.time() + LATER_S).start_s
    assert found == 30.0


@pytest.mark.parametrize("off_s", [-7_200.0, 7_200.0], ids=["two-hours-behind", "two-hours-ahead"])
async def test_the_hour_is_one_of_the_members_own_clock(off_s: float) -> None:
    async with fake_api() as api:
        api.headers = {"Date": formatdate(time.time() + off_s, usegmt=True)}
        for name in "abc":
            begin(api, name, 4.0, at=time.time() + off_s)
        for name in "uvwxyz":
            begin(api, name, 90.0, at=time.time() + off_s - WINDOW_S - LATER_S)
        async with watching(Source(member("east", api.url))) as watch:
            await until(watch.ready)
            found = cluster_in(watch, "east", time.time())
    assert found.start_s == 4.0

"""Readiness as a status tells it: of the newest version only, and given up when the cluster gives up."""

from __future__ import annotations

from typing import Any

import pytest

from federation.apply.ready import StatusObserver, given_up, ready_count
from federation.apply.writer import writers_of
from federation.members.api import UnreachableError
from tests.federation.apply.fake import FakeApi, dark
from tests.federation.apply.made import PATH, REF
from tests.federation.manifest.made import deployment, service

Json = dict[str, Any]


def live(status: Json | None, generation: int = 2, body: Json | None = None) -> Json:
    made = body or deployment()
    told = {"metadata": {**made["metadata"], "generation": generation}}
    return {**made, **told} | ({} if status is None else {"status": status})


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        (None, 0),
        ({}, 0),
        ({"observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 3}, 0),
        ({"observedGeneration": 2, "readyReplicas": 3, "updatedReplicas": 3}, 3),
        ({"observedGeneration": 2, "readyReplicas": 3, "updatedReplicas": 1}, 1),
        ({"observedGeneration": 2, "updatedReplicas": 3}, 0),
    ],
)
def test_only_ready_instances_of_the_newest_version_count(status: Json | None, ready: int) -> None:
    assert ready_count(live(status)) == ready


def test_a_service_is_ready_when_it_says_so() -> None:
    yes = {"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True"}]}
    assert ready_count(live(yes, body=service())) >= 1_000
    assert ready_count(live({"observedGeneration": 2, "conditions": []}, body=service())) == 0


def test_what_the_cluster_gave_up_is_told_in_one_line() -> None:
    condition = {
        "type": "Progressing",
        "status": "False",
        "reason": "ProgressDeadlineExceeded",
        "message": "timed\nout",
    }
    assert given_up(live({"conditions": [condition]})) == "Deployment checkout: timed out"
    quota = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    assert given_up(live({"conditions": [quota]})) == "Deployment checkout: FailedCreate"
    assert given_up(live({"conditions": [{"type": "Progressing", "status": "True"}]})) is None


async def test_it_waits_until_the_status_says_so() -> None:
    api = FakeApi("eu-1")
    api.put(PATH, live({"observedGeneration": 2, "readyReplicas": 1, "updatedReplicas": 3}))
    looks = 0

    def grow(_: object) -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            api.touch(PATH, {("f:status", "f:readyReplicas"): 3}, "kube-controller-manager", "status")

    api.after = grow
    observer = StatusObserver(writers_of(lambda: {"eu-1": api}), pause_s=0)
    assert await observer.wait_ready("eu-1", REF, 3) is None
    assert looks == 4


async def test_it_says_what_is_wrong() -> None:
    api = FakeApi("eu-1")
    observer = StatusObserver(writers_of(lambda: {"eu-1": api}), pause_s=0)
    assert await observer.wait_ready("eu-1", REF, 3) == "Deployment shop/checkout is not there any more"
    api.put(PATH, live({"conditions": [{"type": "Progressing", "status": "False", "message": "no image"}]}))
    assert await observer.wait_ready("eu-1", REF, 3) == "Deployment checkout: no image"
    api.fault = dark("eu-1")
    with pytest.raises(UnreachableError):
        await observer.wait_ready("eu-1", REF, 3)

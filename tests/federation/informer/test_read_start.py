"""Of which pods a start is read, and how long it took."""

from __future__ import annotations

from typing import Any

import pytest

from federation.informer.read.pods import read_pod
from federation.informer.read.start import LONGEST_S, Start
from tests.federation.informer.made import Json, pod

AT = 1_790_000_000.0
SHOP: Json = {"owner": ("ReplicaSet", "shop-1"), "labels": {"pod-template-hash": "1"}}


def start_of(took_s: float = 4.0, **fields: Any) -> Start | None:
    """What is read of a pod that became ready `took_s` after it was scheduled."""
    since = {"PodScheduled": AT, "Initialized": AT + 1, "Ready": AT + took_s}
    return read_pod(pod("p", "n1", **{**SHOP, "since": since, **fields})).start


@pytest.mark.parametrize("took_s", [0.0, 4.0, LONGEST_S])
def test_a_start_lasts_from_the_schedulers_word_to_readiness(took_s: float) -> None:
    assert start_of(took_s) == Start(AT + took_s, took_s)


@pytest.mark.parametrize("took_s", [-1.0, LONGEST_S + 1, 3 * 86_400.0])
def test_what_no_start_can_take_is_none(took_s: float) -> None:
    assert start_of(took_s) is None


def test_waiting_for_room_is_no_part_of_a_start() -> None:
    item = pod("p", "n1", **SHOP, since={"PodScheduled": AT + 900, "Ready": AT + 903})
    item["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    assert read_pod(item).start == Start(AT + 903, 3.0)


@pytest.mark.parametrize("since", [{"Ready": AT}, {"PodScheduled": AT}, {}])
def test_a_pod_that_does_not_tell_both_times_has_no_start(since: dict[str, float]) -> None:
    assert start_of(since=since) is None


@pytest.mark.parametrize("when", [None, "", "yesterday", "2026-12-01T10:00:00", 12, {}])
def test_a_time_that_cannot_be_read_is_no_start_and_no_error(when: object) -> None:
    item = pod("p", "n1", **SHOP, since={"PodScheduled": AT, "Ready": AT + 4})
    item["status"]["conditions"][1]["lastTransitionTime"] = when
    assert (read_pod(item).ready, read_pod(item).start) == (True, None)


def test_after_a_restart_of_any_container_the_time_of_readiness_says_nothing_of_the_start() -> None:
    assert start_of(restarts=0) == Start(AT + 4, 4.0)
    assert start_of(restarts=1) is None
    item = pod("p", "n1", **SHOP, restarts=0, since={"PodScheduled": AT, "Ready": AT + 4})
    item["status"]["initContainerStatuses"] = [{"name": "migrate", "restartCount": 2}]
    assert read_pod(item).start is None


@pytest.mark.parametrize("fields", [{"deleted": True}, {"phase": "Succeeded"}, {"phase": "Failed"}])
def test_a_pod_on_its_way_out_tells_none(fields: dict[str, Any]) -> None:
    assert start_of(**fields) is None


@pytest.mark.parametrize("kind", ["DaemonSet", "Node", "Job", "StatefulSet"])
def test_only_what_replica_sets_make_counts(kind: str) -> None:
    assert start_of(owner=(kind, "x")) is None


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public"])
def test_kubernetes_own_pods_do_not_count(namespace: str) -> None:
    assert start_of(namespace=namespace) is None
    assert start_of(namespace="kubernetes-shop") is not None

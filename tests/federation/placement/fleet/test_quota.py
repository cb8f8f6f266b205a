"""Quotas of the namespace, by every name that a ResourceQuota knows."""

import pytest

from federation.placement.fleet.quota import quota_room
from federation.placement.fleet.room import LARGE
from tests.federation.building import cluster, workload

ASKS = {"cpu": "500m", "memory": "1Gi", "example.com/gpu": "1"}


@pytest.mark.parametrize(
    ("hard", "used", "room"),
    [
        pytest.param({"requests.cpu": "2"}, {}, 4, id="requests-cpu"),
        pytest.param({"cpu": "2"}, {"cpu": "1"}, 2, id="cpu-is-requests-cpu"),
        pytest.param({"requests.memory": "3Gi"}, {}, 3, id="requests-memory"),
        pytest.param({"limits.cpu": "3"}, {}, 3, id="limits-where-given"),
        pytest.param({"limits.memory": "4Gi"}, {}, 4, id="a-limit-that-is-not-given-is-the-request"),
        pytest.param({"pods": "10"}, {"pods": "7"}, 3, id="pods"),
        pytest.param({"count/pods": "10"}, {"count/pods": "8"}, 2, id="count-of-pods"),
        pytest.param({"requests.example.com/gpu": "2"}, {}, 2, id="extended"),
        pytest.param({"requests.cpu": "8", "pods": "3"}, {}, 3, id="the-tightest-counts"),
        pytest.param({"requests.cpu": "1"}, {"requests.cpu": "2"}, 0, id="over-used-is-none-not-negative"),
        pytest.param({"services": "1"}, {"services": "1"}, LARGE, id="what-an-instance-does-not-use"),
        pytest.param({"count/deployments.apps": "3"}, {"count/deployments.apps": "3"}, 0, id="no-object-left"),
        pytest.param({"count/jobs.batch": "1"}, {"count/jobs.batch": "1"}, LARGE, id="another-kind-of-object"),
    ],
)
def test_further_instances_by_quota(hard: dict[str, str], used: dict[str, str], room: int) -> None:
    one = cluster("a").nodes(cpu="99", memory="99Gi").quota("shop", hard, used).build()
    assert quota_room(one, workload(asks=ASKS, limits={"cpu": 1000}), {}) == room


def test_the_quota_of_another_namespace_says_nothing() -> None:
    one = cluster("a").quota("other", {"pods": "0"}).build()
    assert quota_room(one, workload(), {}) == LARGE


def test_an_object_that_exists_needs_no_further_one() -> None:
    full = {"count/deployments.apps": "1"}
    one = cluster("a").quota("shop", full, full).runs("shop/checkout", 2).build()
    assert quota_room(one, workload("shop/checkout"), {}) == LARGE
    assert quota_room(one, workload("shop/stock"), {}) == 0


def test_every_quota_of_the_namespace_must_allow_it_and_what_is_in_flight_counts() -> None:
    one = cluster("a").quota("shop", {"pods": "10"}).quota("shop", {"requests.cpu": "4"}).build()
    assert quota_room(one, workload(asks={"cpu": "500m"}), {}) == 8
    assert quota_room(one, workload(asks={"cpu": "500m"}), {"requests.cpu": 1500, "pods": 3}) == 5

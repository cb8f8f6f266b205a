"""Deployments, Knative Services, quotas, names and usage as they are kept."""

from __future__ import annotations

import pytest

from federation.informer.read.usage import Usage, read_pod_usage, read_usage
from federation.informer.read.workloads import WorkloadFacts, read_deployment, read_quota, read_service
from federation.labels import WORKLOAD
from prewarm.domain import parse_time
from tests.federation.informer.made import GI, MI, Json, deployment

NOON = parse_time("2026-01-05T12:00:00Z", "test")


@pytest.mark.parametrize(
    ("raw", "facts"),
    [
        (deployment("shop", 3), WorkloadFacts("demo/shop", 3)),
        (deployment("shop", 0), WorkloadFacts("demo/shop", 0)),
        (deployment("shop", None), WorkloadFacts("demo/shop", 1)),
        (
            deployment("shop-00002-deployment", 2, labels={"serving.knative.dev/service": "shop"}),
            WorkloadFacts("demo/shop", 2),
        ),
        (deployment("x", 2, annotations={WORKLOAD: "shop/checkout"}), WorkloadFacts("shop/checkout", 2)),
        (deployment("x", 2, annotations={WORKLOAD: "a/b/c"}), WorkloadFacts("demo/x", 2)),
    ],
)
def test_the_workload_that_a_deployment_stands_for(raw: Json, facts: WorkloadFacts) -> None:
    assert read_deployment(raw) == facts


def test_a_knative_service_is_there_even_at_zero() -> None:
    assert read_service({"metadata": {"name": "shop", "namespace": "demo"}}) == WorkloadFacts("demo/shop", 0)


def test_a_quota_is_read_in_base_units() -> None:
    raw = {
        "metadata": {"name": "team", "namespace": "shop"},
        "spec": {"hard": {"pods": "99"}},
        "status": {
            "hard": {"requests.cpu": "10", "requests.memory": "4Gi", "pods": "20"},
            "used": {"requests.cpu": "2500m", "requests.memory": "1Gi", "pods": "7"},
        },
    }
    facts = read_quota(raw)
    assert facts.unreadable is None
    assert (facts.quota.namespace, facts.quota.name) == ("shop", "team")
    assert facts.quota.hard == {"requests.cpu": 10_000, "requests.memory": 4 * GI, "pods": 20}
    assert facts.quota.used == {"requests.cpu": 2_500, "requests.memory": GI, "pods": 7}


def test_a_quota_with_one_bad_amount_says_so() -> None:
    facts = read_quota({"metadata": {"name": "q", "namespace": "shop"}, "status": {"hard": {"pods": "many"}}})
    assert facts.quota.hard == {}
    assert facts.unreadable is not None
    assert "'many'" in facts.unreadable


def metrics(name: str, timestamp: str, cpu: str = "1500000000n", memory: str = "2097152Ki") -> Json:
    return {"metadata": {"name": name}, "timestamp": timestamp, "usage": {"cpu": cpu, "memory": memory}}


def test_usage_is_read_with_the_samples_own_time() -> None:
    answer = {"items": [metrics("n1", "2026-01-05T12:00:00Z"), metrics("n2", "2026-01-05T11:20:00Z", "20m", "512Mi")]}
    assert read_usage(answer, NOON + 10) == {
        "n1": Usage(1500, 2 * GI, NOON),
        "n2": Usage(20, 512 * MI, NOON - 2400),
    }


def test_a_clock_that_is_off_makes_no_sample_older_or_younger() -> None:
    ahead = {"items": [metrics("n1", "2026-01-05T13:00:00Z")]}
    assert read_usage(ahead, NOON + 10, skew_s=3600.0)["n1"].at == NOON
    behind = {"items": [metrics("n1", "2026-01-05T11:00:00Z")]}
    assert read_usage(behind, NOON + 10, skew_s=-3600.0)["n1"].at == NOON


def test_a_sample_from_the_future_is_as_of_now() -> None:
    answer = {"items": [metrics("n1", "2026-01-05T12:30:00Z")]}
    assert read_usage(answer, NOON)["n1"].at == NOON


@pytest.mark.parametrize(
    "item",
    [
        metrics("n1", "yesterday"),
        metrics("n1", "2026-01-05T12:00:00Z", cpu="?"),
        {"metadata": {"name": "n1"}, "timestamp": "2026-01-05T12:00:00Z"},
        {"timestamp": "2026-01-05T12:00:00Z", "usage": {"cpu": "1", "memory": "1"}},
        {"metadata": None},
    ],
)
def test_one_bad_sample_is_absent_and_the_rest_loads(item: Json) -> None:
    answer = {"items": [item, 7, metrics("n2", "2026-01-05T12:00:00Z")]}
    assert list(read_usage(answer, NOON)) == ["n2"]


def pod_metrics(name: str, *containers: Json, at: str = "2026-01-05T12:00:00Z") -> Json:
    return {"metadata": {"namespace": "shop", "name": name}, "timestamp": at, "containers": list(containers)}


def container_use(cpu: str, memory: str) -> Json:
    return {"name": "c", "usage": {"cpu": cpu, "memory": memory}}


def test_a_pods_usage_is_the_sum_of_its_containers() -> None:
    answer = {"items": [pod_metrics("a", container_use("250m", "64Mi"), container_use("1000000n", "1Mi"))]}
    assert read_pod_usage(answer, NOON + 10) == {"shop/a": Usage(251, 65 * MI, NOON)}


def test_a_pod_that_is_read_in_part_is_absent() -> None:
    half = pod_metrics("half", container_use("250m", "64Mi"), container_use("?", "1Mi"))
    answer = {"items": [half, pod_metrics("none"), pod_metrics("whole", container_use("1m", "1Mi"))]}
    assert list(read_pod_usage(answer, NOON)) == ["shop/whole"]

"""Requests as the scheduler counts them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.manifest.podspec import limits_of, requests_of
from prewarm.domain import InputError
from tests.federation.manifest.made import Json, container


def test_containers_run_together_and_add_up() -> None:
    pod = {"containers": [container(cpu="250m", memory="1Gi"), container("side", cpu="1.5", memory="512Mi")]}
    assert requests_of(pod, "pod") == {"cpu": 1750, "memory": 1536 << 20}


def test_an_init_container_counts_only_where_it_is_larger() -> None:
    pod = {
        "containers": [container(cpu="500m", memory="1Gi")],
        "initContainers": [container("a", cpu="2", memory="100Mi"), container("b", cpu="1", memory="2Gi")],
    }
    assert requests_of(pod, "pod") == {"cpu": 2000, "memory": 2 << 30}


def test_sidecars_run_beside_the_containers_and_beside_later_init_containers() -> None:
    pod = {
        "containers": [container(cpu="500m")],
        "initContainers": [
            container("first", cpu="900m"),
            container("mesh", cpu="300m", restartPolicy="Always"),
            container("last", cpu="700m"),
        ],
    }
    assert requests_of(pod, "pod") == {"cpu": 1000}
    pod["initContainers"][2] = container("last", cpu="400m")
    assert requests_of(pod, "pod") == {"cpu": 900}


def test_overhead_comes_on_top_of_everything() -> None:
    pod = {"containers": [container(cpu="1", memory="1Gi")], "overhead": {"cpu": "100m", "memory": "64Mi"}}
    assert requests_of(pod, "pod") == {"cpu": 1100, "memory": (1 << 30) + (64 << 20)}


def test_a_request_for_the_pod_as_a_whole_replaces_the_sum() -> None:
    pod: Json = {
        "containers": [container(cpu="1", memory="1Gi"), container("b", cpu="1")],
        "resources": {"requests": {"cpu": "1500m"}},
        "overhead": {"cpu": "100m"},
    }
    assert requests_of(pod, "pod") == {"cpu": 1600, "memory": 1 << 30}


def test_a_limit_without_a_request_is_the_request() -> None:
    limited = {"limits": {"cpu": "2", "nvidia.com/gpu": 1}, "requests": {"cpu": "500m"}}
    pod = {"containers": [container(resources=limited)]}
    assert requests_of(pod, "pod") == {"cpu": 500, "nvidia.com/gpu": 1}


def test_limits_are_summed_likewise_and_only_where_something_is_limited() -> None:
    limited = {"limits": {"cpu": "2"}, "requests": {"cpu": "500m", "memory": "1Gi"}}
    pod = {"containers": [container(resources=limited), container("b", cpu="1", memory="1Gi")]}
    assert limits_of(pod, "pod") == {"cpu": 3000}
    assert limits_of({"containers": [container(cpu="1")]}, "pod") == {}


def test_fractions_of_base_units_are_rounded_up() -> None:
    pod = {"containers": [container(cpu="0.1234", memory="1.5")]}
    assert requests_of(pod, "pod") == {"cpu": 124, "memory": 2}


def test_yaml_numbers_are_quantities_too() -> None:
    assert requests_of({"containers": [container(cpu=1, memory=1e6)]}, "pod") == {"cpu": 1000, "memory": 1_000_000}


@pytest.mark.parametrize("bad", ["12 Mi", "", "ten", "-1", True, None, [1]])
def test_what_is_no_request_is_refused_with_its_place(bad: object) -> None:
    with pytest.raises(InputError, match=r"^pod\.containers\[0\]\.resources\.requests\.memory: quantity"):
        requests_of({"containers": [container(memory=bad)]}, "pod")


AMOUNT = st.integers(0, 3000)
ROW = st.lists(AMOUNT, max_size=4)


@given(ROW, st.lists(st.tuples(AMOUNT, st.booleans()), max_size=4), AMOUNT)
def test_the_sum_is_what_the_moment_of_greatest_need_asks(
    containers: list[int], inits: list[tuple[int, bool]], overhead: int
) -> None:
    """The pod's life, moment by moment: each init container beside the sidecars so far, then everything together."""
    pod = {
        "containers": [container(f"c{at}", cpu=f"{milli}m") for at, milli in enumerate(containers)],
        "initContainers": [
            container(f"i{at}", cpu=f"{milli}m", **({"restartPolicy": "Always"} if stays else {}))
            for at, (milli, stays) in enumerate(inits)
        ],
        "overhead": {"cpu": f"{overhead}m"},
    }
    moments, beside = [], 0
    for milli, stays in inits:
        moments.append(beside + milli)
        beside += milli if stays else 0
    moments.append(beside + sum(containers))
    assert requests_of(pod, "pod").get("cpu", 0) == max(moments) + overhead

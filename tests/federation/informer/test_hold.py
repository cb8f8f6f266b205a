"""Instances by workload, names by namespace, and the network between clusters."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.informer.hold.instances import Instances
from federation.informer.hold.names import Names, present
from federation.informer.network import links_between
from federation.informer.read.pods import PodFacts, read_pod
from federation.informer.read.workloads import WorkloadFacts
from federation.snapshot import Running
from prewarm.settings import Link
from tests.federation.informer.made import pod

SHOP: dict[str, Any] = {"owner": ("ReplicaSet", "shop-1"), "labels": {"pod-template-hash": "1"}}


def shop_pod(bound_to: str | None = "n1", **fields: Any) -> PodFacts:
    return read_pod(pod("p", bound_to, **SHOP, **fields))


def test_what_is_wanted_comes_from_deployments_and_what_exists_from_pods() -> None:
    instances = Instances()
    instances.workload_changed("demo/shop", None, WorkloadFacts("demo/shop", 4))
    assert instances.running == {"demo/shop": Running(4, 0, 0)}
    instances.pod_changed("a", None, shop_pod(ready=True))
    instances.pod_changed("b", None, shop_pod())
    instances.pod_changed("c", None, shop_pod(None))
    assert instances.running == {"demo/shop": Running(4, existing=3, ready=1, pending=1)}


def test_two_revisions_of_a_service_are_one_workload() -> None:
    instances = Instances()
    instances.workload_changed("demo/shop", None, WorkloadFacts("demo/shop", 0))
    instances.workload_changed("demo/shop-1-deployment", None, WorkloadFacts("demo/shop", 2))
    instances.workload_changed("demo/shop-2-deployment", None, WorkloadFacts("demo/shop", 3))
    assert instances.running["demo/shop"].wanted == 5
    instances.workload_changed("demo/shop-1-deployment", WorkloadFacts("demo/shop", 2), WorkloadFacts("demo/shop", 0))
    assert instances.running["demo/shop"].wanted == 3


def test_a_workload_scaled_to_zero_is_known_and_one_that_went_is_not() -> None:
    instances = Instances()
    zero = WorkloadFacts("demo/shop", 0)
    instances.workload_changed("demo/shop", None, zero)
    assert instances.running == {"demo/shop": Running(0, 0, 0)}
    instances.workload_changed("demo/shop", zero, None)
    assert instances.running == {}


def test_where_no_deployment_speaks_what_exists_is_what_is_wanted() -> None:
    instances = Instances()
    instances.pod_changed("a", None, shop_pod())
    assert instances.running["demo/shop"] == Running(1, 1, 0)


@pytest.mark.parametrize("fields", [{"phase": "Failed"}, {"deleted": True}])
def test_what_has_ended_or_is_being_deleted_is_no_instance(fields: dict[str, Any]) -> None:
    instances = Instances()
    before, after = shop_pod(ready=True), shop_pod(**fields)
    instances.pod_changed("a", None, before)
    instances.pod_changed("a", before, after)
    assert instances.running == {}
    instances.pod_changed("a", after, None)
    assert instances.running == {}


def test_a_pod_of_nobody_is_not_counted() -> None:
    instances = Instances()
    instances.pod_changed("a", None, read_pod(pod("p", "n1")))
    assert instances.running == {}


def test_the_view_of_before_does_not_change_with_what_comes_after() -> None:
    instances = Instances()
    instances.pod_changed("a", None, shop_pod())
    view = instances.running
    assert instances.running is view
    instances.pod_changed("b", None, shop_pod())
    assert view["demo/shop"].existing == 1
    assert instances.running["demo/shop"].existing == 2


POD = st.none() | st.builds(
    lambda owner, bound, ready, phase, deleted: read_pod(
        pod("p", bound, owner=("StatefulSet", owner), ready=ready, phase=phase, deleted=deleted)
    ),
    st.sampled_from("xy"),
    st.none() | st.just("n1"),
    st.booleans(),
    st.sampled_from(["Running", "Failed"]),
    st.booleans(),
)


@given(st.lists(st.tuples(st.sampled_from("abc"), POD), max_size=30))
def test_counts_by_events_are_those_of_a_fresh_list(steps: list[tuple[str, PodFacts | None]]) -> None:
    followed, fresh = Instances(), Instances()
    held: dict[str, PodFacts | None] = {}
    for key, facts in steps:
        followed.pod_changed(key, held.get(key), facts)
        held[key] = facts
    for key, facts in held.items():
        fresh.pod_changed(key, None, facts)
    assert followed.running == fresh.running


def names_of(*keys: str) -> Names:
    names = Names()
    for key in keys:
        names.changed(key, None, True)
    return names


def test_names_are_told_by_kind_and_namespace() -> None:
    kinds = {"namespace": names_of("shop", "empty"), "configmap": names_of("shop/a", "shop/b")}
    kinds["priorityclass"] = names_of("high")
    assert present(kinds) == {
        "priorityclass": {"high"},
        "namespace": {"shop", "empty"},
        "configmap:shop": {"a", "b"},
        "configmap:empty": frozenset(),
    }


def test_nothing_watched_is_none_and_not_nothing() -> None:
    assert present({}) is None
    assert present({"namespace": Names()}) == {"namespace": frozenset()}


def test_names_go_and_the_view_of_before_stays() -> None:
    names = names_of("shop/a", "shop/b")
    before = names.of("shop")
    names.changed("shop/a", True, None)
    assert (before, names.of("shop")) == (frozenset("ab"), frozenset("b"))
    names.changed("shop/b", True, None)
    assert names.of("shop") == frozenset()
    assert names.namespaces == frozenset()


PLACES = (("east", "eu"), ("north", "eu"), ("west", "us"), ("lost", None))


def test_links_of_clusters_win_over_those_of_regions() -> None:
    links = links_between(PLACES, (Link("eu", "us", 40.0, 100.0), Link("east", "west", 30.0)))
    assert links.names == ("east", "north", "west", "lost")
    assert links.delay_ms[0, 2] == links.delay_ms[2, 0] == 30.0
    assert math.isnan(links.bandwidth_mbps[0, 2])
    assert links.delay_ms[1, 2] == links.delay_ms[2, 1] == 40.0
    assert links.bandwidth_mbps[1, 2] == 100.0


def test_the_other_way_may_be_given_as_well() -> None:
    links = links_between(PLACES, (Link("east", "west", 30.0), Link("west", "east", 35.0)))
    assert (links.delay_ms[0, 2], links.delay_ms[2, 0]) == (30.0, 35.0)


def test_a_region_may_say_how_far_its_clusters_are_from_each_other() -> None:
    links = links_between(PLACES, (Link("eu", "eu", 2.0),))
    assert links.delay_ms[0, 1] == links.delay_ms[1, 0] == 2.0
    assert links.delay_ms.diagonal().tolist() == [0.0] * 4


def test_what_nobody_said_is_unknown() -> None:
    links = links_between(PLACES, (Link("eu", "us", 40.0),))
    assert math.isnan(links.delay_ms[0, 3])
    assert math.isnan(links.delay_ms[0, 1])
    with pytest.raises(ValueError, match="read-only"):
        links.delay_ms[0, 0] = 1.0

"""A manifest and its shares become the objects of the clusters, and their numbers add up to the whole."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation import labels
from federation.manifest import object_for, read_manifest
from federation.manifest.share import divide, marked
from prewarm.domain import InputError
from tests.federation.manifest.made import Json, deployment, job, service

SHARES = {"eu-1": 4, "eu-2": 2}


def part(body: Json, cluster: str, shares: dict[str, int] | None = None) -> Json:
    made = object_for(body, shares or SHARES, cluster)
    assert made is not None
    return made


def scale_of(body: Json) -> dict[str, str]:
    notes = body["spec"]["template"].get("metadata", {}).get("annotations", {})
    return {name.rpartition("/")[2]: value for name, value in notes.items()}


def notes_of(body: Json) -> dict[str, str]:
    """Annotations, without the digest."""
    return {name: value for name, value in body["metadata"]["annotations"].items() if name != labels.APPLIED}


def test_each_cluster_gets_its_replicas_and_our_mark() -> None:
    body = part(deployment(replicas=6), "eu-1")
    assert body["spec"]["replicas"] == 4
    assert body["metadata"]["labels"] == {"app": "checkout", labels.MANAGED_BY: "prewarm"}
    assert notes_of(body) == {labels.WORKLOAD: "shop/checkout"}
    assert body["spec"]["template"] == deployment()["spec"]["template"]


def test_a_cluster_without_a_share_gets_no_object() -> None:
    assert object_for(deployment(), SHARES, "eu-3") is None
    assert object_for(deployment(), SHARES | {"eu-3": 0}, "eu-3") is None


def test_the_manifest_itself_is_not_changed() -> None:
    for body in (deployment(replicas=6), service({"min-scale": "6"}), job({"parallelism": 6})):
        before = copy.deepcopy(body)
        part(body, "eu-1")
        assert body == before


def test_an_exported_object_loses_what_its_server_added() -> None:
    body = deployment(annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}", "mine": "kept"})
    body["metadata"] |= {"uid": "u", "resourceVersion": "7", "managedFields": [], "ownerReferences": [{}]}
    body["status"] = {"replicas": 3}
    made = part(body, "eu-1")
    assert set(made) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(made["metadata"]) == {"name", "namespace", "labels", "annotations"}
    assert notes_of(made) == {"mine": "kept", labels.WORKLOAD: "shop/checkout"}


def test_a_service_has_its_floor_and_ceiling_divided() -> None:
    body = service({"min-scale": "6", "max-scale": "10"})
    assert scale_of(part(body, "eu-1")) == {"min-scale": "4", "max-scale": "7"}
    assert scale_of(part(body, "eu-2")) == {"min-scale": "2", "max-scale": "3"}


def test_old_spellings_of_bounds_do_not_stand_beside_the_new_ones() -> None:
    assert scale_of(part(service({"minScale": "6", "maxScale": "10"}), "eu-1")) == {"min-scale": "4", "max-scale": "7"}


def test_a_service_that_may_sleep_gets_no_floor() -> None:
    assert scale_of(part(service(), "eu-1", {"eu-1": 1})) == {}
    assert scale_of(part(service({"max-scale": "9"}), "eu-1", {"eu-1": 1})) == {"max-scale": "9"}
    asked = service(annotations={labels.REPLICAS: "6"})
    assert scale_of(part(asked, "eu-2")) == {"min-scale": "2"}


def test_every_part_may_hold_its_floor() -> None:
    body = service({"min-scale": "6", "max-scale": "6"})
    assert [scale_of(part(body, name))["max-scale"] for name in SHARES] == ["4", "2"]


def test_a_job_in_one_cluster_is_as_it_was_written() -> None:
    body = job({"parallelism": 6, "completions": 40})
    assert part(body, "eu-1", {"eu-1": 6})["spec"] == body["spec"]


def test_a_split_job_divides_its_work() -> None:
    body = job({"parallelism": 6, "completions": 40})
    made = [part(body, name)["spec"] for name in SHARES]
    assert [(one["parallelism"], one["completions"]) for one in made] == [(4, 27), (2, 13)]
    queue = job({"parallelism": 6})
    assert [part(queue, name)["spec"].get("completions") for name in SHARES] == [None, None]


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=8),
    st.integers(0, 500),
    st.lists(st.integers(0, 5), min_size=8, max_size=8),
)
def test_parts_sum_to_the_whole_and_none_is_under_its_least(weights: list[int], total: int, least: list[int]) -> None:
    least = least[: len(weights)]
    if sum(least) > total:
        with pytest.raises(InputError, match="cannot be divided"):
            divide(total, weights, least)
        return
    parts = divide(total, weights, least)
    assert sum(parts) == total
    assert all(part >= floor for part, floor in zip(parts, least, strict=True))
    if not any(least):
        exact = [total * weight / sum(weights) for weight in weights]
        assert all(abs(part - wish) < 1 for part, wish in zip(parts, exact, strict=True))


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9), min_size=1), st.integers(0, 60))
def test_the_objects_of_all_clusters_add_up(shares: dict[str, int], spare: int) -> None:
    total = sum(shares.values())
    if not total:
        return
    body = service({"min-scale": str(total), "max-scale": str(total + spare)})
    made = [one for name in shares if (one := object_for(body, shares, name)) is not None]
    floors = [int(scale_of(one)["min-scale"]) for one in made]
    ceilings = [int(scale_of(one)["max-scale"]) for one in made]
    assert (sum(floors), sum(ceilings)) == (total, total + spare)
    assert all(floor <= most for floor, most in zip(floors, ceilings, strict=True))
    replicas = [one["spec"]["replicas"] for name in shares if (one := object_for(deployment(), shares, name))]
    assert sum(replicas) == total


@given(st.integers(1, 9))
def test_what_one_cluster_gets_reads_back_as_its_share(replicas: int) -> None:
    for body in (deployment(replicas=9), service({"min-scale": "9"}), job({"parallelism": 9})):
        made = part(body, "b", {"a": 9, "b": replicas})
        assert read_manifest(made, "made").workload.replicas == replicas


def test_a_companion_is_marked_and_otherwise_left_alone() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "s"}, "data": {"a": "1"}}
    made = marked(body)
    assert made["data"] == {"a": "1"}
    assert made["metadata"]["labels"] == {labels.MANAGED_BY: "prewarm"}
    assert notes_of(made) == {}


def test_the_same_object_has_the_same_digest_however_often_it_is_marked() -> None:
    once, other = marked(deployment()), marked(deployment(replicas=4))
    assert marked(once) == once
    digests = [one["metadata"]["annotations"][labels.APPLIED] for one in (once, other)]
    assert digests[0] != digests[1]
    turned = dict(reversed(deployment().items()))
    assert marked(turned)["metadata"]["annotations"][labels.APPLIED] == digests[0]


def test_fields_that_are_null_are_not_sent() -> None:
    body = deployment(annotations={"note": None})
    body["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": None}]
    made = marked(body)
    assert "note" not in made["metadata"]["annotations"]
    assert made["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A"}]


def test_a_secret_has_no_digest_that_would_help_to_guess_it() -> None:
    made = marked(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "t", "namespace": "s"}, "data": {"a": "eA=="}}
    )
    assert "annotations" not in made["metadata"]

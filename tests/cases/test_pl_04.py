"""Architecture: instances go only where the image runs, and an assumption is said."""

from typing import Any

from federation.placement.pipeline import place
from federation.placement.workload import Affinity, Requirement
from federation.snapshot import ARCH_LABEL, Snapshot
from tests.federation.building import NOW, cluster, fleet, workload


def _fleet() -> Snapshot:
    return fleet(
        cluster("arm", price=0.5).arch("arm64", 3, cpu="32", memory="64Gi"),
        cluster("mixed", price=0.8).arch("arm64", 1, cpu="16", memory="64Gi").arch("amd64", 1, cpu="1", memory="64Gi"),
        cluster("intel", price=1.5).arch("amd64", 1, cpu="16", memory="64Gi"),
    )


def _counts(**fields: Any) -> dict[str, int]:
    placement = place(_fleet(), workload("shop/legacy", 3, asks={"cpu": "1"}, **fields), now=NOW)
    return {one.cluster: one.replicas for one in placement.shares}


def test_one_on_the_mixed_cluster_two_on_intel_none_on_arm() -> None:
    assert _counts(architecture=("amd64",)) == {"mixed": 1, "intel": 2}


def test_a_node_selector_on_the_architecture_says_the_same() -> None:
    selector = ((Requirement(ARCH_LABEL, "In", ("amd64",)),),)
    assert _counts(affinity=Affinity(node_terms=selector)) == {"mixed": 1, "intel": 2}


def test_without_an_architecture_the_answer_says_what_was_assumed_and_how_to_state_it() -> None:
    placement = place(_fleet(), workload("shop/legacy", 3, asks={"cpu": "1"}), now=NOW)
    assert {one.cluster: one.replicas for one in placement.shares} == {"mixed": 1, "intel": 2}
    said = [reason.text for reason in placement.reasons if reason.factor == "architecture"]
    assert said == ["architecture amd64 assumed; state it with nodeSelector kubernetes.io/arch"]
    dropped = {one.cluster: one.reason for one in placement.filtered}
    assert dropped == {"arm": "no node of architecture amd64 (assumed), only arm64"}


def test_an_image_for_both_may_run_on_the_cheap_one() -> None:
    assert _counts(architecture=("amd64", "arm64")) == {"arm": 3}


def test_in_a_fleet_of_one_architecture_nothing_is_assumed() -> None:
    only_arm = fleet(cluster("arm").arch("arm64", 1, cpu="4", memory="8Gi"))
    placement = place(only_arm, workload("shop/legacy", 3, asks={"cpu": "1"}), now=NOW)
    assert {one.cluster: one.replicas for one in placement.shares} == {"arm": 3}
    assert [reason for reason in placement.reasons if reason.factor == "architecture"] == []

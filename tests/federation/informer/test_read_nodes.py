"""A Node object into its class, what it offers, and whether it takes pods."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.informer.read.nodes import NOT_READY_TAINTS, read_node
from federation.snapshot import ARCH_LABEL, NodeClass, Taint
from tests.federation.informer.made import GI, node

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def test_allocatable_counts_and_not_capacity() -> None:
    facts = read_node(node("n1", cpu="3920m", memory="7Gi", pods="58", more={"ephemeral-storage": "20Gi"}))
    assert dict(facts.allocatable) == {"cpu": 3920, "memory": 7 * GI, "pods": 58, "ephemeral-storage": 20 * GI}
    assert facts.closed is None
    assert facts.readable


def test_what_nobody_can_ask_for_is_left_out() -> None:
    more = {"hugepages-2Mi": "0", "attachable-volumes-aws-ebs": "25", "nvidia.com/gpu": "8"}
    assert dict(read_node(node("n1", more=more)).allocatable) == {
        "cpu": 4000,
        "memory": 8 * GI,
        "pods": 110,
        "nvidia.com/gpu": 8,
    }


def test_the_class_has_labels_and_taints_in_order_without_the_host_name() -> None:
    taints = [
        {"key": "z", "effect": "NoSchedule"},
        {"key": "a", "value": "1", "effect": "NoExecute"},
        {"key": "a", "value": "1", "effect": "NoExecute"},
    ]
    one = read_node(node("n1", labels={"zone": "b", ARCH_LABEL: "arm64"}, taints=taints)).node_class
    two = read_node(node("n2", labels={ARCH_LABEL: "arm64", "zone": "b"}, taints=taints[::-1])).node_class
    assert (
        one
        == two
        == NodeClass(
            ((ARCH_LABEL, "arm64"), ("zone", "b")), (Taint("a", "1", "NoExecute"), Taint("z", "", "NoSchedule"))
        )
    )


@pytest.mark.parametrize(
    ("fields", "closed"),
    [
        ({}, None),
        ({"ready": "False"}, "not ready"),
        ({"ready": "Unknown"}, "readiness unknown"),
        ({"cordoned": True}, "cordoned"),
        ({"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}, None),
        *(({"taints": [{"key": key, "effect": "NoExecute"}]}, f"taint {key}") for key in sorted(NOT_READY_TAINTS)),
    ],
)
def test_readiness_cordon_and_the_clusters_own_taints_close_a_node(fields: dict[str, Any], closed: str | None) -> None:
    assert read_node(node("n1", **fields)).closed == closed


def test_a_node_without_conditions_has_not_said_that_it_is_ready() -> None:
    raw = node("n1")
    raw["status"].pop("conditions")
    assert read_node(raw).closed == "readiness unknown"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"cpu": "four"}, "'four'"),
        ({"memory": "-1"}, "less than none of memory"),
        ({"more": {"nvidia.com/gpu": "?"}}, "'?'"),
    ],
)
def test_one_field_that_cannot_be_read_makes_the_node_unknown(fields: dict[str, Any], says: str) -> None:
    facts = read_node(node("n1", **fields))
    assert not facts.readable
    assert facts.allocatable == ()
    assert says in str(facts.closed)


@pytest.mark.parametrize("missing", ["cpu", "memory", "pods"])
def test_what_a_node_does_not_tell_is_unknown_and_not_zero(missing: str) -> None:
    raw = node("n1")
    del raw["status"]["allocatable"][missing]
    facts = read_node(raw)
    assert not facts.readable
    assert facts.closed is not None
    assert f"allocatable {missing}" in facts.closed


@given(meta=JSON, spec=JSON, status=JSON)
def test_no_object_however_wrong_is_an_exception(meta: object, spec: object, status: object) -> None:
    facts = read_node({"metadata": meta, "spec": spec, "status": status})
    assert facts.closed is not None

"""Filters on nodes: architecture, taints, labels, GPU model, resources that exist, and room on single nodes.

The first four look at kinds of nodes. A cluster is dropped by the first of them that leaves it no node which takes
work, so the reason names what the workload or the cluster would have to change.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from federation.placement.filters.case import Case, Verdict
from federation.placement.filters.hosts import asks_host
from federation.placement.fleet.room import needs_gpu
from federation.placement.fleet.selectors import repelling
from federation.quantity import format_quantity
from federation.snapshot import ARCH_LABEL, HOSTNAME_LABEL, PODS
from prewarm.domain import BoolArray


def takes_work(case: Case) -> Verdict | None:
    """Drops clusters without any node that is ready and schedulable, unless autoscaling would add one."""
    if case.everywhere:
        return None
    usable = case.fleet.any_row(case.fleet.frame.states.rows.open[case.fleet.numbers]) | (case.declared > 0)
    return Verdict(~usable, lambda at: f"none of its {_node_count(case, at)} nodes takes work", holds=True)


def architecture(case: Case) -> Verdict | None:
    """Drops clusters without a node of an architecture that the image runs on."""
    wanted = (case.kinds.assumed,) if case.kinds.assumed else case.workload.architecture

    def why(at: int) -> str:
        there = sorted({kind.label(ARCH_LABEL) or "unknown" for kind in case.fleet.clusters[at].nodes.classes})
        assumed = " (assumed)" if case.kinds.assumed else ""
        return f"no node of architecture {', '.join(wanted)}{assumed}, only {', '.join(there)}"

    return _without(case, case.kinds.architecture, why)


def taints(case: Case) -> Verdict | None:
    """Drops clusters where every remaining node has a taint that is not tolerated."""

    def why(at: int) -> str:
        kept = repelling(
            (taint for kind in case.fleet.clusters[at].nodes.classes for taint in kind.taints),
            case.workload.tolerations,
        )
        return "no node whose taints it tolerates" + (f" ({kept.key}={kept.value}:{kept.effect})" if kept else "")

    return _without(case, case.kinds.architecture & case.kinds.taints, why)


def node_affinity(case: Case) -> Verdict | None:
    """Drops clusters without a node that the node affinity or the nodeSelector accepts."""
    terms = case.workload.affinity.node_terms
    accepted = case.kinds.architecture & case.kinds.taints & case.kinds.affinity

    def why(at: int) -> str:
        text = " or ".join(
            " and ".join(f"{rule.key} {rule.operator} {', '.join(rule.values)}".rstrip() for rule in group)
            for group in terms
        )
        if case.fleet.clusters[at].nodes.names is None and asks_host(terms):
            return f"its nodes are not known by name, so {HOSTNAME_LABEL} matches none ({text})"
        return f"no node with {text}"

    return _without(case, accepted, why, by_name=True)


def gpu_model(case: Case) -> Verdict | None:
    """Drops clusters without a node of an allowed GPU model."""
    kinds = case.kinds
    accepted = kinds.architecture & kinds.taints & kinds.affinity & kinds.model
    return _without(case, accepted, lambda _: f"no GPU of model {', '.join(case.workload.gpu.models)}", by_name=True)


def resources(case: Case) -> Verdict | None:
    """Drops clusters where something that is asked for does not exist on any node that takes work."""
    fleet = case.fleet
    lacking = np.full(len(fleet), bool(case.ask.unknown))
    for resource, _ in case.ask.amounts:
        lacking |= fleet.total[resource] == 0
    if needs_gpu(case.ask.gpu):
        lacking |= fleet.gpus == 0

    def why(at: int) -> str:
        absent = [fleet.resources[resource] for resource, _ in case.ask.amounts if fleet.total[resource, at] == 0]
        return f"no {', '.join([*absent, *case.ask.unknown]) or 'GPUs'}"

    return Verdict(lacking & (case.declared == 0), why, holds=True)


def quota(case: Case) -> Verdict | None:
    """Drops clusters whose quota for the namespace is used up."""
    if not case.fleet.facts.limited:
        return None
    text = f"quota of namespace {case.workload.namespace} is used up"
    return Verdict((case.quota <= 0) & (case.occupied == 0), lambda _: text)


def room(case: Case) -> Verdict | None:
    """Drops clusters where no node has room for one instance, whatever their sums say."""
    full = case.fits + case.declared + case.occupied == 0
    if not full.any():
        return None
    largest = _largest(case)
    return Verdict(full, lambda at: _why_full(case, at, [most[at] for most in largest]))


def gang(case: Case) -> Verdict | None:
    """Drops clusters that cannot take all instances of a workload that must not be split."""
    if case.workload.splittable:
        return None
    space = case.occupied + case.fits + case.declared
    return Verdict(
        space < case.workload.replicas,
        lambda at: f"room for {space[at]} of {case.workload.replicas} instances that must stay together",
    )


def _without(case: Case, accepted: BoolArray, why: Callable[[int], str], *, by_name: bool = False) -> Verdict | None:
    """Drops clusters whose nodes that take work are all of kinds that are not accepted, or by_name not themselves."""
    by_name = by_name and case.taking is not None
    if case.everywhere or (accepted.all() and not by_name):
        return None
    states = case.fleet.frame.states.rows
    rows = (states.open & accepted[states.class_of])[case.fleet.numbers]
    if by_name and case.taking is not None:
        rows &= case.taking > 0
    reached = case.fleet.any_row(rows) | (case.declared > 0)
    return Verdict(~reached, why, holds=True)


def _node_count(case: Case, at: int) -> int:
    return int(case.fleet.blocks[at].rows.count.sum())


def _largest(case: Case) -> list[list[int]]:
    """For each amount of the request the most of it that is free on one accepting node of each cluster."""
    fleet, free = case.fleet, case.fleet.frame.states.rows.free
    accepting = [np.where(case.accepts, free[resource], 0)[fleet.numbers] for resource, _ in case.ask.amounts]
    return [fleet.highest(column, none=0).astype(np.int64).tolist() for column in accepting]


def _why_full(case: Case, at: int, largest: list[int]) -> str:
    """The largest node against the request, or who holds the room."""
    if case.promised[at] > 0 and case.nodes_fit[at] > 0:
        return f"its room for {case.nodes_fit[at]} is promised to other workloads"
    asked = ", ".join(_amount(case, *one) for one in case.ask.amounts if one != (PODS, 1))
    pairs = zip(case.ask.amounts, largest, strict=True)
    most = [_amount(case, resource, free) for (resource, amount), free in pairs if free < amount]
    if most:
        return f"no node has room: {asked} asked, at most {', '.join(most)} free on one node"
    if needs_gpu(case.ask.gpu):
        return f"no node has room: {_gpu_text(case)} free together with {asked}"
    return f"no node has all of {asked} free at once"


def _amount(case: Case, resource: int, amount: int) -> str:
    name = case.fleet.resources[resource]
    return f"{format_quantity(name, amount)} {name}"


def _gpu_text(case: Case) -> str:
    need = case.ask.gpu
    return f"{need.count} whole GPUs" if need.count else f"{need.milli} thousandths of one GPU"

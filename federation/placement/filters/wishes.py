"""Filters on what the workload says of clusters: regions, names, labels, tenant, its data, and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from federation.labels import TENANT
from federation.placement.filters.case import Case, Verdict
from federation.placement.fleet.selectors import satisfies
from federation.snapshot import Cluster

_KINDS = {"knative": "Knative Services"}


def region(case: Case) -> Verdict | None:
    """Drops clusters outside the allowed regions; an unknown region is not allowed."""
    return _within(case, case.workload.affinity.regions, "allowed")


def residency(case: Case) -> Verdict | None:
    """Drops clusters outside the regions in which its data may be."""
    return _within(case, case.workload.residency, "allowed for its data")


def named(case: Case) -> Verdict | None:
    """Drops clusters that the workload does not name or that it excludes, by member id or context."""
    affinity = case.workload.affinity

    def why(one: Cluster) -> str | None:
        if one.name in affinity.exclude or one.context in affinity.exclude:
            return "the workload excludes it"
        if affinity.clusters and one.name not in affinity.clusters and one.context not in affinity.clusters:
            return f"not among the clusters it names ({_listed(affinity.clusters)})"
        return None

    return _judged(case, bool(affinity.clusters or affinity.exclude), why)


def labelled(case: Case) -> Verdict | None:
    """Drops clusters whose labels do not meet the workload's expressions."""
    wanted = case.workload.affinity.cluster_labels

    def why(one: Cluster) -> str | None:
        missed = next((rule for rule in wanted if not satisfies(one.labels, rule)), None)
        if missed is None:
            return None
        return f"cluster label must be {missed.key} {missed.operator} {_listed(missed.values)}".rstrip()

    return _judged(case, bool(wanted), why)


def tenant(case: Case) -> Verdict | None:
    """Drops clusters of another tenant (label prewarm.dev/tenant); without the label a cluster is for everybody."""

    def why(one: Cluster) -> str | None:
        owner = one.labels.get(TENANT)
        if owner is None or owner == case.workload.tenant:
            return None
        return f"reserved for tenant {owner}"

    return _judged(case, case.fleet.facts.owned, why)


def served(case: Case) -> Verdict | None:
    """Drops clusters whose API is known not to have its kind."""
    kind = case.workload.kind
    if not case.fleet.facts.lacks_kinds:
        return None
    dropped = np.array([kind in one.unserved for one in case.fleet.clusters], dtype=np.bool_)
    return Verdict(dropped, lambda _: f"its API has no {_KINDS.get(kind, kind)}")


def needs(case: Case) -> Verdict | None:
    """Drops clusters where something that it needs is known to be absent, unless that will be brought there.

    What is brought is copied from a cluster that has it; a priority class is never brought.
    """
    if not case.fleet.facts.watched:
        return None
    wanted = sorted((kind, name) for kind, names in case.workload.needs.items() for name in names)
    wanted.sort(key=lambda one: one[0] != "namespace")
    brought = {one for one in wanted if case.workload.brings_needs and _held(case, *one)}
    if case.workload.priority_class:
        wanted.append(("priorityclass", case.workload.priority_class))

    def why(one: Cluster) -> str | None:
        if one.present is None:
            return None
        for kind, name in wanted:
            there = one.present.get(kind)
            if there is not None and name not in there and (kind, name) not in brought:
                nowhere = case.workload.brings_needs and kind != "priorityclass"
                return _absent(kind, name) + (", and no cluster has it to copy" if nowhere else "")
        return None

    return _judged(case, bool(wanted), why, holds=True)


def _held(case: Case, kind: str, name: str) -> bool:
    """Whether some cluster may have it: one has, or of one it is not known."""
    kept = [one.present.get(kind) if one.present is not None else None for one in case.fleet.clusters]
    return any(there is None or name in there for there in kept)


def _absent(kind: str, name: str) -> str:
    what, _, namespace = kind.partition(":")
    return f"no {what} {namespace}/{name}" if namespace else f"no {what} {name}"


def _judged(case: Case, asked: bool, why: Callable[[Cluster], str | None], *, holds: bool = False) -> Verdict | None:
    if not asked:
        return None
    reasons = [why(one) for one in case.fleet.clusters]
    dropped = np.array([text is not None for text in reasons], dtype=np.bool_)
    return Verdict(dropped, lambda at: reasons[at] or "", holds)


def _within(case: Case, allowed: tuple[str, ...], what: str) -> Verdict | None:
    """Drops clusters outside some regions, all of them with the words for their region."""
    words: dict[str | None, str | None] = dict.fromkeys(allowed)

    def why(one: Cluster) -> str | None:
        if one.region not in words:
            place = "region unknown" if one.region is None else f"region {one.region}"
            words[one.region] = f"{place} not {what} ({_listed(allowed)})"
        return words[one.region]

    return _judged(case, bool(allowed), why)


def _listed(values: Iterable[str]) -> str:
    return ", ".join(values)

"""Filters on how a cluster itself stands: whether it answers, how old what we know is, and what people said of it."""

from __future__ import annotations

import numpy as np

from federation.placement.filters.case import Case, Verdict
from federation.placement.fleet.facts import STATES
from federation.placement.safety.overrides import spoken_of
from federation.snapshot import Cluster, MemberState
from prewarm.domain import Action

_TEXT = {
    MemberState.DARK: "unhealthy: does not answer",
    MemberState.REFUSED: "unhealthy: refuses our credentials",
    MemberState.CORDONED: "cordoned: nothing new goes there",
}


def lost(case: Case) -> Verdict | None:
    """Drops clusters that do not answer; what ran there counts as gone."""
    return _in_state(case, MemberState.DARK)


def refused(case: Case) -> Verdict | None:
    """Drops clusters that refuse us; what runs there is out of our hands."""
    return _in_state(case, MemberState.REFUSED, holds=True, unsure=True)


def draining(case: Case) -> Verdict | None:
    """Drops clusters that a person empties; what runs there has to leave."""
    names = case.terms.draining
    if not names:
        return None
    clusters = case.fleet.clusters
    dropped = np.array([one.name in names for one in clusters], dtype=np.bool_)
    return Verdict(dropped, lambda at: "being drained" + (f" ({clusters[at].why})" if clusters[at].why else ""))


def cordoned(case: Case) -> Verdict | None:
    """Drops clusters that a person cordoned; what runs there stays."""
    return _in_state(case, MemberState.CORDONED, holds=True)


def outdated(case: Case) -> Verdict | None:
    """Drops clusters whose nodes or pods were not seen for `stale_s`; what runs there stays and is not cut."""
    limit = case.terms.policy.stale_s
    late = ~(case.now - case.fleet.facts.seen <= limit)

    def why(at: int) -> str:
        age = oldest_s(case.fleet.clusters[at], case.now)
        if age is None:
            return "its nodes or pods were never seen"
        return f"nodes or pods last seen {age:.0f} s ago, limit {limit:.0f} s"

    return Verdict(late, why, holds=True, unsure=True)


def excluded(case: Case) -> Verdict | None:
    """Drops clusters that a person excluded for this workload."""
    found = spoken_of(case.terms.overrides, case.workload.key, now=case.now)
    by_cluster = {one.cluster: one for one in found if one.action is Action.EXCLUDE and one.cluster is not None}
    if not by_cluster:
        return None
    dropped = np.zeros(len(case.fleet), dtype=np.bool_)
    for name in by_cluster:
        if name in case.fleet.position:
            dropped[case.fleet.position[name]] = True

    def why(at: int) -> str:
        override = by_cluster[case.fleet.clusters[at].name]
        return f"excluded by {override.owner}: {override.reason}"

    return Verdict(dropped, why)


def oldest_s(cluster: Cluster, now: float) -> float | None:
    """Age of the older of what placement is judged by, nodes and pods; None where one was never seen."""
    nodes, pods = cluster.ages.nodes, cluster.ages.pods
    return None if nodes is None or pods is None else max(0.0, now - min(nodes, pods))


def _in_state(case: Case, state: MemberState, *, holds: bool = False, unsure: bool = False) -> Verdict | None:
    clusters, facts = case.fleet.clusters, case.fleet.facts
    if STATES.index(state) not in facts.states:
        return None
    return Verdict(facts.in_state(state) > 0, lambda at: _state(clusters[at]), holds, unsure)


def _state(cluster: Cluster) -> str:
    return _TEXT[cluster.state] + (f" ({cluster.why})" if cluster.why else "")

"""The reasons of a placement in sentences, the most telling first."""

from __future__ import annotations

import numpy as np

from federation.placement.divide.allot import Allotted
from federation.placement.factors.judged import Judged
from federation.placement.scorer import FACTORS
from federation.placement.scores import Scores
from federation.snapshot import ARCH_LABEL
from prewarm.domain import Reason

MILLI, GIB = 1_000, 1 << 30


def reasons_of(judged: Judged, allotted: Allotted, ranked: Scores) -> tuple[Reason, ...]:
    """Why these numbers."""
    found = [Reason("override", words) for words in allotted.bounds.words]
    found += [Reason("failback", words) for words in allotted.said]
    found += _unknown(judged)
    found += _choice(ranked)
    found += _measured(judged, ranked)
    found += _overflow(judged, allotted)
    found += _new_nodes(judged, allotted)
    found += _shape(judged, allotted)
    return tuple(found)


def _unknown(judged: Judged) -> list[Reason]:
    """Clusters that the workload names and nobody knows: a slip of the pen would otherwise exclude nothing."""
    affinity, fleet = judged.case.workload.affinity, judged.case.fleet
    asked = {*affinity.clusters, *affinity.exclude}
    if not asked:
        return []
    known = {*fleet.names, *(one.context for one in fleet.clusters)}
    return [Reason("clusters", f"no cluster is called {name}") for name in sorted(asked - known)]


def _choice(ranked: Scores) -> list[Reason]:
    """What made the first better than the second."""
    if not ranked:
        return []
    first = float(ranked.totals[0])
    if len(ranked) == 1:
        return [Reason("score", f"{ranked.clusters[0]} is the only cluster that passes", first)]
    second = float(ranked.totals[1])
    mine, others = (ranked.values[:2] * ranked.weights).tolist()
    gain, name = max((a - b, label) for a, b, label in zip(mine, others, ranked.labels, strict=True))
    ahead = f"{ranked.clusters[0]} scores {first:.3f}, {ranked.clusters[1]} {second:.3f}"
    text = f"{ahead}: best by {name} (+{gain:.3f})" if gain > 0 else f"{ahead}: equal, decided by name"
    return [Reason("score", text, first, second)]


def _measured(judged: Judged, ranked: Scores) -> list[Reason]:
    """Of the best two, what is used beyond requests, which headroom leaves out; nothing where nobody measured."""
    fleet, found = judged.case.fleet, []
    if not fleet.overstepped.any() or not judged.weighing.weights[FACTORS.index("headroom")]:
        return []
    for at in [fleet.position[name] for name in ranked.clusters[:2]]:
        cores, memory = (fleet.overstepped[:, at] / (MILLI, GIB)).tolist()
        if cores or memory:
            seen = fleet.clusters[at].ages.metrics
            age = "at an unknown time" if seen is None else f"{max(judged.case.now - seen, 0.0):.0f} s ago"
            text = f"{fleet.names[at]} uses {cores:.1f} cores and {memory:.1f} GiB beyond requests, measured {age}"
            found.append(Reason("headroom", f"{text}; its headroom is without them", cores, memory))
    return found


def _overflow(judged: Judged, allotted: Allotted) -> list[Reason]:
    """Instances that are not where they were best because there is no room."""
    if allotted.preferred is None:
        return []
    short = np.maximum(allotted.preferred - allotted.counts, 0)
    clusters = judged.case.fleet.clusters
    full = ", ".join(f"{short[at]} more in {clusters[at].name}" for at in np.flatnonzero(short).tolist())
    missing, elsewhere = int(short.sum()), int(np.maximum(allotted.counts - allotted.preferred, 0).sum())
    who = "they go" if elsewhere >= missing else f"{elsewhere} of them go"
    text = f"no room for {full}" + (f"; {who} to the next best" if elsewhere else "")
    return [Reason("overflow", text, float(missing))]


def _new_nodes(judged: Judged, allotted: Allotted) -> list[Reason]:
    clusters = judged.case.fleet.clusters
    found = []
    for at in np.flatnonzero(allotted.waiting).tolist():
        headroom = clusters[at].headroom
        start_s = headroom.start_s if headroom is not None else 0.0
        number = int(allotted.waiting[at])
        text = f"{number} in {clusters[at].name} wait for nodes that autoscaling adds, about {start_s:.0f} s"
        found.append(Reason("autoscale_headroom", text, float(number)))
    return found


def _shape(judged: Judged, allotted: Allotted) -> list[Reason]:
    case, found = judged.case, []
    if case.kinds.assumed:
        text = f"architecture {case.kinds.assumed} assumed; state it with nodeSelector {ARCH_LABEL}"
        found.append(Reason("architecture", text))
    used, asked = int((allotted.counts > 0).sum()), case.workload.spread.min_clusters
    if 0 < used < min(asked, allotted.replicas):
        found.append(Reason("spread", f"spread over {used} of {asked} clusters: no other has room", used, asked))
    if allotted.unplaced:
        what = "wait: placement is paused" if case.terms.policy.paused and allotted.vetoes else "fit nowhere"
        text = f"{allotted.unplaced} of {allotted.replicas} instances {what}"
        found.append(Reason("unplaced", text, allotted.unplaced, allotted.replicas))
    if case.workload.one_per_node is not None:
        found.append(Reason("one_per_node", f"a node takes one instance ({case.workload.one_per_node})"))
    found += [Reason("left_open", words) for words in case.workload.left_open]
    promised = int(np.minimum(case.promised, case.nodes_fit)[judged.at].sum())
    if promised:
        found.append(Reason("reserved", f"room for {promised} is promised to others and left out", promised))
    return found

"""The filters in their order. The first that drops a cluster is the reason that the answer gives for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.placement.answer import Filtered
from federation.placement.filters import nodes, standing, wishes
from federation.placement.filters.case import Case, Filter
from prewarm.domain import BoolArray

FILTERS: tuple[tuple[str, Filter], ...] = (
    ("state", standing.lost),
    ("state", standing.refused),
    ("state", standing.draining),
    ("state", standing.cordoned),
    ("override", standing.excluded),
    ("clusters", wishes.named),
    ("region", wishes.region),
    ("residency", wishes.residency),
    ("tenant", wishes.tenant),
    ("labels", wishes.labelled),
    ("freshness", standing.outdated),
    ("kind", wishes.served),
    ("needs", wishes.needs),
    ("nodes", nodes.takes_work),
    ("architecture", nodes.architecture),
    ("taints", nodes.taints),
    ("affinity", nodes.node_affinity),
    ("gpu_model", nodes.gpu_model),
    ("resources", nodes.resources),
    ("quota", nodes.quota),
    ("room", nodes.room),
    ("gang", nodes.gang),
)
"""By name, cheapest and most telling first."""


@dataclass(frozen=True, slots=True)
class Sieved:
    """open: (C,) clusters that passed. held: (C,) dropped, but what runs there stays. unsure: (C,) and is not cut."""

    open: BoolArray
    held: BoolArray
    unsure: BoolArray
    filtered: tuple[Filtered, ...]


def sieve(case: Case) -> Sieved:
    """Every cluster through the filters until one drops it."""
    count, names = len(case.fleet), case.fleet.names
    passing = np.ones(count, dtype=np.bool_)
    held, unsure = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    filtered: list[tuple[int, Filtered]] = []
    for name, judge in FILTERS:
        verdict = judge(case)
        if verdict is None or not (dropped := passing & verdict.dropped).any():
            continue
        passing &= ~dropped
        if verdict.holds:
            held |= dropped
        if verdict.unsure:
            unsure |= dropped
        places = np.flatnonzero(dropped).tolist()
        filtered += [(at, Filtered(names[at], name, verdict.why(at))) for at in places]
    filtered.sort(key=lambda pair: pair[0])
    return Sieved(passing, held, unsure, tuple(one for _, one in filtered))

"""The way back: work that had to leave returns to a cluster that has been well for long enough, and not before.

Pure over what is known: where the workload ran (`Home`), where it runs, and since when each cluster is ready. While a
cluster is not yet well for `failback_s` it may keep what it has and gets nothing back; from then on the workload counts
as at home there again, so that steadiness pulls it back instead of holding it away. How the return is carried out
(surge first) is the business of `steps`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from federation.placement.answer import Placement
from federation.placement.terms import Home
from federation.snapshot import Cluster, MemberState, frozen
from prewarm.domain import IntArray

_UNLIMITED = 1 << 40


@dataclass(frozen=True, slots=True)
class Stay:
    """Where a workload was at home, None for nowhere else; before: (C,) what runs; fits: (C,) what more would fit."""

    home: Home | None
    replicas: int
    before: IntArray
    fits: IntArray


@dataclass(frozen=True, slots=True)
class Return:
    """anchor: (C,) where the workload counts as being for steadiness. most: (C,) limit while a cluster is not yet well.

    said: a sentence for each cluster that is not yet well, or that work returns to.
    """

    anchor: IntArray
    most: IntArray
    said: tuple[str, ...]


def well_for_s(cluster: Cluster, now: float) -> float:
    """Seconds since the cluster is ready without a break, 0 where it is not."""
    return max(0.0, now - cluster.since) if cluster.state is MemberState.READY else 0.0


def _waited_s(cluster: Cluster, home: Home, now: float) -> float:
    """Seconds for which work that left could have returned to the cluster."""
    return min(well_for_s(cluster, now), now - home.since)


def way_back(stay: Stay, clusters: tuple[Cluster, ...], *, now: float, failback_s: float) -> Return:
    """Where a workload that left its home counts as being, and what may not return yet."""
    home, before, most = stay.home, stay.before, np.full(len(clusters), _UNLIMITED, dtype=np.int64)
    if home is None:
        return Return(before, most, ())
    at_home = np.array([home.shares.get(one.name, 0) for one in clusters], dtype=np.int64)
    missing = np.maximum(at_home - before, 0)
    said = []
    for at in np.flatnonzero(missing).tolist():
        well_s = _waited_s(clusters[at], home, now)
        if well_s < failback_s:
            missing[at] = 0
            most[at] = before[at]
            if clusters[at].state is MemberState.READY:
                said.append(f"{clusters[at].name} came back {well_s:.0f} s ago and must be well for {failback_s:.0f} s")
        else:
            missing[at] = min(int(missing[at]), int(stay.fits[at]))
            if missing[at]:
                said.append(f"{missing[at]} may return to {clusters[at].name}, well for {well_s:.0f} s")
    total = max(stay.replicas, int(at_home.sum()))
    return Return(_anchored(before, at_home, missing, total=total), most, tuple(said))


def _anchored(before: IntArray, at_home: IntArray, missing: IntArray, *, total: int) -> IntArray:
    """What runs at home and what may return there; what runs elsewhere only as far as `total` is not reached by that.

    So while a return is under way, with the new instances started and the old ones not yet gone, the old ones have no
    pull of their own, and the return is not taken back.
    """
    home_part = np.minimum(before + missing, at_home)
    elsewhere = before - np.minimum(before, at_home)
    left = max(total - int(home_part.sum()), 0)
    anchored: IntArray = home_part + np.clip(left - (np.cumsum(elsewhere) - elsewhere), 0, elsewhere)
    return anchored


def remember(
    home: Home | None, placement: Placement, clusters: tuple[Cluster, ...], *, failback_s: float
) -> Home | None:
    """The home to keep after a decision: made when work has to leave or overflows, dropped when that is over.

    It is over when nothing changes any more and all are back, or could have come back and had better places.
    """
    ran = any(share.before for share in placement.shares)
    known = {one.name: one for one in clusters} if ran or home is not None else {}
    if home is not None:
        return home if _is_open(home, placement, known, failback_s) else None
    lost = [share for share in placement.shares if share.before and known[share.cluster].state is MemberState.DARK]
    if lost:
        return Home(frozen({share.cluster: share.before for share in placement.shares if share.before}), placement.at)
    return Home(placement.preferred, placement.at) if placement.preferred else None


def _is_open(home: Home, placement: Placement, known: Mapping[str, Cluster], failback_s: float) -> bool:
    """Whether something may still return."""
    changes = any(share.replicas != share.before for share in placement.shares)
    if changes or placement.vetoes or placement.preferred:
        return True
    now_at = {share.cluster: share.replicas for share in placement.shares}
    missing = [known[name] for name, count in home.shares.items() if name in known and now_at.get(name, 0) < count]
    return any(_waited_s(one, home, placement.at) < failback_s for one in missing)

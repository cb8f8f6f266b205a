"""What the service knows of the work in the fleet: shapes, how much of each is wanted, and what nobody can tell.

A shape comes from a workload's manifest, else from what its placement was promised, else from its newest pod. A
workload of which none of these speaks is counted and left out: its shape is unknown, not small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from federation.nodes.outlook import Wanted
from federation.placement.fleet.room import GPU_RESOURCES
from federation.placement.reserve.book import Book
from federation.placement.workload import GpuNeed, Workload
from federation.snapshot import GPU_WHOLE, MemberState, Snapshot

TAKES_WORK = frozenset({MemberState.READY, MemberState.SLOW})
"""States of members whose nodes count as room."""
Asked = tuple[Mapping[str, int], GpuNeed]
"""Requests and GPUs of one instance."""


@dataclass(frozen=True, slots=True)
class Work:
    """Wanted instances by workload, and instances whose shape nobody told."""

    wanted: tuple[Wanted, ...]
    unknown: int


@dataclass(slots=True)
class _Count:
    there: int = 0
    running: int = 0
    wanted: int = 0
    claimed: int = 0
    asked: Asked | None = None


def work_in(
    snapshot: Snapshot, book: Book, placed: Mapping[str, Workload], forecast: Mapping[str, int] | None = None
) -> Work:
    """All work that is placed, promised or running. forecast: instances that the last tick wants, by workload."""
    counts: dict[str, _Count] = {}
    _running(counts, snapshot)
    for claims in book.claims.values():
        for claim in claims:
            count = counts.setdefault(claim.workload, _Count())
            count.claimed += claim.instances
            count.asked = (dict(claim.shape[0]), claim.shape[1])
    for key, workload in placed.items():
        count = counts.setdefault(key, _Count())
        count.wanted = max(count.wanted, workload.replicas)
        count.asked = (workload.requests, workload.gpu)
    wanted, unknown, coming = [], 0, forecast or {}
    for key, count in sorted(counts.items()):
        number = max(count.wanted, count.running + count.claimed)
        if count.asked is None:
            unknown += number
        else:
            growth = float(max(coming.get(key, 0) - number, 0))
            wanted.append(Wanted(*count.asked, there=count.there, wanted=number, growth=growth))
    return Work(tuple(wanted), unknown)


def asked_by(each: tuple[tuple[str, int], ...]) -> Asked:
    """The shape of a pod from what it takes; a share of a GPU is told by no standard field, so only whole ones show."""
    requests = dict(each)
    whole = sum(requests.get(name, 0) for name in GPU_RESOURCES)
    return requests, GpuNeed(whole, GPU_WHOLE) if whole else GpuNeed()


def _running(counts: dict[str, _Count], snapshot: Snapshot) -> None:
    for cluster in snapshot.clusters:
        for key, here in cluster.running.items():
            count = counts.setdefault(key, _Count())
            count.running += here.existing
            count.wanted += max(here.wanted, here.existing)
            if cluster.state in TAKES_WORK:
                count.there += max(0, here.existing - here.pending)
            if here.each is not None and count.asked is None:
                count.asked = asked_by(here.each)

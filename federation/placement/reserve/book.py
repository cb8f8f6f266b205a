"""The book of promised room: a frozen value; every operation returns the next book.

A snapshot shows what pods take, seconds after they were asked for. Between a decision and its pods the room must not be
given to somebody else, nor be counted twice once the pods are seen. So each claim remembers how many instances of its
workload were there when it was made; whatever appears beyond those is its own and releases it, and what never appears
is released after `reserve_s`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from federation.placement.reserve.shelf import Shelf
from federation.placement.workload import GpuNeed, Workload
from federation.snapshot import Cluster, frozen

Shape = tuple[tuple[tuple[str, int], ...], GpuNeed]
"""Requests of an instance, sorted, and its GPUs: claims of one shape are counted together."""
_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Claim:
    """Instances of one workload that were promised room in one cluster.

    instances: still unseen. base: instances of the workload that hold room there, beyond which new ones are this
    claim's.
    """

    id: str
    workload: str
    cluster: str
    instances: int
    base: int
    shape: Shape
    until: float
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Book:
    """Claims by cluster, in the order in which they were made; none of them ends before `next_expiry`.

    where: the clusters in which a workload has claims, so that its own are found without looking at all. ends: when the
    first claim of each cluster ends.
    """

    claims: Mapping[str, tuple[Claim, ...]] = field(default_factory=frozen)
    where: Shelf[tuple[str, ...]] = field(default_factory=Shelf)
    ends: Mapping[str, float] = field(default_factory=frozen)
    next_expiry: float = _NEVER

    def of(self, cluster: str) -> tuple[Claim, ...]:
        """The claims in one cluster."""
        return self.claims.get(cluster, ())

    def own(self, workload: str) -> tuple[Claim, ...]:
        """The claims of one workload."""
        here = self.where.get(workload) or ()
        return tuple([one for cluster in here for one in self.of(cluster) if one.workload == workload])


EMPTY = Book()


def shape_of(workload: Workload) -> Shape:
    """What one instance of the workload takes."""
    return tuple(sorted(item for item in workload.requests.items() if item[1] > 0)), workload.gpu


def bound(cluster: Cluster, workload: str) -> int:
    """Instances of a workload that hold room of nodes there: a pod that waits for a node holds none yet."""
    here = cluster.running.get(workload)
    return 0 if here is None else max(0, here.existing - here.pending)


def reserve(book: Book, claims: Iterable[Claim]) -> Book:
    """The book with new claims."""
    held, ends, where, earliest = dict(book.claims), dict(book.ends), book.where, book.next_expiry
    for claim in claims:
        known = where.get(claim.workload) or ()
        if claim.cluster not in known:
            where = where.put(claim.workload, (*known, claim.cluster))
        held[claim.cluster] = (*held.get(claim.cluster, ()), claim)
        ends[claim.cluster] = min(ends.get(claim.cluster, _NEVER), claim.until)
        earliest = min(earliest, claim.until)
    return Book(MappingProxyType(held), where, MappingProxyType(ends), earliest)


def see(book: Book, clusters: Iterable[Cluster]) -> Book:
    """The book after these clusters were seen: instances that appeared there are no longer in flight."""
    left = {}
    for cluster in clusters:
        claims = book.claims.get(cluster.name, ())
        if any(one.workload in cluster.running for one in claims):
            left[cluster.name] = tuple(one for one in (_seen(claim, cluster) for claim in claims) if one is not None)
    return _with(book, left)


def expire(book: Book, now: float) -> Book:
    """The book without claims whose time is over; the room is usable again."""
    if now < book.next_expiry:
        return book
    over = [cluster for cluster, end in book.ends.items() if end <= now]
    return _with(book, {cluster: tuple([one for one in book.of(cluster) if now < one.until]) for cluster in over})


def cancel(book: Book, decision: str) -> Book:
    """The book without the claims of one decision (it was rejected, or replaced)."""
    left = {cluster: tuple([one for one in claims if one.id != decision]) for cluster, claims in book.claims.items()}
    return _with(book, left)


def withdraw(book: Book, workload: str) -> Book:
    """The book without the claims of one workload: it was deleted, or a newer decision takes their place."""
    here = book.where.get(workload) or ()
    return _with(book, {name: tuple([one for one in book.of(name) if one.workload != workload]) for name in here})


def _with(book: Book, left: Mapping[str, tuple[Claim, ...]]) -> Book:
    """The book with what is left in some clusters: the book itself where that is all."""
    changed = {cluster: claims for cluster, claims in left.items() if claims != book.of(cluster)}
    if not changed:
        return book
    held, ends, where = dict(book.claims), dict(book.ends), book.where
    for cluster, claims in changed.items():
        where = _cleared(where, cluster, book.of(cluster), claims)
        if claims:
            held[cluster], ends[cluster] = claims, min([one.until for one in claims])
        else:
            del held[cluster], ends[cluster]
    return Book(MappingProxyType(held), where, MappingProxyType(ends), min(ends.values(), default=_NEVER))


def _cleared(
    where: Shelf[tuple[str, ...]], cluster: str, before: tuple[Claim, ...], left: tuple[Claim, ...]
) -> Shelf[tuple[str, ...]]:
    """Without the cluster for workloads that had claims there and have none any more."""
    for workload in {one.workload for one in before} - {one.workload for one in left}:
        others = tuple(name for name in where[workload] if name != cluster)
        where = where.put(workload, others) if others else where.drop(workload)
    return where


def _seen(claim: Claim, cluster: Cluster) -> Claim | None:
    """What is left of a claim; the base never falls, so an instance that ends does not hold room a second time."""
    appeared = max(0, bound(cluster, claim.workload) - claim.base)
    if not appeared:
        return claim
    left = claim.instances - appeared
    return replace(claim, instances=left, base=claim.base + appeared) if left > 0 else None

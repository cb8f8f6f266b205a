"""The book of promised room: a frozen value; every operation returns the next book.

A snapshot shows what pods take, seconds after they were asked for. Between a decision and its pods the room must not be
given to somebody else, nor be counted twice once the pods are seen. So each claim remembers how many instances of its
workload were there when it was made; whatever appears beyond those is its own and releases it, and what never appears
is released after `reserve_s`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from federation.placement.workload import GpuNeed, Workload
from federation.snapshot import Cluster, frozen

Shape = tuple[tuple[tuple[str, int], ...], GpuNeed]
"""Requests of an instance, sorted, and its GPUs: claims of one shape are counted together."""


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

    where: clusters in which a workload may have a claim, so that its own are found without looking at all.
    """

    claims: Mapping[str, tuple[Claim, ...]] = field(default_factory=frozen)
    where: Mapping[str, tuple[str, ...]] = field(default_factory=frozen)
    next_expiry: float = float("inf")

    def of(self, cluster: str) -> tuple[Claim, ...]:
        """The claims in one cluster."""
        return self.claims.get(cluster, ())

    def own(self, workload: str) -> tuple[Claim, ...]:
        """The claims of one workload."""
        here = set(self.where.get(workload, ()))
        return tuple(one for cluster in here for one in self.of(cluster) if one.workload == workload)


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
    held, where, earliest = dict(book.claims), dict(book.where), book.next_expiry
    for claim in claims:
        where[claim.workload] = (*where.get(claim.workload, ()), claim.cluster)
        held[claim.cluster] = (*held.get(claim.cluster, ()), claim)
        earliest = min(earliest, claim.until)
    return Book(frozen(held), frozen(where), earliest)


def see(book: Book, clusters: Iterable[Cluster]) -> Book:
    """The book after these clusters were seen: instances that appeared there are no longer in flight."""
    held = dict(book.claims)
    for cluster in clusters:
        claims = held.get(cluster.name, ())
        left = tuple(one for one in (_seen(claim, cluster) for claim in claims) if one is not None)
        _put(held, cluster.name, left)
    return replace(book, claims=frozen(held))


def expire(book: Book, now: float) -> Book:
    """The book without claims whose time is over; the room is usable again."""
    if now < book.next_expiry:
        return book
    return _kept(book, lambda claim: now < claim.until)


def cancel(book: Book, decision: str) -> Book:
    """The book without the claims of one decision (it was rejected, or replaced)."""
    return _kept(book, lambda claim: claim.id != decision)


def withdraw(book: Book, workload: str) -> Book:
    """The book without the claims of one workload: it was deleted, or a newer decision takes their place."""
    clusters = book.where.get(workload, ())
    if not clusters:
        return book
    held = dict(book.claims)
    for cluster in set(clusters):
        _put(held, cluster, tuple(one for one in held.get(cluster, ()) if one.workload != workload))
    where = {key: named for key, named in book.where.items() if key != workload}
    return replace(book, claims=frozen(held), where=frozen(where))


def _kept(book: Book, keep: Callable[[Claim], bool]) -> Book:
    held: dict[str, tuple[Claim, ...]] = {}
    for cluster, claims in book.claims.items():
        _put(held, cluster, tuple(filter(keep, claims)))
    left = [one for claims in held.values() for one in claims]
    where: dict[str, tuple[str, ...]] = {}
    for one in left:
        where[one.workload] = (*where.get(one.workload, ()), one.cluster)
    return Book(frozen(held), frozen(where), min((one.until for one in left), default=float("inf")))


def _put(held: dict[str, tuple[Claim, ...]], cluster: str, claims: tuple[Claim, ...]) -> None:
    if claims:
        held[cluster] = claims
    else:
        held.pop(cluster, None)


def _seen(claim: Claim, cluster: Cluster) -> Claim | None:
    """What is left of a claim; the base never falls, so an instance that ends does not hold room a second time."""
    appeared = max(0, bound(cluster, claim.workload) - claim.base)
    if not appeared:
        return claim
    left = claim.instances - appeared
    return replace(claim, instances=left, base=claim.base + appeared) if left > 0 else None

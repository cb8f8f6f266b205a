"""What the book takes from each cluster, in instances of another shape.

Where the promised instances will land is the business of another scheduler. One of them can cost a node at most the
largest of ceil(theirs / ours) over the resources that both ask for, and always one pod; that much is taken. For equal
shapes this is exact; for unequal ones it errs on the side of not promising room twice.

Claims of one shape are counted together: a row a shape, so that thousands of claims are one small matrix product. The
matrix follows the book by the identity of each cluster's claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import compress, islice
from operator import is_not

import numpy as np

from federation.placement.reserve.book import Book, Claim, Shape, shape_of
from federation.placement.workload import GpuNeed, Workload
from federation.snapshot import GPU_WHOLE
from prewarm.domain import IntArray

_OUTDATED = 512
"""Shapes that may have a column before those that nobody holds any more are dropped."""
_NO_COSTS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Tally:
    """counts: (C, S) unseen instances of each shape in each cluster. `claims` is what the rows were counted from.

    costs: remembered answers of `cost` by our shape, in the order of `shapes`; a memo that tallies share.
    """

    shapes: Mapping[Shape, int]
    counts: IntArray
    names: tuple[str, ...]
    claims: tuple[tuple[Claim, ...] | None, ...]
    costs: dict[Shape, IntArray]

    def displaced(self, workload: Workload) -> IntArray:
        """Instances of the workload's shape that may not be promised again, (C,)."""
        if not self.shapes:
            return np.zeros(len(self.names), dtype=np.int64)
        ours = shape_of(workload)
        known = self.costs.get(ours, _NO_COSTS)
        if len(known) < len(self.shapes):
            more = [cost(theirs, ours) for theirs in islice(self.shapes, len(known), None)]
            known = self.costs[ours] = np.concatenate([known, np.array(more, dtype=np.int64)])
        taken: IntArray = self.counts @ known[: len(self.shapes)]
        return taken


def tally_of(book: Book, names: tuple[str, ...], last: Tally | None = None) -> Tally:
    """The book counted; rows of `last` are kept where a cluster's claims are the same object."""
    claims = tuple(map(book.claims.get, names))
    base = last if last is not None and last.names == names else _nothing(names)
    if len(base.shapes) > _OUTDATED and len(base.shapes) > 2 * int(base.counts.any(axis=0).sum()):
        base = _nothing(names)
    changed = list(compress(range(len(names)), map(is_not, claims, base.claims)))
    if not changed:
        return base
    moves = [(at, more, claim) for at in changed for more, claim in _moved(base.claims[at] or (), claims[at] or ())]
    shapes, counts = _widened(base, (claim.shape for _, more, claim in moves if more > 0))
    for at, more, claim in moves:
        counts[at, shapes[claim.shape]] += more * claim.instances
    return Tally(shapes, counts, names, claims, base.costs)


def _moved(before: tuple[Claim, ...], after: tuple[Claim, ...]) -> list[tuple[int, Claim]]:
    """Claims that came (1) and that went (-1); usually some came at the end and all others are the same objects."""
    if after[: len(before)] == before:
        return [(1, claim) for claim in after[len(before) :]]
    known, left = set(map(id, before)), set(map(id, after))
    came = [(1, claim) for claim in after if id(claim) not in known]
    return came + [(-1, claim) for claim in before if id(claim) not in left]


def _widened(base: Tally, shapes: Iterable[Shape]) -> tuple[Mapping[Shape, int], IntArray]:
    """The shapes with new ones at the end, and a copy of the counts that has a column for each."""
    new = dict.fromkeys(shape for shape in shapes if shape not in base.shapes)
    if not new:
        return base.shapes, base.counts.copy()
    wide = dict(base.shapes) | {shape: len(base.shapes) + at for at, shape in enumerate(new)}
    return wide, np.concatenate([base.counts, np.zeros((len(base.names), len(new)), dtype=np.int64)], axis=1)


def _nothing(names: tuple[str, ...]) -> Tally:
    return Tally({}, np.zeros((len(names), 0), dtype=np.int64), names, (None,) * len(names), {})


def cost(theirs: Shape, ours: Shape) -> int:
    """Instances of ours that one of theirs displaces at most."""
    asked = dict(ours[0])
    ratios = [-(-amount // asked[name]) for name, amount in theirs[0] if name in asked and name != "pods"]
    return max(1, _gpu_cost(theirs[1], ours[1]), *ratios)


def _gpu_cost(theirs: GpuNeed, ours: GpuNeed) -> int:
    """A whole GPU taken costs as many of our shares as it holds; a share that is taken may spoil one whole GPU."""
    taken = theirs.count or (1 if theirs.milli else 0)
    if not taken or not (ours.count or ours.milli):
        return 0
    if ours.count:
        return -(-taken // ours.count)
    each = GPU_WHOLE // ours.milli
    return taken * each if theirs.count else min(each, -(-theirs.milli // ours.milli))

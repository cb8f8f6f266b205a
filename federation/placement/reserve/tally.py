"""What the book takes from each cluster, in instances of another shape.

Where the promised instances will land is the business of another scheduler. One of them can cost a node at most the
largest of ceil(theirs / ours) over the resources that both ask for, and always one pod; that much is taken. For equal
shapes this is exact; for unequal ones it errs on the side of not promising room twice.

Claims of one shape are counted together: a row a shape, so that thousands of claims are one small matrix product. The
matrix follows the book by the identity of each cluster's claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from federation.placement.reserve.book import Book, Claim, Shape, shape_of
from federation.placement.workload import GpuNeed, Workload
from federation.snapshot import GPU_WHOLE
from prewarm.domain import IntArray


@dataclass(frozen=True, slots=True)
class Tally:
    """counts: (C, S) unseen instances of each shape in each cluster. `claims` is what the rows were counted from.

    costs: remembered answers of `cost` by our shape, in the order of `shapes`; a memo that tallies share.
    """

    shapes: Mapping[Shape, int]
    counts: IntArray
    names: tuple[str, ...]
    claims: tuple[tuple[Claim, ...] | None, ...]
    costs: dict[Shape, list[int]]

    def displaced(self, workload: Workload) -> IntArray:
        """Instances of the workload's shape that may not be promised again, (C,)."""
        if not self.shapes:
            return np.zeros(len(self.names), dtype=np.int64)
        ours = shape_of(workload)
        known = self.costs.setdefault(ours, [])
        known += [cost(theirs, ours) for theirs in islice(self.shapes, len(known), None)]
        taken: IntArray = self.counts @ np.array(known[: len(self.shapes)], dtype=np.int64)
        return taken


def tally_of(book: Book, names: tuple[str, ...], last: Tally | None = None) -> Tally:
    """The book counted; rows of `last` are kept where a cluster's claims are the same object."""
    claims = tuple(map(book.claims.get, names))
    base = last if last is not None and last.names == names else _nothing(names)
    changed = [at for at, (here, known) in enumerate(zip(claims, base.claims, strict=True)) if here is not known]
    if not changed:
        return base
    shapes = dict(base.shapes)
    for at in changed:
        for claim in claims[at] or ():
            shapes.setdefault(claim.shape, len(shapes))
    counts = np.zeros((len(names), len(shapes)), dtype=np.int64)
    counts[:, : len(base.shapes)] = base.counts
    for at in changed:
        counts[at] = 0
        for claim in claims[at] or ():
            counts[at, shapes[claim.shape]] += claim.instances
    return Tally(shapes, counts, names, claims, base.costs)


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

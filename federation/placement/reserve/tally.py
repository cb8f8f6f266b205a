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

import numpy as np

from federation.placement.reserve.book import Book, Claim, Shape, shape_of
from federation.placement.workload import GpuNeed, Workload
from federation.snapshot import GPU_WHOLE
from prewarm.domain import IntArray


@dataclass(frozen=True, slots=True)
class Tally:
    """counts: (C, S) unseen instances of each shape in each cluster. `claims` is what the rows were counted from."""

    shapes: Mapping[Shape, int]
    counts: IntArray
    names: tuple[str, ...]
    claims: tuple[tuple[Claim, ...], ...]

    def displaced(self, workload: Workload) -> IntArray:
        """Instances of the workload's shape that may not be promised again, (C,)."""
        if not self.shapes:
            return np.zeros(len(self.names), dtype=np.int64)
        costs = np.array([cost(theirs, shape_of(workload)) for theirs in self.shapes], dtype=np.int64)
        taken: IntArray = self.counts @ costs
        return taken


def tally_of(book: Book, names: tuple[str, ...], last: Tally | None = None) -> Tally:
    """The book counted; rows of `last` are kept where a cluster's claims are the same object."""
    claims = tuple(book.of(name) for name in names)
    fresh = last is None or last.names != names
    shapes = {} if fresh or last is None else dict(last.shapes)
    changed = [at for at, here in enumerate(claims) if fresh or last is None or last.claims[at] is not here]
    for at in changed:
        for claim in claims[at]:
            shapes.setdefault(claim.shape, len(shapes))
    counts = np.zeros((len(names), len(shapes)), dtype=np.int64)
    if last is not None and not fresh:
        counts[:, : last.counts.shape[1]] = last.counts
    for at in changed:
        counts[at] = 0
        for claim in claims[at]:
            counts[at, shapes[claim.shape]] += claim.instances
    return Tally(shapes, counts, names, claims)


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

"""What every filter looks at, worked out once for a decision, and the verdict that it returns.

A case is the workload against the fleet: where it runs now, which kinds of nodes accept it, what fits. Filters only
read it, so they can be tried in any order and tested alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from federation.placement.fleet.compiled import FleetColumns
from federation.placement.fleet.room import Ask
from federation.placement.safety.failback import Return
from federation.placement.terms import Terms
from federation.placement.workload import Workload
from prewarm.domain import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Kinds:
    """Which kinds of nodes accept the workload, each (K,): by architecture, taints, affinity and GPU model.

    affinity: under some host name; unnamed: of a host whose name nobody knows.

    assumed: the architecture that was taken because nobody said, None where somebody did or it makes no difference.
    """

    architecture: BoolArray
    taints: BoolArray
    affinity: BoolArray
    unnamed: BoolArray
    model: BoolArray
    assumed: str | None


@dataclass(frozen=True, slots=True)
class Case:
    """One workload before one fleet at one moment.

    accepts: (S,) states of nodes that accept it. room: (S,) instances that one node of the state takes; each: (N,) the
    same of rows. taking: (N,) nodes of each row that accept it by their host name, None where that is not asked.
    reached: (C,) clusters that have a row which accepts it; everywhere: all have. before: (C,) instances wanted there
    by the last decision; gone: (C,) clusters that are lost with all that ran there; back: where the workload counts as
    being at home.
    occupied, ready: (C,) instances that hold room, and that are ready.
    nodes_fit: (C,) further instances that the nodes would take; promised: (C,) instances of this shape that other
    decisions have in flight; quota: (C,) further ones that quota allows. fits: (C,) what is left of all three.
    declared: (C,) further ones on nodes that autoscaling would add. freed: (C,) own instances whose room counts as
    free, absent: (C,) own
    instances that do not count as running there; both 0 but in `alone`.
    """

    fleet: FleetColumns
    workload: Workload
    terms: Terms
    now: float
    ask: Ask
    kinds: Kinds
    accepts: BoolArray
    room: IntArray
    each: IntArray
    taking: IntArray | None
    reached: BoolArray
    everywhere: bool
    before: IntArray
    gone: BoolArray
    back: Return
    occupied: IntArray
    ready: IntArray
    nodes_fit: IntArray
    promised: IntArray
    quota: IntArray
    fits: IntArray
    declared: IntArray
    freed: IntArray | int = 0
    absent: IntArray | int = 0

    @property
    def rows(self) -> BoolArray:
        """Rows that accept it, (N,)."""
        rows: BoolArray = self.accepts[self.fleet.numbers]
        return rows if self.taking is None else rows & (self.taking > 0)

    def alone(self) -> Case:
        """The same before anything of the workload runs: its instances' room is free, and none of them counts."""
        nothing, key = np.zeros_like(self.occupied), self.workload.key
        here = [one.running.get(key) for one in self.fleet.clusters]
        return replace(
            self,
            occupied=nothing,
            ready=nothing,
            fits=self.fits + self.occupied,
            freed=self.occupied,
            absent=np.array([0 if one is None else one.wanted for one in here], dtype=np.int64),
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Clusters that a filter drops, (C,), and the reason for one of them by its position.

    holds: what runs there stays (nothing new goes there); otherwise it has to leave. unsure: and is not cut either,
    since what we know of it may be wrong.
    """

    dropped: BoolArray
    why: Callable[[int], str]
    holds: bool = False
    unsure: bool = False


Filter = Callable[[Case], Verdict | None]
"""A filter's answer is None where it drops nothing."""

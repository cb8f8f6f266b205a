"""A forecast mix that is in force: what it was made from, what nodes are worth to it, and the words for the record."""

from __future__ import annotations

from dataclasses import dataclass

from federation.nodes.fill import FutureFill
from federation.nodes.fragment import Unfragmented
from federation.nodes.outlook import Outlook
from federation.placement.packing.changes import Changes, shape_of
from federation.placement.workload import Workload
from prewarm.domain import Reason

FACTOR = "mix"


@dataclass(frozen=True, slots=True)
class Mixed:
    """An outlook made at `at`, with the memo of each of the two node factors. No decision waits for a memo."""

    outlook: Outlook
    at: float
    fragmentation: Changes
    future_fill: Changes
    first: bool = False
    """Made at once, for want of anything; one with foresight is on its way."""

    @classmethod
    def of(cls, outlook: Outlook, at: float, *, first: bool = False) -> Mixed:
        """With memos that hold nothing yet."""
        unfragmented = Changes(Unfragmented(outlook.mix), patient=False)
        filling = Changes(FutureFill(outlook.mix, outlook.offers), patient=False)
        return cls(outlook, at, unfragmented, filling, first)

    @property
    def memos(self) -> tuple[Changes, Changes]:
        """Both."""
        return self.future_fill, self.fragmentation

    def reason(self, workload: Workload, now: float) -> Reason:
        """From which mix the two node factors of a decision came, and whether its shape was judged."""
        outlook = self.outlook
        of = f"{outlook.known} of {outlook.known + outlook.unknown} instances"
        text = (
            f"fragmentation and future_fill come from a mix of {len(outlook.mix.shapes)} shapes ({of}), "
            f"{max(now - self.at, 0.0):.0f} s old, with {outlook.arrivals:.0f} more to come and room "
            f"{'foreseen' if outlook.foreseen else 'as it is now'}"
        )
        if any(shape_of(workload.requests, workload.gpu) in memo.behind for memo in self.memos):
            text += "; some nodes are not judged for this shape yet and were left out"
        return Reason(FACTOR, text, float(len(outlook.mix.shapes)), outlook.arrivals)


UNKNOWN = Reason(FACTOR, "fragmentation and future_fill are neutral: no workload's shape is known yet")
"""What is said while there is no mix."""

"""A forecast mix that is in force: what it was made from, what nodes are worth to it, and the words for the record."""

from __future__ import annotations

from dataclasses import dataclass, replace

from federation.nodes.fill import FutureFill
from federation.nodes.fragment import Unfragmented
from federation.nodes.outlook import Outlook
from federation.placement.answer import Placement
from federation.placement.packing.changes import Changes, shape_of
from federation.placement.packing.weights import packing_policy
from federation.placement.terms import Terms
from federation.placement.workload import Workload
from prewarm.domain import Reason

FACTOR = "mix"


@dataclass(frozen=True, slots=True)
class Mixed:
    """An outlook made at `at`, with the memo of each of the two node factors."""

    outlook: Outlook
    at: float
    fragmentation: Changes
    future_fill: Changes
    first: bool = False
    """Made at once, for want of anything; one with foresight is on its way."""

    @classmethod
    def of(cls, outlook: Outlook, at: float, *, first: bool = False, patient: bool = False) -> Mixed:
        """With memos that hold nothing yet; `patient` for a command, whose one decision may wait for them."""
        unfragmented = Changes(Unfragmented(outlook.mix), patient=patient)
        filling = Changes(FutureFill(outlook.mix, outlook.offers), patient=patient)
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


def terms_with(mixed: Mixed | None, terms: Terms, workload: Workload) -> Terms:
    """What holds for a decision on this workload under a mix; None leaves both factors neutral."""
    if mixed is None:
        return terms
    policy = packing_policy(terms.policy, workload.gpu, foreseen=True)
    return replace(terms, policy=policy, fragmentation=mixed.fragmentation, future_fill=mixed.future_fill)


def told(mixed: Mixed | None, placement: Placement, workload: Workload) -> Placement:
    """The placement with the word from which mix its two node factors came."""
    said = UNKNOWN if mixed is None else mixed.reason(workload, placement.at)
    return replace(placement, reasons=(*placement.reasons, said))

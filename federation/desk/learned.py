"""What the desk asks of a learned scorer beyond its answers: what it did, and how far it may go.

The scorer itself is found by entry point and never imported from here; without one the rule decides everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from federation.placement.scorer import Declined, Question, Weighing
from prewarm.settings import ScorerMode
from prewarm.store.people import Stamp


@dataclass(frozen=True, slots=True)
class Allowed:
    """How far a learned scorer may go. share: most of a namespace's workloads that it may decide; namespaces: the same
    for single ones. Within this the comparison with the rule decides.
    """

    mode: ScorerMode = "shadow"
    share: float = 1.0
    namespaces: Mapping[str, float] = field(default_factory=dict)

    def of(self, namespace: str) -> float:
        """Most of a namespace's workloads; 0 where it may not decide at all."""
        return self.namespaces.get(namespace, self.share) if self.mode == "promote" else 0.0


class Learned(Protocol):
    """A scorer that is watched."""

    def weigh(self, question: Question) -> Weighing | Declined:
        """As every scorer."""
        ...

    def told(self) -> dict[str, object]:
        """What it is, what it did and why, as `GET /v1/scorer` says it."""
        ...

    async def allow(self, allowed: Allowed, stamp: Stamp) -> None:
        """From now on this far and no farther; durable, with an audit entry, when it returns."""
        ...

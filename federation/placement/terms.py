"""Everything that placement is told besides the fleet and the workload: policy, people's word, and what was seen.

One frozen value, so that a decision can be taken again later from what it was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from federation.placement.packing.changes import Changes
from federation.placement.scorer import Scorer
from federation.snapshot import frozen
from prewarm.domain import Mode, Override
from prewarm.settings import PlacementPolicy


@dataclass(frozen=True, slots=True)
class Home:
    """Where a workload ran before it had to leave: instances by cluster, and when it left."""

    shares: Mapping[str, int]
    since: float


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds while a decision is taken.

    fragmentation, future_fill: what nodes are worth to the forecast mix of work, None while no mix is known.
    moved: instances moved between clusters within the last hour. growth: by cluster and resource, what the forecast
    adds to what runs there. step_down: most instances that one decision takes from a cluster. disruptions: instances
    that may be taken from a cluster now (its PodDisruptionBudget), absent for no limit. homes: by workload key.
    draining: clusters that a person empties; nothing new goes there, and what is there moves away within the limits.
    """

    policy: PlacementPolicy = field(default_factory=PlacementPolicy)
    scorer: Scorer | None = None
    mode: Mode = Mode.SHADOW
    overrides: tuple[Override, ...] = ()
    growth: Mapping[str, Mapping[str, int]] = field(default_factory=frozen)
    fragmentation: Changes | None = None
    future_fill: Changes | None = None
    homes: Mapping[str, Home] = field(default_factory=frozen)
    moved: int = 0
    step_down: int | None = None
    disruptions: Mapping[str, int] = field(default_factory=frozen)
    draining: frozenset[str] = frozenset()

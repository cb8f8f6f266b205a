"""What placement answers: where the instances go, and the whole reason in one record.

The API, `prewarm explain`, the log, the page and the tests read this same record. Contributions (value x weight, and
the learned residual where there is one, as a factor of weight 1) sum to the score within 1e-6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from federation.placement.scores import NO_SCORES, Scores
from federation.snapshot import frozen
from prewarm.domain import Mode, PolicyTag, Reason


class Filtered(NamedTuple):
    """A cluster that was dropped: by which filter, and why in words."""

    cluster: str
    filter: str
    reason: str


@dataclass(frozen=True, slots=True)
class Share:
    """Instances in one cluster, how many were there, and the cluster's part of the traffic (weights sum to 1)."""

    cluster: str
    replicas: int
    before: int
    weight: float


@dataclass(frozen=True, slots=True)
class Flip:
    """The nearest single change that would have put another cluster first: this factor of `cluster`, by `change`."""

    cluster: str
    factor: str
    change: float


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a workload runs. `unplaced` instances fit nowhere; `vetoes` say what safety shrank or refused."""

    id: str
    at: float
    workload: str
    replicas: int
    shares: tuple[Share, ...]
    unplaced: int
    policy: PolicyTag
    mode: Mode
    filtered: tuple[Filtered, ...] = ()
    scores: Scores = NO_SCORES
    runner_up: str | None = None
    margin: float | None = None
    flip: Flip | None = None
    ages_s: Mapping[str, float | None] = field(default_factory=frozen)
    """Age of the oldest datum that each considered cluster was judged by."""
    preferred: Mapping[str, int] = field(default_factory=frozen)
    """Where the instances would be if the better clusters had more room; empty where nothing overflows."""
    reserved_until: float | None = None
    reasons: tuple[Reason, ...] = ()
    vetoes: tuple[str, ...] = ()
    applied: bool = False

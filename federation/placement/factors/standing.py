"""Factors of what is there already, of price, and of risk."""

from __future__ import annotations

import numpy as np

from federation.placement.filters.case import Case
from federation.snapshot import MemberState
from prewarm.domain import FloatArray


def warm(case: Case) -> FloatArray:
    """min(1, ready / wanted): share of the wanted instances that are ready there."""
    return np.minimum(case.ready / max(case.workload.replicas, 1), 1.0)


def steadiness(case: Case) -> FloatArray:
    """min(1, there / wanted): share of the wanted instances that would not have to move; 1 for what runs nowhere.

    Instances that may return count as being at home already.
    """
    if not case.back.anchor.any():
        return np.ones(len(case.fleet))
    return np.minimum(case.back.anchor / max(case.workload.replicas, 1), 1.0)


def price(case: Case) -> FloatArray:
    """1 / (1 + price): 1/2 at the usual price, and the same whoever else is in the fleet."""
    return 1.0 / (1.0 + case.fleet.facts.price)


def risk(case: Case) -> FloatArray:
    """1 - (age + slow + concentration) / 3, higher is safer.

    age: 0 while nodes and pods are younger than half of `stale_s`, 1 at `stale_s`. slow: 1 for a member that answers
    slowly. concentration: share of all instances of the fleet that run there already.
    """
    half, facts = case.terms.policy.stale_s / 2, case.fleet.facts
    there = facts.instances - case.absent
    concentration = there / max(float(there.sum()), 1.0)
    late = np.minimum(np.maximum((case.now - facts.seen) / half - 1.0, 0.0), 1.0)
    late[np.isnan(late)] = 1.0
    return np.maximum(1.0 - (late + facts.in_state(MemberState.SLOW) + concentration) / 3.0, 0.0)

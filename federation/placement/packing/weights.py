"""Weights for work that needs GPUs: the measured packing rule in place of the factors that only stand in for it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from federation.placement.workload import GpuNeed
from prewarm.settings import PlacementPolicy

PACKING = ("fit", "fragmentation", "headroom")
"""Factors that stand in for packing where nothing better is known."""


def packing_policy(policy: PlacementPolicy, gpu: GpuNeed, *, foreseen: bool) -> PlacementPolicy:
    """The policy with all their weight on `future_fill`, where GPUs are asked for and a mix of work is forecast."""
    return _measured(policy) if policy.gpu_measured and foreseen and (gpu.count or gpu.milli) else policy


@lru_cache(maxsize=8)
def _measured(policy: PlacementPolicy) -> PlacementPolicy:
    given = policy.weights
    moved = given.future_fill + sum(getattr(given, name) for name in PACKING)
    return replace(policy, weights=replace(given, future_fill=moved, **dict.fromkeys(PACKING, 0.0)))

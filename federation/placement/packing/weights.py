"""Weights for work that needs GPUs: the measured packing rule in place of the factors that only stand in for it."""

from __future__ import annotations

from dataclasses import replace

from federation.placement.workload import GpuNeed
from prewarm.settings import PlacementPolicy


def packing_policy(policy: PlacementPolicy, gpu: GpuNeed, *, foreseen: bool) -> PlacementPolicy:
    """The policy with `gpu_weights` in force where GPUs are asked for and a mix of work is forecast."""
    if not foreseen or not (gpu.count or gpu.milli):
        return policy
    return replace(policy, weights=policy.gpu_weights)

"""Policies by name at request grain: a scaler for every function.

`kpa` follows Knative's real defaults, `ka-<minutes>` keeps instances after their last use, `clairvoyant` knows the
requests. Every other policy decides by the minute, and its decisions become floors beneath Knative's rule, as a
min-scale that somebody moves once a minute: what the service does on a real cluster.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from prewarm.sim.kpa import KpaScaler, KpaSettings
from prewarm.sim.minute import MinuteWorkload, Progress
from prewarm.sim.policies import policy
from prewarm.sim.requests import RequestFunction
from prewarm.sim.scalers import ClairvoyantScaler, FloorScaler, KeepAliveScaler, Scaler, needed_per_second

_KEEP_ALIVE = re.compile(r"ka-(\d{1,6})")


def scalers(
    name: str,
    functions: Sequence[RequestFunction],
    workload: MinuteWorkload,
    *,
    cold_weight: float = 1.0,
    progress: Progress | None = None,
) -> list[Scaler]:
    """A scaler for each function; `workload` holds the same functions by the minute, for policies that decide so."""
    keep = _KEEP_ALIVE.fullmatch(name)
    if keep:
        return [KeepAliveScaler(each.concurrency_limit, 60.0 * int(keep.group(1))) for each in functions]
    if name == "kpa":
        return [_knative(each) for each in functions]
    if name == "clairvoyant":
        return [_clairvoyant(each, workload.minutes * 60) for each in functions]
    floors = policy(name, cold_weight=cold_weight).allocations(workload, progress=progress)
    return [FloorScaler.of(_knative(each), floors[row]) for row, each in enumerate(functions)]


def _knative(function: RequestFunction) -> KpaScaler:
    return KpaScaler(KpaSettings(function.concurrency_limit))


def _clairvoyant(function: RequestFunction, seconds: int) -> ClairvoyantScaler:
    needed = needed_per_second(function.arrival, function.service, function.concurrency_limit, seconds)
    return ClairvoyantScaler.of(needed, math.ceil(function.start.quantile(0.99)) + 2)

"""What the graph knows of functions: facts that are told, counts that are seen, and the calls between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from federation.placement.workload import Caller, Workload
from prewarm.domain import FloatArray, IntArray
from prewarm.settings import Call

_CORE, _GIB, _GPU = 1e3, 2.0**30, 1e3


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a function apart from its instances; None is unknown. demand_per_s: forecast calls. cpu_milli,
    memory_bytes, gpu_milli: of one instance. latency_ms: what its callers need. callers: where calls come from.
    """

    demand_per_s: float | None = None
    cpu_milli: float | None = None
    memory_bytes: float | None = None
    gpu_milli: float | None = None
    latency_ms: float | None = None
    callers: tuple[Caller, ...] = ()


UNKNOWN = Facts()


def facts_of(workload: Workload, latency_ms: float | None = None) -> Facts:
    """The facts that a workload states."""
    gpu = workload.gpu
    return Facts(
        demand_per_s=workload.demand_per_s,
        cpu_milli=workload.requests.get("cpu"),
        memory_bytes=workload.requests.get("memory"),
        gpu_milli=gpu.count * gpu.milli,
        latency_ms=latency_ms,
        callers=workload.callers,
    )


def told_columns(keys: tuple[str, ...], facts: Mapping[str, Facts]) -> FloatArray:
    """Demand, cores, GiB, GPUs and latency need of each function, (n, 5), NaN unknown."""
    rows = [facts.get(key, UNKNOWN) for key in keys]
    raw = np.array(
        [(one.demand_per_s, one.cpu_milli, one.memory_bytes, one.gpu_milli, one.latency_ms) for one in rows], np.float64
    ).reshape(-1, 5)
    return np.where(np.isfinite(raw), raw, np.nan) / (1.0, _CORE, _GIB, _GPU, 1.0)


def callers_by(
    keys: tuple[str, ...], facts: Mapping[str, Facts], places: tuple[str, ...], *, clusters: bool
) -> FloatArray:
    """Calls a second of each function that come from each region (or each cluster), (n, places)."""
    at = {name: i for i, name in enumerate(places)}
    out = np.zeros((len(keys), len(places)))
    for row, key in enumerate(keys):
        for caller in facts.get(key, UNKNOWN).callers:
            place = at.get((caller.cluster if clusters else caller.region) or "")
            if place is not None and np.isfinite(caller.calls_per_s) and caller.calls_per_s > 0:
                out[row, place] += caller.calls_per_s
    return out


def call_edges(calls: tuple[Call, ...], keys: tuple[str, ...], demand: FloatArray) -> tuple[IntArray, FloatArray]:
    """Ends (2, e) and raw columns (e, 4) of the service graph; `demand` (n,) of the callers, NaN unknown."""
    at = {key: row for row, key in enumerate(keys)}
    ends = np.array([(at[call.caller], at[call.callee]) for call in calls], np.int64).reshape(-1, 2).T
    told = np.array([(call.calls_per_invocation, call.payload_kib, call.delay_s * 1e3) for call in calls], np.float64)
    told = told.reshape(-1, 3)
    with np.errstate(over="ignore"):
        rate = told[:, 0] * demand[ends[0]]
    return ends, np.column_stack([told[:, 0], told[:, 1], rate, told[:, 2]])

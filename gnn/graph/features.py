"""The one table of features: name, unit, scale and what stands in for the unknown.

A network trained on one fleet must read another one, so no feature depends on the size of the fleet it is in, and each
is near 0..1 where fleets usually are. A value that is missing, not finite or impossible (negative where nothing can be)
becomes 0 and raises the feature's flag; one beyond twice the scale is held there. Either is counted by field, so that
a telemetry that lies is seen in a metric rather than in a decision.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from functools import cache
from typing import NamedTuple

import numpy as np

from prewarm.domain import BoolArray, Float32Array, FloatArray, IntArray

HELD_AT = 2.0
"""Encoded values end here."""
_VAST = 1e30


class Shape(StrEnum):
    """How a value is brought to 0..1: log1p(x / unit) over log1p(scale / unit), x / scale, or as it is (0 or 1)."""

    LOG = "log"
    SHARE = "share"
    FLAG = "flag"


class Feature(NamedTuple):
    """`scale` is what 1.0 means, in `unit`s named by text; `step` is where a log feature turns from linear to log.
    `flagged`: a second column says 1 where the value is unknown; without it the value is always known.
    """

    name: str
    unit: str
    scale: float
    shape: Shape = Shape.LOG
    step: float = 1.0
    flagged: bool = False


def _share(name: str, *, flagged: bool = False) -> Feature:
    return Feature(name, "share", 1.0, Shape.SHARE, flagged=flagged)


def _flag(name: str) -> Feature:
    return Feature(name, "0 or 1", 1.0, Shape.FLAG)


TABLE: dict[str, tuple[Feature, ...]] = {
    # nodes
    "cluster": (
        Feature("cpu", "cores", 4096.0),
        Feature("memory", "GiB", 16_384.0),
        Feature("nodes", "nodes", 1000.0),
        _share("free_cpu", flagged=True),
        _share("free_memory", flagged=True),
        _share("free_pods", flagged=True),
        _share("used_cpu", flagged=True),
        _share("used_memory", flagged=True),
        Feature("largest_free_cpu", "cores on one node", 128.0),
        Feature("largest_free_memory", "GiB on one node", 1024.0),
        Feature("free_gpus", "GPUs, shares summed", 1000.0),
        Feature("whole_gpus", "GPUs that are free as a whole", 1000.0),
        Feature("price", "of the usual price", 2.0, Shape.SHARE, flagged=True),
        Feature("start", "s", 600.0, flagged=True),
        _share("quota_left", flagged=True),
        Feature("headroom", "nodes", 1000.0),
        Feature("wanted", "instances", 10_000.0),
        Feature("ready", "instances", 10_000.0),
        Feature("pending", "instances", 1000.0),
        _flag("slow"),
        _flag("dark"),
        _flag("refused"),
        _flag("cordoned"),
        Feature("answer_age", "s", 3600.0, flagged=True),
        Feature("nodes_age", "s", 3600.0, flagged=True),
        Feature("metrics_age", "s", 3600.0, flagged=True),
    ),
    "pool": (
        Feature("nodes", "nodes", 1000.0),
        Feature("cpu", "cores a node", 128.0),
        Feature("memory", "GiB a node", 1024.0),
        _share("free_cpu"),
        _share("free_memory"),
        Feature("largest_free_cpu", "cores on one node", 128.0),
        Feature("free_gpus", "GPUs a node", 8.0, Shape.SHARE),
        _share("schedulable"),
        _flag("tainted"),
        _flag("arm64"),
    ),
    "function": (
        Feature("demand", "calls/s", 10_000.0, flagged=True),
        Feature("cpu", "cores an instance", 64.0, step=0.1, flagged=True),
        Feature("memory", "GiB an instance", 256.0, step=0.1, flagged=True),
        Feature("gpus", "GPUs an instance", 8.0, Shape.SHARE, flagged=True),
        Feature("latency_need", "ms", 10_000.0, flagged=True),
        Feature("calls_in", "calls/s", 10_000.0, flagged=True),
        Feature("clusters", "clusters", 100.0),
        Feature("wanted", "instances", 1000.0),
        Feature("existing", "instances", 1000.0),
        Feature("ready", "instances", 1000.0),
        Feature("pending", "instances", 1000.0),
    ),
    "region": (
        Feature("clusters", "clusters", 100.0),
        Feature("cpu", "cores", 16_384.0),
        _share("free_cpu", flagged=True),
        Feature("calls", "calls/s that come from it", 100_000.0),
    ),
    # edges; each is read in both directions
    "calls": (
        Feature("calls", "calls an invocation", 100.0, step=0.1),
        Feature("payload", "KiB a call", 1024.0),
        Feature("rate", "calls/s", 10_000.0, flagged=True),
        Feature("delay", "ms after the caller's start", 10_000.0),
    ),
    "runs_on": (
        Feature("wanted", "instances", 1000.0),
        Feature("existing", "instances", 1000.0),
        Feature("pending", "instances", 1000.0),
        _share("share"),
    ),
    "warm_on": (Feature("ready", "instances", 1000.0), _share("share")),
    "may_run_on": (
        Feature("delay", "ms from its callers", 1000.0, flagged=True),
        Feature("fits", "instances", 1000.0, flagged=True),
    ),
    "link": (
        Feature("delay", "ms one way", 1000.0, flagged=True),
        Feature("bandwidth", "Mbit/s", 100_000.0, flagged=True),
    ),
    "in_region": (),
    "part_of": (_share("share"),),
    "called_from": (Feature("calls", "calls/s", 10_000.0), _share("share")),
}


def width(kind: str) -> int:
    """Encoded columns of a node type or relation."""
    return sum(1 + feature.flagged for feature in TABLE[kind])


def column(kind: str, name: str) -> int:
    """Where a feature is in the raw columns."""
    return next(i for i, feature in enumerate(TABLE[kind]) if feature.name == name)


def encode(kind: str, raw: FloatArray, tally: Counter[str]) -> Float32Array:
    """Raw values (n, features), NaN unknown, to finite (n, width); values that were replaced are added to `tally`."""
    code = _code(kind)
    known = np.isfinite(raw) & (raw >= 0.0)
    # single precision: a thousand rows are encoded for each decision, and nothing needs more
    shaped = np.where(known, np.minimum(raw, _VAST), 0.0).astype(np.float32) / code.unit
    shaped[:, code.logged] = np.log1p(shaped[:, code.logged]) * code.slope
    _count(kind, ~known | (shaped > HELD_AT), tally)
    out = np.empty((len(raw), width(kind)), np.float32)
    out[:, code.at] = np.minimum(shaped, HELD_AT)
    out[:, code.at[code.flagged] + 1] = ~known[:, code.flagged]
    return out


class _Code(NamedTuple):
    """unit: (f,) divisor. slope: 1 / log1p(scale / step) of the logged ones. at: (f,) where each value is written."""

    unit: Float32Array
    logged: IntArray
    slope: Float32Array
    flagged: IntArray
    at: IntArray


@cache
def _code(kind: str) -> _Code:
    table = TABLE[kind]
    logged = np.array([i for i, one in enumerate(table) if one.shape is Shape.LOG], np.int64)
    unit = np.array([one.step if one.shape is Shape.LOG else one.scale for one in table], np.float32)
    slope = np.array([1.0 / np.log1p(table[i].scale / table[i].step) for i in logged], np.float32)
    flagged = np.array([i for i, one in enumerate(table) if one.flagged], np.int64)
    at = np.array([i + sum(one.flagged for one in table[:i]) for i in range(len(table))], np.int64)
    return _Code(unit, logged, slope, flagged, at)


def _count(kind: str, replaced: BoolArray, tally: Counter[str]) -> None:
    counts = np.count_nonzero(replaced, axis=0)
    for row in np.flatnonzero(counts).tolist():
        tally[f"{kind}.{TABLE[kind][row].name}"] += int(counts[row])

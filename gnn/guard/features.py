"""An observation of any size as one row: what a fleet looks like on the whole, and what is asked about it.

Means over the nodes and edges of each type, the extremes of clusters and of the factors, how many there are, and the
function in question. A shift of the world moves some of them, whatever the fleet's size; that a fleet is much larger
than those trained on is itself one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from gnn.graph.features import TABLE, width
from gnn.graph.value import NODE_TYPES, RELATIONS
from gnn.observation import Observation
from prewarm.domain import FloatArray

_COUNTED = 10.0
"""Unit of the logarithm of a count: ten times as many clusters are 0.23 more."""


def pooled(observation: Observation) -> FloatArray:
    """The row, (d,); the order is that of `names`."""
    parts = [_mean(observation[f"node/{kind}"], width(kind)) for kind in NODE_TYPES]
    parts += [_extreme(observation["node/cluster"], width("cluster"), low=low) for low in (True, False)]
    parts += [_mean(observation[f"values/{one.name}"], width(one.name)) for one in RELATIONS]
    parts.append(_mean(observation["node/function"][observation["ask/function"]], width("function")))
    values = observation["ask/values"].astype(np.float64)
    told = values if len(values) else np.zeros((1, values.shape[1]))
    parts += [told.mean(axis=0), told.min(axis=0), told.max(axis=0)]
    room = observation["ask/room"]
    parts.append(np.array([room.mean(), room.min(), room.max()]) if len(room) else np.zeros(3))
    counts = [len(observation[f"node/{kind}"]) for kind in NODE_TYPES]
    parts.append(np.log1p(np.array(counts, np.float64)) / _COUNTED)
    return np.concatenate(parts)


@cache
def names(factors: tuple[str, ...]) -> tuple[str, ...]:
    """What each column is, in words."""
    out = [f"mean {kind} {name}" for kind in NODE_TYPES for name in columns(kind)]
    out += [f"{which} cluster {name}" for which in ("least", "most") for name in columns("cluster")]
    out += [f"mean {one.name} {name}" for one in RELATIONS for name in columns(one.name)]
    out += [f"asked function {name}" for name in columns("function")]
    out += [f"{which} factor {name}" for which in ("mean", "least", "most") for name in factors]
    out += [f"{which} room" for which in ("mean", "least", "most")]
    return (*out, *(f"number of {kind}s" for kind in NODE_TYPES))


def columns(kind: str) -> Sequence[str]:
    """The encoded columns of a type by name; a flag column is its feature's "unknown"."""
    return [
        name
        for feature in TABLE[kind]
        for name in ([feature.name, f"{feature.name} unknown"] if feature.flagged else [feature.name])
    ]


def _mean(rows: FloatArray, columns: int) -> FloatArray:
    mean: FloatArray = rows.mean(axis=0, dtype=np.float64) if len(rows) else np.zeros(columns)
    return mean


def _extreme(rows: FloatArray, columns: int, *, low: bool) -> FloatArray:
    if not len(rows):
        return np.zeros(columns)
    most: FloatArray = (rows.min(axis=0) if low else rows.max(axis=0)).astype(np.float64)
    return most

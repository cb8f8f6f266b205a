"""What the pools hold in each cluster, in columns, from the members' own reports.

Reports are mappings by key; a cluster whose report is the same object as at the last tick is not read again, so a tick
costs what has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from federation.snapshot import Cluster, Running
from prewarm.domain import BoolArray, FunctionKey, IntArray


@dataclass(frozen=True, slots=True)
class Report:
    """One cluster's instances: wanted, bound (existing, not pending), ready, (n,) each; from `source`, `size` rows.

    deployed: (n,) whether there is an object of that name there, whatever its number.
    """

    wanted: IntArray
    bound: IntArray
    ready: IntArray
    deployed: BoolArray
    source: Mapping[str, Running]
    size: int


def read_reports(
    clusters: tuple[Cluster, ...], keys: tuple[FunctionKey, ...], last: Mapping[str, Report]
) -> dict[str, Report]:
    """A report for each cluster by name; those of `last` where nothing changed."""
    found = {}
    for cluster in clusters:
        known = last.get(cluster.name)
        same = known is not None and known.source is cluster.running and known.size == len(keys)
        found[cluster.name] = known if same and known is not None else _read(cluster, keys)
    return found


def _read(cluster: Cluster, keys: tuple[FunctionKey, ...]) -> Report:
    running, size = cluster.running, len(keys)
    wanted, bound, ready = np.zeros((3, size), dtype=np.int64)
    deployed = np.zeros(size, dtype=np.bool_)
    if len(running):
        for row, key in enumerate(keys):
            here = running.get(key)
            if here is not None:
                wanted[row], bound[row], ready[row] = here.wanted, max(0, here.existing - here.pending), here.ready
                deployed[row] = True
    return Report(wanted, bound, ready, deployed, running, size)

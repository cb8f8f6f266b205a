"""What a node would still take of the forecast mix: the table behind the future-fill factor, and FGD's typical pods.

Random pods of the mix are offered to a node and taken while they fit (benchmarks of our own on the openb trace gave the
method); V is the mean over fixed sequences of the cores taken. The mix is that of arriving pods, so it is a forecast
that any policy could have.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gnn.published.world.jobs import (
    BATCH_CORES,
    BATCH_SHARE,
    BATCH_WORK,
    GANG_CPU,
    GANG_GB,
    GANG_PODS,
    GANG_SHARE,
    GANG_WORK,
    GB_PER_CORE,
)
from prewarm.domain import FloatArray, IntArray

SEQUENCES, OFFERS = 32, 30
_SEED = 77


def typical_pods() -> FloatArray:
    """Pods of batch and training by their share of arriving pods: (k, 3) cores, GB, share."""
    rates = BATCH_SHARE / BATCH_WORK, GANG_PODS * GANG_SHARE / GANG_WORK
    per_core = range(GB_PER_CORE[0], GB_PER_CORE[1] + 1)
    each = rates[0] / sum(rates) / (len(BATCH_CORES) * len(per_core))
    rows = [(cpu, cpu * gb, each) for cpu in BATCH_CORES for gb in per_core]
    return np.array([*rows, (GANG_CPU, GANG_GB, rates[1] / sum(rates))], dtype=np.float64)


def fill_table(cpu: int, memory_gb: int) -> FloatArray:
    """V for every free room up to this, (cpu + 1, memory_gb + 1) cores."""
    pods = typical_pods()
    rng = np.random.default_rng(_SEED)
    offered = rng.choice(len(pods), (SEQUENCES, OFFERS), p=pods[:, 2])
    table = np.zeros((cpu + 1, memory_gb + 1))
    _fill(pods[:, :2].astype(np.int64)[offered], table)
    return table


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill(offered: IntArray, table: Any) -> None:
    for cpu in range(table.shape[0]):
        for memory in range(table.shape[1]):
            taken = 0
            for line in offered:
                free, left = cpu, memory
                for pod in line:
                    if free == 0:
                        break
                    if pod[0] <= free and pod[1] <= left:
                        free -= pod[0]
                        left -= pod[1]
                taken += cpu - free
            table[cpu, memory] = taken / offered.shape[0]

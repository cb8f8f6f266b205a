"""The functions: which exemplar each repeats, its size, how long a call runs, and who calls whom.

Members of a call tree are ordered by their calls, so that a caller is called at least about as often as what it calls,
and every caller has a lower index than its callees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.mix.world.source import Side, Source
from prewarm.domain import FloatArray, Int32Array, IntArray

TREE_SHARE = 0.30
TREE_SIZES = tuple(range(2, 9))
TREE_EXPONENT = -1.8
PAYLOAD_KIB = (1.0, 200.0)
MOST_NEEDED = 64
NEAR_ROWS = 25  # rows of the duration marginal on each side of a function's own count


@dataclass(frozen=True, slots=True, eq=False)
class Functions:
    """n functions. series: (n,) row of the source; memory_gb, duration_ms: (n,); caller: (n,) index of the function
    that calls it, -1 for none; payload_kib: (n,) of a call from it, 0 for none; mix: (n, c) its own callers' shares.
    """

    series: IntArray
    memory_gb: FloatArray
    duration_ms: FloatArray
    caller: Int32Array
    payload_kib: FloatArray
    mix: FloatArray

    @property
    def size(self) -> int:
        """How many."""
        return len(self.series)


def draw_functions(source: Source, side: Side, count: int, share: FloatArray, rng: np.random.Generator) -> Functions:
    """`count` functions of one side; `share` (c,) of the fleet sets how callers spread (Dirichlet, 1.5 x share)."""
    among = source.rows(side)
    weight = source.weight[among]
    series = rng.choice(among, count, p=weight / weight.sum())
    totals = source.counts.sum(axis=1, dtype=np.float64)
    caller, payload, order = _trees(totals[series], rng)
    series = series[order]
    memory = rng.choice(source.memory_mb, count) / 1000.0
    duration = draw_durations(source, totals[series], rng)
    mix = rng.dirichlet(1.5 * share, count)
    return Functions(series, memory, duration, caller, payload, mix)


def draw_durations(source: Source, totals: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Mean duration in ms of a random row among the nearest by calls a day, (n,)."""
    place = np.searchsorted(source.duration_calls, totals)
    near = place + rng.integers(-NEAR_ROWS, NEAR_ROWS, len(totals))
    durations: FloatArray = source.duration_ms[np.clip(near, 0, len(source.duration_ms) - 1)]
    return durations


def need_of(calls: FloatArray, duration_ms: FloatArray) -> Int32Array:
    """Instances needed in a minute: max(1, ceil(concurrency)) where there are calls, at most 64; shapes broadcast."""
    concurrency = calls * duration_ms / 60_000.0
    needed = np.clip(np.ceil(concurrency), 1, MOST_NEEDED)
    return np.where(calls > 0, needed, 0).astype(np.int32)


def _trees(totals: FloatArray, rng: np.random.Generator) -> tuple[Int32Array, FloatArray, IntArray]:
    """(caller, payload, order): order (n,) rearranges the drawn series so that trees stand with their callers first."""
    size = len(totals)
    members = rng.permutation(size)[: round(TREE_SHARE * size)]
    caller, payload = np.full(size, -1, np.int32), np.zeros(size)
    order = np.arange(size)
    chance = np.array(TREE_SIZES, np.float64) ** TREE_EXPONENT
    first = 0
    while len(members) - first >= TREE_SIZES[0]:
        wanted = int(rng.choice(TREE_SIZES, p=chance / chance.sum()))
        tree = members[first : first + wanted]
        first += len(tree)
        places = np.sort(tree)
        order[places] = tree[np.argsort(-totals[tree], kind="stable")]
        for rank in range(1, len(places)):
            caller[places[rank]] = places[rng.integers(rank)]
            payload[places[rank]] = rng.uniform(*PAYLOAD_KIB)
    return caller, payload, order

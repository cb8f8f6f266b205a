"""One world of the serverless mix, put together from its parts by one seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.mix.world.fleet import Fleet, draw_fleet
from gnn.mix.world.functions import Functions, draw_functions
from gnn.mix.world.hits import Hits, draw_hits
from gnn.mix.world.shocks import Conditions, draw_conditions
from gnn.mix.world.source import Side, Source
from prewarm.domain import Float32Array

WARM_UP_MIN = 10
FUNCTIONS = 2_000
CLUSTERS = 5
EVALUATION_SEEDS = tuple(range(10))
_WHOLE_DAY = slice(None)
_SIDE_CODE = {Side.TRAINING: 1, Side.EVALUATION: 2}


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Everything that is true of one day; a policy sees of it what `gnn.mix.state` shows.

    calls: (n, T); minutes before `warm_up` are not counted.
    """

    name: str
    fleet: Fleet
    functions: Functions
    hits: Hits
    conditions: Conditions
    calls: Float32Array
    warm_up: int = WARM_UP_MIN

    @property
    def minutes(self) -> int:
        """Length of the day."""
        return int(self.calls.shape[1])


def draw_world(
    source: Source,
    side: Side,
    seed: int,
    *,
    functions: int = FUNCTIONS,
    clusters: int = CLUSTERS,
    span: slice = _WHOLE_DAY,
) -> World:
    """The world of `seed` on one side of the division; the two sides share no exemplar and no draw. span: minutes of
    the day that are drawn, from midnight's waves on, for fleets of which a whole day would not fit into memory.
    """
    rng = np.random.default_rng([_SIDE_CODE[side], seed, functions, clusters])
    fleet = draw_fleet(source.node_mib, clusters, rng)
    drawn = draw_functions(source, side, functions, fleet.share, rng)
    calls = source.counts[drawn.series, span]
    hits = draw_hits(calls, drawn, fleet.peak_min, rng)
    memory = drawn.memory_gb[hits.row] * hits.need
    need_gb = np.add.reduceat(np.r_[memory, 0.0], np.minimum(hits.first[:-1], len(memory)))
    need_gb[np.diff(hits.first) == 0] = 0.0
    fleet = fleet.filled(need_gb[WARM_UP_MIN:])
    conditions = draw_conditions(fleet, calls.shape[1], WARM_UP_MIN, rng)
    return World(f"{side.value}-{seed}", fleet, drawn, hits, conditions, calls)

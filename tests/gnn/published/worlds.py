"""Small worlds made by hand: a few nodes, a few jobs, steady calls."""

from __future__ import annotations

import numpy as np

from gnn.published.world.draw import Regime, World
from gnn.published.world.fleet import Fleet
from gnn.published.world.jobs import Jobs
from gnn.published.world.web import CHAINS, WebPlan

QUIET = (0.0,) * CHAINS


def fleet(*nodes: tuple[int, int, int], between_s: float = 0.020, inside_s: float = 0.001) -> Fleet:
    """nodes: (cores, GB, cluster)."""
    cpu, memory, cluster = np.array(nodes, dtype=np.int64).T.copy()
    size = int(cluster.max()) + 1
    delay_s = np.full((size, size), between_s)
    np.fill_diagonal(delay_s, inside_s)
    return Fleet(cpu, memory, cluster, delay_s)


def jobs(*rows: tuple[float, int, int, int, float]) -> Jobs:
    """rows: arrival, cores, GB, pods, seconds; they are ready at once."""
    arrive, cpu, memory, pods, run = (np.array(column) for column in zip(*rows, strict=True)) if rows else [[]] * 5
    whole = (np.asarray(one, dtype=np.int64) for one in (cpu, memory, pods))
    return Jobs.of((np.asarray(arrive, dtype=float), *whole, np.asarray(run, dtype=float), np.zeros(len(rows))))


def world(
    place: Fleet,
    work: Jobs | None = None,
    rates: tuple[float, ...] = QUIET,
    *,
    regime: Regime = Regime.FAILURES,
    duration_s: float = 600.0,
    lost: tuple[int, ...] = (),
    later: tuple[tuple[float, tuple[float, ...]], ...] = (),
    depth: int = 0,
) -> World:
    """later: (time, rates) of changes."""
    since = np.array([0.0, *(at for at, _ in later)])
    plan = WebPlan(since, np.array([rates, *(row for _, row in later)], dtype=float))
    gone = np.array(lost, dtype=np.int64)
    return World(7, regime, 1.0, place, plan, jobs() if work is None else work, duration_s, 0.0, gone, depth)

"""What a policy may see of the simulator: the fleet as arrays, by cluster, by node pool and by service.

The same that a snapshot of real clusters would tell: room, what runs and waits, replicas by cluster, the calls of each
chain at present and the delays. Nothing of the jobs to come, of how long a job will run, or of the world.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.published.kernel.layout import (
    ASKED,
    BATCH,
    CLUSTERS,
    GANG,
    NODES,
    NOW,
    SERVICES,
    SLOTS,
    STARTING,
    TIERS,
    WAITING_JOBS,
    WAITING_WEB,
    WEB,
    State,
)
from prewarm.domain import FloatArray, IntArray

POOL_FIELDS = ("cluster", "node cpu", "node GB", "nodes", "free cpu", "free GB", "slots of 4 cores and 16 GB")
_REPLICA = (1, 2)


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """The pod that waits for an answer: kind (`KINDS`), cores, GB, pods that go together, service or -1."""

    kind: int
    cpu: int
    memory_gb: int
    pods: int
    service: int


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """All copies. capacity, free: (c, 2) cores and GB. pods: (c, 3) by kind. pools: (p, 7) as POOL_FIELDS, one row for
    each shape of node in each cluster. ready, starting: (s, c) replicas; wanted: (s,). rates: (s,) calls a second at
    present, which a few seconds of counting tell. waiting: (3,) pods in line by kind. delay_s: (c, c).
    """

    at_s: float
    capacity: FloatArray
    free: FloatArray
    pods: IntArray
    pools: FloatArray
    ready: IntArray
    starting: IntArray
    wanted: IntArray
    rates: FloatArray
    waiting: IntArray
    delay_s: FloatArray
    ask: Ask | None


def observe(state: State) -> Observation:
    """The state as it stands."""
    sim = state[0]
    nodes, clusters = int(sim["count"][NODES]), int(sim["count"][CLUSTERS])
    cluster = sim["cluster"][:nodes]
    room = np.stack([sim["free_cpu"][:nodes], sim["free_memory"][:nodes]], axis=1).astype(np.float64)
    whole = np.stack([sim["cpu"][:nodes], sim["memory"][:nodes]], axis=1) * sim["alive"][:nodes, None]
    member = np.eye(clusters)[cluster].T
    return Observation(
        at_s=float(sim["f"][NOW]),
        capacity=member @ whole,
        free=member @ room,
        pods=sim["pods"][:clusters].copy(),
        pools=_pools(cluster, whole, room),
        ready=sim["ready"][:, :clusters].copy(),
        starting=_starting(sim, clusters),
        wanted=sim["wanted"].copy(),
        rates=np.repeat(sim["rate"], TIERS),
        waiting=_waiting(sim),
        delay_s=sim["delay_s"][:clusters, :clusters].copy(),
        ask=_ask(sim),
    )


def _pools(cluster: IntArray, whole: FloatArray, room: FloatArray) -> FloatArray:
    rows = []
    for key in sorted({(int(c), *map(float, w)) for c, w in zip(cluster, whole, strict=True) if w[0] > 0}):
        here = (cluster == key[0]) & (whole == key[1:]).all(axis=1)
        gangs = np.minimum(room[here, 0] // 4, room[here, 1] // 16).sum()
        rows.append((*key, here.sum(), *room[here].sum(axis=0), gangs))
    return np.array(rows, dtype=np.float64)


def _starting(sim: np.void, clusters: int) -> IntArray:
    slots = np.flatnonzero(sim["state"] == STARTING)
    count = np.zeros((SERVICES, clusters), dtype=np.int64)
    np.add.at(count, (sim["service"][slots], sim["cluster"][sim["node"][slots]]), 1)
    return count


def _waiting(sim: np.void) -> IntArray:
    jobs = sim["job_line"][: sim["i"][WAITING_JOBS]]
    pods = sim["job_pods"][jobs]
    return np.array([sim["i"][WAITING_WEB], (pods == 1).sum(), pods[pods > 1].sum()])


def _ask(sim: np.void) -> Ask | None:
    asked = int(sim["i"][ASKED])
    if asked < 0:
        return None
    if asked < SLOTS:
        return Ask(WEB, *_REPLICA, 1, int(sim["service"][asked]))
    job = asked - SLOTS
    cpu, memory_gb, pods = (int(sim[name][job]) for name in ("job_cpu", "job_memory", "job_pods"))
    return Ask(GANG if pods > 1 else BATCH, cpu, memory_gb, pods, -1)

"""Pods that wait get nodes, and give them back.

Replicas come first, then jobs in the order of arrival; later ones that fit may pass. A gang binds four pods in one
cluster at once or none. A policy can be asked before each pod that has room somewhere.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gnn.published.kernel.calls import settle
from gnn.published.kernel.heap import push, uniform
from gnn.published.kernel.layout import (
    ANSWERED,
    ASKED,
    BATCH,
    CLUSTERS,
    CREATED,
    DEPTH,
    DIRTY,
    GANG,
    HEAP,
    JOBS,
    NEXT_JOB,
    NODES,
    NOW,
    PATIENCE_S,
    READY,
    RUNNING,
    SLOTS,
    START_PARTS,
    STARTING,
    WAITING,
    WAITING_JOBS,
    WAITING_WEB,
    WEB,
    WEB_LATE,
    WEB_WAIT,
    WHOLE_GANGS,
)
from gnn.published.kernel.scores import choose, choose_cluster, has_room

Array = Any

REPLICA_CPU, REPLICA_GB = 1, 2
_START = 7

compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def take(sim: Array, n: int, ask: Array) -> None:
    """One pod's room on a node."""
    sim.free_cpu[n] -= ask[1]
    sim.free_memory[n] -= ask[2]
    sim.pods[sim.cluster[n], ask[0]] += 1


@compiled  # type: ignore[untyped-decorator]
def give(sim: Array, n: int, ask: Array) -> None:
    """The room back; a node that has vanished keeps none."""
    if sim.alive[n]:
        sim.free_cpu[n] += ask[1]
        sim.free_memory[n] += ask[2]
    sim.pods[sim.cluster[n], ask[0]] -= 1
    sim.i[DIRTY] = 1


@compiled  # type: ignore[untyped-decorator]
def ask_of_replica(sim: Array, slot: int) -> tuple[int, int, int, int, int]:
    """kind, cpu, memory, service and number of a replica."""
    return WEB, REPLICA_CPU, REPLICA_GB, sim.service[slot], slot


@compiled  # type: ignore[untyped-decorator]
def ask_of_job(sim: Array, job: int) -> tuple[int, int, int, int, int]:
    """The same of one pod of a job."""
    kind = GANG if sim.job_pods[job] > 1 else BATCH
    return kind, sim.job_cpu[job], sim.job_memory[job], 0, SLOTS + job


@compiled  # type: ignore[untyped-decorator]
def place_waiting(sim: Array, asking: bool) -> bool:
    """Bind all that fits; True where a policy is to be asked first (Sim.i[ASKED] says about whom)."""
    if _place_replicas(sim, asking) or _place_jobs(sim, asking):
        return True
    sim.i[DIRTY] = 0
    return False


@compiled  # type: ignore[untyped-decorator]
def _must_ask(sim: Array, asking: bool, number: int) -> bool:
    """Whether to stop for a policy's word; an answer is good for the one pod that it was given for."""
    if asking and sim.i[ANSWERED] == 0:
        sim.i[ASKED] = number
        return True
    sim.i[ANSWERED] = 0
    sim.i[ASKED] = -1
    return False


@compiled  # type: ignore[untyped-decorator]
def _place_replicas(sim: Array, asking: bool) -> bool:
    while sim.i[WAITING_WEB] > 0:
        slot = sim.web_line[0]
        ask = ask_of_replica(sim, slot)
        if not _somewhere(sim, ask):
            return False
        if _must_ask(sim, asking, slot):
            return True
        node, _ = choose(sim, ask, -1)
        drop_waiting(sim.web_line, sim.i, WAITING_WEB, 0)
        _bind_replica(sim, slot, node, ask)
    return False


@compiled  # type: ignore[untyped-decorator]
def _somewhere(sim: Array, ask: Array) -> bool:
    for n in range(sim.count[NODES]):  # noqa: SIM110 - compiled
        if has_room(sim, n, ask):
            return True
    return False


@compiled  # type: ignore[untyped-decorator]
def _bind_replica(sim: Array, slot: int, node: int, ask: Array) -> None:
    now, service = sim.f[NOW], sim.service[slot]
    take(sim, node, ask)
    sim.node[slot] = node
    sim.bound[slot] = now
    sim.state[slot] = STARTING
    sim.on_node[node, service] += 1
    sim.placed[service, sim.cluster[node]] += 1
    waited = now - sim.created[slot]
    sim.books[WEB_WAIT] += waited
    sim.books[WEB_LATE] += waited > PATIENCE_S
    share = uniform(sim.seed[0], sim.i[CREATED] * 16 + service, _START)
    sim.i[CREATED] += 1
    start_s = sim.start_table[int(share * START_PARTS)] if now > 0.0 else 0.0
    if start_s > 0.0:
        sim.ready_at[slot] = now + start_s
        due = sim.count[JOBS] + slot
        sim.i[HEAP] = push(sim.due_at, sim.due_id, sim.i[HEAP], now + start_s, due)
    else:
        make_ready(sim, slot)


@compiled  # type: ignore[untyped-decorator]
def make_ready(sim: Array, slot: int) -> None:
    """A replica begins to serve."""
    service = sim.service[slot]
    sim.state[slot] = READY
    sim.ready[service, sim.cluster[sim.node[slot]]] += 1
    settle(sim, service, sim.f[NOW])


@compiled  # type: ignore[untyped-decorator]
def _place_jobs(sim: Array, asking: bool) -> bool:
    at = 0
    while at < sim.i[WAITING_JOBS]:
        job = sim.job_line[at]
        ask = ask_of_job(sim, job)
        if not _could_hold(sim, job, ask):
            at += 1
            continue
        if _must_ask(sim, asking, SLOTS + job):
            return True
        if ask[0] == GANG:
            bound = _bind_gang(sim, job, ask)
        else:
            node, _ = choose(sim, ask, -1)
            take(sim, node, ask)
            sim.job_node[job, 0] = node
            bound = True
        if bound:
            _begin_job(sim, job)
            drop_waiting(sim.job_line, sim.i, WAITING_JOBS, at)
            refill(sim)
        else:
            at += 1
    return False


@compiled  # type: ignore[untyped-decorator]
def _could_hold(sim: Array, job: int, ask: Array) -> bool:
    """Whether some cluster has room for all its pods, or, pod by pod, for one."""
    if ask[0] == GANG and sim.f[WHOLE_GANGS] == 0.0:
        return bool(_somewhere(sim, ask))
    fit = np.zeros(sim.count[CLUSTERS], np.int64)
    for n in range(sim.count[NODES]):
        by_cpu = sim.free_cpu[n] // ask[1]
        fit[sim.cluster[n]] += min(by_cpu, sim.free_memory[n] // ask[2])
    return bool(fit.max() >= sim.job_pods[job])


@compiled  # type: ignore[untyped-decorator]
def _bind_gang(sim: Array, job: int, ask: Array) -> bool:
    """Bind all pods of a gang at once in one cluster, or none and False.

    A rule that knows gangs takes, of the clusters that hold all, the one with the best mean score, or waits. One that
    scores pod by pod sends the gang where its first pod goes, and there it stays: it waits for room or fails whole.
    """
    pods, nodes = sim.job_pods[job], sim.job_node[job]
    if sim.f[WHOLE_GANGS] > 0.0:
        home = _whole_home(sim, ask, pods, nodes)
    else:
        if sim.job_home[job] == 0:
            first, _ = choose(sim, ask, -1)
            sim.job_home[job] = 1 + sim.cluster[first]
        home = sim.job_home[job] - 1
    if home < 0:
        return False
    placed, _ = _try_gang(sim, ask, (home, pods), nodes)
    if placed < pods:
        _undo_gang(sim, ask, placed, nodes)
    return bool(placed == pods)


@compiled  # type: ignore[untyped-decorator]
def _whole_home(sim: Array, ask: Array, pods: int, nodes: Array) -> int:
    """The cluster that is to hold all pods, -1 where none has room for them."""
    mean = np.full(sim.count[CLUSTERS], -np.inf)
    for k in range(mean.size):
        placed, total = _try_gang(sim, ask, (k, pods), nodes)
        _undo_gang(sim, ask, placed, nodes)
        if placed == pods:
            mean[k] = total / pods
    return int(choose_cluster(sim, ask, mean))


@compiled  # type: ignore[untyped-decorator]
def _undo_gang(sim: Array, ask: Array, placed: int, nodes: Array) -> None:
    for p in range(placed):
        give(sim, nodes[p], ask)


@compiled  # type: ignore[untyped-decorator]
def _try_gang(sim: Array, ask: Array, where: Array, nodes: Array) -> tuple[int, float]:
    """Bind up to where[1] pods in cluster where[0]: (how many, summed score)."""
    placed, total = 0, 0.0
    while placed < where[1]:
        node, score = choose(sim, ask, where[0])
        if node < 0:
            break
        take(sim, node, ask)
        nodes[placed] = node
        placed += 1
        total += score
    return placed, total


@compiled  # type: ignore[untyped-decorator]
def _begin_job(sim: Array, job: int) -> None:
    sim.job_state[job] = RUNNING
    end = sim.f[NOW] + sim.start_s[job] + sim.run_s[job]
    sim.i[HEAP] = push(sim.due_at, sim.due_id, sim.i[HEAP], end, job)


@compiled  # type: ignore[untyped-decorator]
def refill(sim: Array) -> None:
    """Where work always waits: the line is as long as it was."""
    while sim.i[WAITING_JOBS] < sim.count[DEPTH] and sim.i[NEXT_JOB] < sim.count[JOBS]:
        job = sim.i[NEXT_JOB]
        sim.i[NEXT_JOB] += 1
        sim.job_state[job] = WAITING
        sim.job_line[sim.i[WAITING_JOBS]] = job
        sim.i[WAITING_JOBS] += 1
        sim.i[DIRTY] = 1


@compiled  # type: ignore[untyped-decorator]
def drop_waiting(line: Array, counts: Array, which: int, at: int) -> None:
    """Take one out of a line, the others keep their order."""
    counts[which] -= 1
    for j in range(at, counts[which]):
        line[j] = line[j + 1]

"""The simulator's state as one record of fixed size: what compiled loops change and Python reads between two decisions.

One record and not many arrays, because a loop that takes dozens of arrays takes minutes to compile. Everything has the
size of the published fleet; a smaller one leaves the rest empty, and nodes without room are never chosen. Times are
seconds from the start of the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from federation.placement.scorer import FACTORS

Array = Any  # a record inside compiled loops; an array of one record outside
State = NDArray[np.void]
"""The record in an array of one; a field is read as state[name][0]."""

NODES_AT_MOST, CLUSTERS_AT_MOST, JOBS_AT_MOST, SLOTS, RATES_AT_MOST = 13, 2, 8_192, 512, 64
CHAINS, TIERS = 4, 3
SERVICES = CHAINS * TIERS
WEB, BATCH, GANG = range(3)
KINDS = ("web", "batch", "training")
FREE, PENDING, STARTING, READY = range(4)
"""States of a replica's slot."""
ABSENT, WAITING, RUNNING, DONE, FAILED = range(5)
"""States of a job; ABSENT: has not come."""
PATIENCE_S, TIME_OUT_S, BIN_S = 30.0, 1.0, 0.0005
SECONDS, BINS = 2_400, round(TIME_OUT_S / BIN_S) + 1
GANG_PODS = 4

NODES, CLUSTERS, JOBS, RATES, VANISHING, DEPTH = range(6)
"""Columns of `count`: how much of each there is; DEPTH: jobs that always wait."""
NOW, ALLOCATED, FROM, TARGET_LOAD, LOST_AT, WHOLE_GANGS = range(6)
"""Columns of `f`: time; core-seconds allocated since FROM; target of load-aware packing; when nodes vanish; 1 where the
rule knows which cluster holds a whole gang, 0 where it scores pod by pod."""
DIRTY, ASKED, ANSWERED, NEXT_JOB, NEXT_RATE, TICKS, HEAP, WAITING_WEB, WAITING_JOBS, CALLS_ON, LOST, CREATED = range(12)
"""Columns of `i`. DIRTY: something may fit now; ASKED: pod that a policy is asked about (slot, or SLOTS + job), -1."""
BOOKS = ("came", "failed", "gangs", "gangs_failed", "web_late", "web_created", "web_wait_s", "evicted")
CAME, FAILURES, GANGS, GANGS_FAILED, WEB_LATE, WEB_CREATED, WEB_WAIT, EVICTED = range(8)
ENDS, UNUSED, BEGUN, LATE, FINISHED, HOPS, CROSSED, WAITED = 0, 1, 2, 6, 7, 8, 12, 13
"""Columns of `cn`: heap, free call slots, calls begun by chain (4), given up, done, two hop rings' heads and tails."""
TIME, NEXT = 0, 1
"""Columns of `cf`: time that calls have been run to, next arrival by chain."""

NODE_FACTORS = (
    *FACTORS,
    "least_allocated",  # kube-scheduler NodeResourcesFit, LeastAllocated: mean free share after
    "balanced",  # kube-scheduler NodeResourcesBalancedAllocation: 1 - deviation of the two shares
    "cluster_least",  # LeastAllocated on the totals of the cluster
    "spread",  # kube-scheduler PodTopologySpread, system defaults: few pods of the service on the node and in the zone
    "most_allocated",  # NodeResourcesFit, MostAllocated: mean allocated share after
    "target_load",  # Trimaran TargetLoadPacking: rises to the target, then falls
    "peers",  # Diktyo NetworkOverhead: 1 - delay to the pods of callers and callees
    "equal_share",  # Karmada static weights, all 1
    "room_share",  # Karmada weights by available replicas
    "aggregated",  # Karmada aggregated: the cluster that has most of it, else most room
    "random",
)
SIZE = len(NODE_FACTORS)
(
    FIT, FRAGMENTATION, FUTURE, NETWORK, WARM, PRICE, HEADROOM, STEADINESS, RISK,
    LEAST, BALANCED, CLUSTER_LEAST, SPREAD, MOST, TARGET, PEERS, EQUAL, ROOM, AGGREGATED, RANDOM,
) = range(SIZE)  # fmt: skip
FILL_CPU, FILL_GB, TYPES = 32, 256, 22
LINE, HOP_RING, CALL_SLOTS, END_SLOTS, SERVICE_PARTS, START_PARTS = 1 << 13, 1 << 16, 1 << 15, 1 << 10, 1 << 16, 1 << 12

_W, _D, _C = "i8", "f8", "i4"
_PAIR = (SERVICES, CLUSTERS_AT_MOST)
LAYOUT = np.dtype(
    [
        # what stays: nodes, delays, tables (fill: cores that the forecast mix takes of free cores and GB)
        ("seed", _W, (1,)),
        ("count", _W, (8,)),
        ("cpu", _W, (NODES_AT_MOST,)),
        ("memory", _W, (NODES_AT_MOST,)),
        ("cluster", _W, (NODES_AT_MOST,)),
        ("delay_s", _D, (CLUSTERS_AT_MOST, CLUSTERS_AT_MOST)),
        ("types", _D, (TYPES, 3)),
        ("fill", _D, (FILL_CPU + 1, FILL_GB + 1)),
        ("start_table", _D, (START_PARTS,)),
        ("service_table", _D, (SERVICE_PARTS,)),
        ("arrive", _D, (JOBS_AT_MOST,)),
        ("job_cpu", _W, (JOBS_AT_MOST,)),
        ("job_memory", _W, (JOBS_AT_MOST,)),
        ("job_pods", _W, (JOBS_AT_MOST,)),
        ("run_s", _D, (JOBS_AT_MOST,)),
        ("start_s", _D, (JOBS_AT_MOST,)),
        ("since", _D, (RATES_AT_MOST,)),
        ("rates", _D, (RATES_AT_MOST, CHAINS)),
        ("lost", _W, (NODES_AT_MOST,)),
        # what a policy sets: by kind, the temperature last; a residual by cluster
        ("weights", _D, (len(KINDS), SIZE + 1)),
        ("residual", _D, (len(KINDS), CLUSTERS_AT_MOST)),
        # pods: room by node, replicas by slot, jobs, the lines, and what is due
        ("f", _D, (8,)),
        ("i", _W, (16,)),
        ("books", _D, (len(BOOKS),)),
        ("free_cpu", _W, (NODES_AT_MOST,)),
        ("free_memory", _W, (NODES_AT_MOST,)),
        ("alive", _W, (NODES_AT_MOST,)),
        ("on_node", _W, (NODES_AT_MOST, SERVICES)),
        ("pods", _W, (CLUSTERS_AT_MOST, len(KINDS))),
        ("placed", _W, _PAIR),
        ("job_state", _W, (JOBS_AT_MOST,)),
        ("job_node", _W, (JOBS_AT_MOST, GANG_PODS)),
        ("job_home", _W, (JOBS_AT_MOST,)),
        ("job_line", _W, (JOBS_AT_MOST,)),
        ("service", _W, (SLOTS,)),
        ("node", _W, (SLOTS,)),
        ("state", _W, (SLOTS,)),
        ("created", _D, (SLOTS,)),
        ("bound", _D, (SLOTS,)),
        ("ready_at", _D, (SLOTS,)),
        ("web_line", _W, (SLOTS,)),
        ("due_at", _D, (2 * JOBS_AT_MOST,)),
        ("due_id", _W, (2 * JOBS_AT_MOST,)),
        # the replica rule
        ("wanted", _W, (SERVICES,)),
        ("have", _W, (SERVICES,)),
        ("recent", _W, (SERVICES, 30)),
        ("work_at", _D, (SERVICES, 6)),
        ("area", _D, (SERVICES,)),
        # calls: lines by service and cluster with head and tail, slots, hops by delay, service ends
        ("ready", _W, _PAIR),
        ("busy", _W, _PAIR),
        ("ends", _W, (*_PAIR, 2)),
        ("busy_area", _D, (SERVICES,)),
        ("seen", _D, (SERVICES,)),
        ("rate", _D, (CHAINS,)),
        ("cf", _D, (1 + CHAINS,)),
        ("cn", _W, (16,)),
        ("end_at", _D, (END_SLOTS,)),
        ("end_slot", _W, (END_SLOTS,)),
        ("call_start", _D, (CALL_SLOTS,)),
        ("number", _W, (CALL_SLOTS,)),
        ("where", _W, (CALL_SLOTS, 3)),
        ("free", _W, (CALL_SLOTS,)),
        ("queue", _C, (*_PAIR, LINE)),
        ("hop_at", _D, (2, HOP_RING)),
        ("hop_slot", _C, (2, HOP_RING)),
        ("histogram", _C, (SECONDS, BINS)),
    ]
)

"""Works out, once for a decision, everything that the filters and factors look at."""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from federation.placement.filters.case import Case, Kinds
from federation.placement.filters.hosts import asks_host, hosted, may_satisfy
from federation.placement.fleet.compiled import FleetColumns
from federation.placement.fleet.quota import quota_room, usage
from federation.placement.fleet.room import LARGE, apart_room, ask_of, cluster_room, declared_room, state_room
from federation.placement.fleet.selectors import repelling, satisfies_any
from federation.placement.reserve.book import Book, Claim, shape_of
from federation.placement.reserve.tally import Tally, cost
from federation.placement.safety.failback import Stay, way_back
from federation.placement.terms import Terms
from federation.placement.workload import Workload
from federation.snapshot import ARCH_LABEL, MemberState
from prewarm.domain import BoolArray, IntArray

ASSUMED_ARCHITECTURE = "amd64"
"""What an image is taken to run on where nobody says and the fleet has several."""
_RUNNING = attrgetter("running")


def examine(fleet: FleetColumns, workload: Workload, *, book: Book, tally: Tally, terms: Terms, now: float) -> Case:
    """The case of one workload."""
    kinds = kinds_of(fleet, workload)
    accepted = kinds.architecture & kinds.taints & kinds.affinity & kinds.model
    ask, states = ask_of(fleet, workload), fleet.frame.states.rows
    accepts: BoolArray = states.open if accepted.all() else states.open & accepted[states.class_of]
    room = np.zeros(len(accepts), dtype=np.int64) if ask.unknown else np.where(accepts, state_room(fleet, ask), 0)
    if workload.one_per_node is not None:
        room = np.minimum(room, 1)
    each, taking = room.take(fleet.numbers), None
    if asks_host(workload.affinity.node_terms):
        likely = states.open & (kinds.architecture & kinds.taints & kinds.affinity)[states.class_of]
        taking = hosted(fleet, workload.affinity.node_terms, likely[fleet.numbers])
        each = np.where(taking > 0, each, 0)
    own = book.own(workload.key)
    before, occupied, ready = _present(fleet, workload, own)
    nodes_fit, promised = cluster_room(fleet, each, taking), _promised(fleet, workload, tally, own)
    if workload.one_per_node is not None:
        nodes_fit = np.minimum(nodes_fit, apart_room(fleet, accepts[fleet.numbers], taking, occupied))
    quota = _quota(fleet, workload, book)
    fits = np.maximum(np.minimum(nodes_fit - promised, quota), 0)
    gone, reached = fleet.facts.in_state(MemberState.DARK) > 0, nodes_fit > 0
    if not reached.all():
        reached = fleet.any_row(_reached(fleet, accepts, taking))
    stay = Stay(terms.homes.get(workload.key), workload.replicas, np.where(gone, 0, before), fits)
    return Case(
        fleet=fleet,
        workload=workload,
        terms=terms,
        now=now,
        ask=ask,
        kinds=kinds,
        accepts=accepts,
        room=room,
        each=each,
        taking=taking,
        reached=reached,
        everywhere=bool(reached.all()),
        before=before,
        gone=gone,
        back=way_back(stay, fleet.clusters, now=now, failback_s=terms.policy.failback_s),
        occupied=occupied,
        ready=ready,
        nodes_fit=nodes_fit,
        promised=promised,
        quota=quota,
        fits=fits,
        declared=np.minimum(_declared(fleet, workload, accepted & kinds.unnamed), np.maximum(quota - fits, 0)),
    )


def kinds_of(fleet: FleetColumns, workload: Workload) -> Kinds:
    """Which kinds of nodes accept the workload."""
    table, terms, models = fleet.frame.table, workload.affinity.node_terms, workload.gpu.models
    assumed = _assumed(fleet, workload)
    allowed = (assumed,) if assumed else workload.architecture
    return Kinds(
        architecture=table.holds(
            ("architecture", allowed), lambda at: not allowed or table.labels[at].get(ARCH_LABEL, allowed[0]) in allowed
        ),
        taints=table.holds(
            ("taints", workload.tolerations), lambda at: not repelling(table.kinds[at].taints, workload.tolerations)
        ),
        affinity=table.holds(("affinity", terms), lambda at: may_satisfy(table.labels[at], terms)),
        unnamed=table.holds(("unnamed", terms), lambda at: satisfies_any(table.labels[at], terms)),
        model=table.holds(("model", models), lambda at: not models or table.gpu_model(at) in models),
        assumed=assumed,
    )


def _reached(fleet: FleetColumns, accepts: BoolArray, taking: IntArray | None) -> BoolArray:
    rows: BoolArray = accepts[fleet.numbers]
    return rows if taking is None else rows & (taking > 0)


def _assumed(fleet: FleetColumns, workload: Workload) -> str | None:
    """The architecture to assume: none where the workload says, or where all nodes that say are alike."""
    if workload.architecture or any(rule.key == ARCH_LABEL for term in workload.affinity.node_terms for rule in term):
        return None
    return ASSUMED_ARCHITECTURE if len(fleet.frame.table.architectures) > 1 else None


def _present(fleet: FleetColumns, workload: Workload, own: tuple[Claim, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Instances that the last decision wanted in each cluster, those that hold room there, and those that are ready."""
    before, occupied, ready = np.zeros((3, len(fleet)), dtype=np.int64)
    key = workload.key
    for at in [at for at, running in enumerate(map(_RUNNING, fleet.clusters)) if key in running]:
        here = fleet.clusters[at].running[key]
        before[at], occupied[at], ready[at] = here.wanted, max(0, here.existing - here.pending), here.ready
    for claim in own:
        at = fleet.position.get(claim.cluster, -1)
        if at >= 0:
            before[at] = max(before[at], claim.base + claim.instances)
    return before, occupied, ready


def _promised(fleet: FleetColumns, workload: Workload, tally: Tally, own: tuple[Claim, ...]) -> IntArray:
    """What others have in flight; a workload does not stand in its own way."""
    promised, ours = tally.displaced(workload), shape_of(workload)
    for claim in own:
        at = fleet.position.get(claim.cluster, -1)
        if at >= 0:
            promised[at] -= claim.instances * cost(claim.shape, ours)
    return promised


def _quota(fleet: FleetColumns, workload: Workload, book: Book) -> IntArray:
    room = np.full(len(fleet), LARGE, dtype=np.int64)
    for at in fleet.facts.limited:
        cluster = fleet.clusters[at]
        room[at] = quota_room(cluster, workload, _quota_in_flight(book, cluster.name, workload))
    return room


def _quota_in_flight(book: Book, cluster: str, workload: Workload) -> dict[str, int]:
    """What other workloads of the namespace were promised there and a quota does not show yet."""
    total: dict[str, int] = {}
    for claim in book.of(cluster):
        if claim.workload != workload.key and claim.workload.partition("/")[0] == workload.namespace:
            for name, amount in usage(dict(claim.shape[0])).items():
                total[name] = total.get(name, 0) + amount * claim.instances
    return total


def _declared(fleet: FleetColumns, workload: Workload, accepted: BoolArray) -> IntArray:
    """Room on nodes that are not there yet; they are taken to be like one that the cluster has now."""
    if not fleet.facts.grows:
        return np.zeros(len(fleet), dtype=np.int64)
    alike = fleet.any_row(accepted[fleet.frame.states.rows.class_of][fleet.numbers])
    unasked = not (workload.affinity.node_terms or workload.gpu.models)
    empty = np.array([len(block.rows) == 0 for block in fleet.blocks], dtype=np.bool_)
    return declared_room(fleet, workload, alike | (empty & unasked))

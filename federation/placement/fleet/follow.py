"""From a snapshot to columns, keeping what the last one has in common with it.

Between two decisions usually one cluster's summary has changed. What a new snapshot shares with the last one is known
by identity, so following costs what changed plus one copy of the columns, in as many pieces as there were changes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from operator import is_not

import numpy as np

from federation.placement.fleet.blocks import Frame, block_of
from federation.placement.fleet.classes import ClassTable
from federation.placement.fleet.compiled import FleetColumns
from federation.placement.fleet.facts import facts_of
from federation.placement.fleet.network import Network, network_of
from federation.placement.fleet.rows import Block
from federation.placement.fleet.states import state_table
from federation.snapshot import BASE_RESOURCES, Cluster, Snapshot
from prewarm.domain import FloatArray, IntArray

_OUTDATED = 256
"""Kinds of nodes that the table may hold beyond twice those in use before it is made anew."""
_OUTDATED_STATES = 50_000
"""States of nodes beyond twice the rows in use, likewise."""


def follow(snapshot: Snapshot, last: FleetColumns | None = None) -> FleetColumns:
    """The snapshot in columns; parts of `last` are used again where a cluster's nodes are the same object."""
    if last is not None and snapshot is last.snapshot:
        return last
    clusters = snapshot.clusters
    touched = touched_of(clusters, () if last is None else last.clusters)
    alike = last if last is not None and touched is not None else None
    names = tuple([one.name for one in clusters]) if alike is None else alike.names
    touched = list(range(len(clusters))) if touched is None else touched
    changed = [at for at in touched if alike is None or clusters[at].nodes is not alike.blocks[at].nodes]
    frame = _framed(snapshot, alike, changed)
    base = alike if alike is not None and alike.frame is frame else None
    if base is None:
        changed = list(range(len(clusters)))
    blocks = _blocks(snapshot, frame, base, changed)
    starts = _starts(blocks, base, changed)
    return FleetColumns(
        snapshot=snapshot,
        names=names,
        position={name: at for at, name in enumerate(names)} if alike is None else alike.position,
        frame=frame,
        blocks=blocks,
        facts=facts_of(clusters, None if alike is None else alike.facts, touched),
        network=_network(snapshot, alike, touched),
        starts=starts,
        gapless=bool(blocks) and bool((starts[1:] > starts[:-1]).all()),
        numbers=_column(blocks, base, changed, of=lambda one: one.numbers, last=lambda one: one.numbers),
        count=_column(blocks, base, changed, of=lambda one: one.rows.count, last=lambda one: one.count),
        sums=_sums(blocks, frame, base, changed),
    )


def touched_of(clusters: tuple[Cluster, ...], known: tuple[Cluster, ...]) -> list[int] | None:
    """Positions of clusters that are not the objects that were known; None where there are others than then."""
    if len(clusters) != len(known):
        return None
    touched = list(compress(range(len(known)), map(is_not, clusters, known)))
    return touched if all(clusters[at].name == known[at].name for at in touched) else None


def _network(snapshot: Snapshot, last: FleetColumns | None, touched: list[int]) -> Network:
    if last is None:
        return network_of(snapshot, None)
    moved = any(snapshot.clusters[at].region != last.clusters[at].region for at in touched)
    return network_of(snapshot, last.network, moved=moved)


def _framed(snapshot: Snapshot, last: FleetColumns | None, changed: list[int]) -> Frame:
    """What the columns have in common; the last frame itself where it still holds everything."""
    nodes = [snapshot.clusters[at].nodes for at in changed]
    found = {name for resources in {each.resources for each in nodes} for name in resources}
    gpus = max((each.gpu_free.shape[1] for each in nodes), default=0)
    if last is None:
        return _frame((*BASE_RESOURCES, *sorted(found.difference(BASE_RESOURCES))), gpus, ClassTable())
    frame = last.frame
    if _is_outdated(snapshot, last):
        return _framed(snapshot, None, list(range(len(snapshot.clusters))))
    added = sorted(found.difference(frame.resources))
    if not added and gpus <= frame.gpus:
        return frame
    return _frame((*frame.resources, *added), max(gpus, frame.gpus), frame.table)


def _frame(resources: tuple[str, ...], gpus: int, table: ClassTable) -> Frame:
    return Frame(resources, gpus, table, state_table(len(resources), gpus))


def _is_outdated(snapshot: Snapshot, last: FleetColumns) -> bool:
    """Whether most kinds or states of nodes that the tables hold are gone."""
    frame = last.frame
    if len(frame.states) > _OUTDATED_STATES + 2 * len(last.numbers):
        return True
    return len(frame.table) > _OUTDATED and len(frame.table) > 2 * _kinds_in_use(snapshot)


def _kinds_in_use(snapshot: Snapshot) -> int:
    return len({kind for one in snapshot.clusters for kind in one.nodes.classes})


def _blocks(snapshot: Snapshot, frame: Frame, base: FleetColumns | None, changed: list[int]) -> tuple[Block, ...]:
    blocks = [] if base is None else list(base.blocks)
    if base is None:
        return tuple(block_of(one.nodes, frame) for one in snapshot.clusters)
    for at in changed:
        blocks[at] = block_of(snapshot.clusters[at].nodes, frame, blocks[at])
    return tuple(blocks)


def _starts(blocks: tuple[Block, ...], base: FleetColumns | None, changed: list[int]) -> IntArray:
    if base is None:
        return np.concatenate([[0], np.cumsum([len(block.numbers) for block in blocks], dtype=np.int64)])
    starts = base.starts.copy()
    for at in changed:
        starts[at + 1 :] += len(blocks[at].numbers) - len(base.blocks[at].numbers)
    return starts


def _sums(blocks: tuple[Block, ...], frame: Frame, base: FleetColumns | None, changed: list[int]) -> FloatArray:
    sums = np.zeros((len(blocks), 2 * len(frame.resources) + 4)) if base is None else base.sums.copy()
    for at in changed:
        sums[at] = blocks[at].sums
    return sums


def _column(
    blocks: tuple[Block, ...],
    base: FleetColumns | None,
    changed: list[int],
    *,
    of: Callable[[Block], IntArray],
    last: Callable[[FleetColumns], IntArray],
) -> IntArray:
    """A column of all rows, (N,); unchanged neighbours are one stretch of the last columns'."""
    if base is None:
        return np.concatenate([np.zeros(0, dtype=np.int64), *map(of, blocks)])
    known, starts, begin = last(base), base.starts, 0
    pieces: list[IntArray] = []
    for at in changed:
        pieces += [known[starts[begin] : starts[at]], of(blocks[at])]
        begin = at + 1
    return np.concatenate([*pieces, known[starts[begin] :]])

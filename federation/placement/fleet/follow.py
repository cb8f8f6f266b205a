"""From a snapshot to columns, keeping what the last one has in common with it.

Between two decisions usually one cluster's summary has changed. What a new snapshot shares with the last one is known
by identity, so following costs what changed plus one copy of the columns, in as many pieces as there were changes.
"""

from __future__ import annotations

import numpy as np

from federation.placement.fleet.classes import ClassTable
from federation.placement.fleet.compiled import FleetColumns
from federation.placement.fleet.facts import facts_of
from federation.placement.fleet.network import network_of
from federation.placement.fleet.rows import Block, Frame, Rows, block_of, joined
from federation.snapshot import BASE_RESOURCES, Snapshot
from prewarm.domain import FloatArray, IntArray

_OUTDATED = 256
"""Kinds of nodes that the table may hold beyond twice those in use before it is made anew."""


def follow(snapshot: Snapshot, last: FleetColumns | None = None) -> FleetColumns:
    """The snapshot in columns; parts of `last` are used again where a cluster's nodes are the same object."""
    if last is not None and snapshot is last.snapshot:
        return last
    names = tuple(one.name for one in snapshot.clusters)
    alike = last if last is not None and last.names == names else None
    frame = _framed(snapshot, alike)
    base = alike if alike is not None and alike.frame is frame else None
    changed = _changed(snapshot, base)
    blocks = _blocks(snapshot, frame, base, changed)
    sizes = _sizes(blocks, base, changed)
    return FleetColumns(
        snapshot=snapshot,
        names=names,
        position={name: at for at, name in enumerate(names)} if alike is None else alike.position,
        frame=frame,
        blocks=blocks,
        facts=facts_of(snapshot.clusters, None if alike is None else alike.facts),
        network=network_of(snapshot, None if alike is None else alike.network),
        starts=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)]),
        cluster_of=np.repeat(np.arange(len(blocks), dtype=np.int32), sizes),
        rows=joined(_pieces(blocks, base, changed), frame),
        sums=_sums(blocks, frame, base, changed),
    )


def _changed(snapshot: Snapshot, base: FleetColumns | None) -> list[int]:
    """Clusters whose nodes are not the objects that the last columns were made of."""
    if base is None:
        return list(range(len(snapshot.clusters)))
    pairs = zip(snapshot.clusters, base.blocks, strict=True)
    return [at for at, (one, block) in enumerate(pairs) if one.nodes is not block.nodes]


def _framed(snapshot: Snapshot, last: FleetColumns | None) -> Frame:
    """What the columns have in common; the last frame itself where it still holds everything."""
    nodes = [snapshot.clusters[at].nodes for at in _changed(snapshot, last)]
    found = {name for resources in {each.resources for each in nodes} for name in resources}
    gpus = max((each.gpu_free.shape[1] for each in nodes), default=0)
    if last is None:
        return Frame((*BASE_RESOURCES, *sorted(found.difference(BASE_RESOURCES))), gpus, ClassTable())
    frame = last.frame
    if len(frame.table) > _OUTDATED and len(frame.table) > 2 * _kinds_in_use(snapshot):
        return _framed(snapshot, None)
    added = sorted(found.difference(frame.resources))
    if not added and gpus <= frame.gpus:
        return frame
    return Frame((*frame.resources, *added), max(gpus, frame.gpus), frame.table)


def _kinds_in_use(snapshot: Snapshot) -> int:
    return len({kind for one in snapshot.clusters for kind in one.nodes.classes})


def _blocks(snapshot: Snapshot, frame: Frame, base: FleetColumns | None, changed: list[int]) -> tuple[Block, ...]:
    blocks = [] if base is None else list(base.blocks)
    if base is None:
        return tuple(block_of(one.nodes, frame) for one in snapshot.clusters)
    for at in changed:
        blocks[at] = block_of(snapshot.clusters[at].nodes, frame)
    return tuple(blocks)


def _sizes(blocks: tuple[Block, ...], base: FleetColumns | None, changed: list[int]) -> IntArray:
    sizes = np.zeros(len(blocks), dtype=np.int64) if base is None else np.diff(base.starts)
    for at in changed:
        sizes[at] = len(blocks[at].rows)
    return sizes


def _sums(blocks: tuple[Block, ...], frame: Frame, base: FleetColumns | None, changed: list[int]) -> FloatArray:
    sums = np.zeros((len(blocks), 2 * len(frame.resources) + 1)) if base is None else base.sums.copy()
    for at in changed:
        sums[at] = blocks[at].sums
    return sums


def _pieces(blocks: tuple[Block, ...], base: FleetColumns | None, changed: list[int]) -> list[Rows]:
    """The blocks' rows, unchanged neighbours as one stretch of the last columns."""
    if base is None:
        return [block.rows for block in blocks]
    pieces: list[Rows] = []
    begin = 0
    for at in changed:
        pieces += [base.rows.part(int(base.starts[begin]), int(base.starts[at])), blocks[at].rows]
        begin = at + 1
    return [*pieces, base.rows.part(int(base.starts[begin]), int(base.starts[-1]))]

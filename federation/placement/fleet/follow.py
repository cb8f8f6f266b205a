"""From a snapshot to columns, keeping what the last one has in common with it.

Between two decisions usually one cluster's summary has changed. Blocks are kept by the identity of a cluster's nodes,
which a new snapshot shares with the last one wherever nothing happened, so following costs what changed plus one copy
of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from federation.placement.fleet.classes import ClassTable
from federation.placement.fleet.compiled import FleetColumns
from federation.placement.fleet.network import network_of
from federation.placement.fleet.rows import Block, block_of
from federation.snapshot import BASE_RESOURCES, Int16Array, Snapshot
from prewarm.domain import IntArray

_OUTDATED = 256
"""Kinds of nodes that the table may hold beyond twice those in use before it is made anew."""


def follow(snapshot: Snapshot, last: FleetColumns | None = None) -> FleetColumns:
    """The snapshot in columns; blocks of `last` are used again where a cluster's nodes are the same object."""
    if last is not None and snapshot is last.snapshot:
        return last
    resources, table = _frame(snapshot, last)
    reuse = last if last is not None and last.table is table and last.resources == resources else None
    known = {id(block.nodes): block for block in reuse.blocks} if reuse is not None else {}
    clusters = snapshot.clusters
    blocks = [known.get(id(one.nodes)) or block_of(one.nodes, resources, table) for one in clusters]
    sizes = np.array([len(block) for block in blocks], dtype=np.int64)
    wide = len(resources)
    return FleetColumns(
        snapshot=snapshot,
        resources=resources,
        table=table,
        blocks=tuple(blocks),
        network=network_of(snapshot, None if last is None else last.network),
        position={one.name: at for at, one in enumerate(clusters)},
        starts=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)]),
        cluster_of=np.repeat(np.arange(len(blocks), dtype=np.int32), sizes),
        class_of=_joined([block.class_of for block in blocks], np.int32),
        count=_joined([block.count for block in blocks], np.int64),
        open=_joined([block.open for block in blocks], np.bool_),
        free=_beside([block.free for block in blocks], wide),
        gpu_free=_padded(blocks, sizes),
        whole_gpus=_joined([block.whole_gpus for block in blocks], np.int32),
        total=np.array([block.total for block in blocks]).reshape(-1, wide).T,
        room=np.array([block.room for block in blocks]).reshape(-1, wide).T,
        gpu_room=np.array([block.gpu_room for block in blocks]),
        price=np.array([one.price for one in clusters], dtype=np.float64),
        instances=np.array([sum(here.wanted for here in one.running.values()) for one in clusters], dtype=np.float64),
    )


def _frame(snapshot: Snapshot, last: FleetColumns | None) -> tuple[tuple[str, ...], ClassTable]:
    """The resources of the fleet, in an order that a known fleet keeps, and the table of kinds of nodes."""
    found = {name for one in snapshot.clusters for name in one.nodes.resources}
    if last is None:
        return (*BASE_RESOURCES, *sorted(found.difference(BASE_RESOURCES))), ClassTable()
    added = sorted(found.difference(last.resources))
    in_use = sum(len(one.nodes.classes) for one in snapshot.clusters)
    outdated = len(last.table) > 2 * in_use + _OUTDATED
    return (*last.resources, *added), ClassTable() if outdated else last.table


def _joined(parts: Sequence[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=kind)


def _beside(parts: Sequence[IntArray], rows: int) -> IntArray:
    return np.concatenate(parts, axis=1) if parts else np.zeros((rows, 0), dtype=np.int64)


def _padded(blocks: Sequence[Block], sizes: IntArray) -> Int16Array:
    """Free shares of GPUs, as many columns as the node with most GPUs has."""
    most = max((block.gpu_free.shape[1] for block in blocks), default=0)
    wide = np.zeros((int(sizes.sum()), most), dtype=np.int16)
    at = 0
    for block in blocks:
        wide[at : at + len(block), : block.gpu_free.shape[1]] = block.gpu_free
        at += len(block)
    return wide

"""Instances of W10: fifty nodes of openb filled by best fit until at least one default pod is pending.

Pods arrive in random order until those asked for are worth a load drawn from 95-105 % of the nodes' GPUs; then on until
one is pending. The first pod that was left pending is the one to repair for.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from federation.repair.board import GPU_WHOLE, Board, Item, Node, Seat
from prewarm.domain import InputError

FOLDER = Path("alibaba-gpu-v2023")
NODES = FOLDER / "openb_node_list_all_node.csv"
PODS = FOLDER / "openb_pod_list_default.csv"
NODE_COUNT = 50
LEAST_LOAD, MOST_LOAD = 0.95, 1.05


@dataclass(frozen=True, slots=True)
class Instance:
    """A board and the item that is pending on it; load: GPUs asked for so far, as a share of those there."""

    board: Board
    pending: Item
    load: float


def read_nodes(data_dir: Path) -> tuple[Node, ...]:
    """All nodes of openb, those without GPUs too."""
    rows = _rows(data_dir / NODES)
    models = sorted({row["model"] for row in rows})
    return tuple(
        Node(int(r["cpu_milli"]), int(r["memory_mib"]), int(r["gpu"] or 0), models.index(r["model"])) for r in rows
    )


def read_pods(data_dir: Path) -> tuple[Item, ...]:
    """The default pods."""
    rows = _rows(data_dir / PODS)
    return tuple(
        Item(
            int(r["cpu_milli"]),
            int(r["memory_mib"]),
            int(r["num_gpu"]),
            int(r["gpu_milli"]) if int(r["num_gpu"]) else 0,
        )
        for r in rows
    )


def draw_instance(nodes: tuple[Node, ...], pods: tuple[Item, ...], seed: int) -> Instance:
    """One instance; the same for the same seed."""
    rng = np.random.default_rng(seed)
    chosen = tuple(nodes[at] for at in rng.choice(len(nodes), NODE_COUNT, replace=False).tolist())
    board, capacity = Board(chosen), max(1, GPU_WHOLE * sum(node.gpus for node in chosen))
    target, asked, first, key = float(rng.uniform(LEAST_LOAD, MOST_LOAD)) * capacity, 0, None, 0
    while first is None or asked < target:
        item = pods[int(rng.integers(len(pods)))]
        asked += item.gpus * item.milli
        seat = best_fit(board, item)
        if seat is None:
            first = first or item
            continue
        board.items[key] = item
        board.sit(key, seat)
        key += 1
    return Instance(board, first, asked / capacity)


def best_fit(board: Board, item: Item) -> Seat | None:
    """The seat that leaves the least room, CPU and GPU alike; the first of equals."""
    best, least = None, float("inf")
    for node in range(len(board.nodes)):
        seat = board.seat_on(node, item)
        if seat is not None:
            left = (board.cpu[node] - item.cpu) / 128_000 + (sum(board.gpu[node]) - item.gpus * item.milli) / 8_000
            if left < least:
                best, least = seat, left
    return best


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        raise InputError(f"{path}: not found; --data or PREWARM_TRACES names the folder of the public traces")
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))

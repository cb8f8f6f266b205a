"""Nodes and what runs on them, changed and changed back while a search looks for room.

Amounts are whole numbers: thousandths of cores, MiB, thousandths of a GPU. An item that asks for a share takes one GPU;
one that asks for whole GPUs takes that many of one node. An item may run on a node where its allowed models, a set of
bits, hold the node's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

GPU_WHOLE = 1_000
ANY_MODEL = -1
"""All bits: every model is allowed."""


@dataclass(frozen=True, slots=True)
class Item:
    """One instance. gpus: how many; milli: of each, 1,000 for whole ones; models: allowed, as bits."""

    cpu: int
    memory: int
    gpus: int = 0
    milli: int = 0
    models: int = ANY_MODEL

    def needs_at_most(self, other: Item) -> bool:
        """Whether it fits wherever `other` fits."""
        smaller = self.cpu <= other.cpu and self.memory <= other.memory
        fewer = self.gpus <= other.gpus and self.milli <= other.milli
        return smaller and fewer and (self.gpus == 0 or self.models & other.models == other.models)


@dataclass(frozen=True, slots=True)
class Node:
    """A node's allocatable amounts, its GPUs, and the number of their model."""

    cpu: int
    memory: int
    gpus: int = 0
    model: int = 0


Seat = tuple[int, tuple[int, ...]]
"""Where an item runs: a node, and the numbers of the GPUs there that it takes."""


@dataclass(slots=True)
class Board:
    """Which item runs where. Searches move items on it and put them back."""

    nodes: tuple[Node, ...]
    items: dict[int, Item] = field(default_factory=dict)
    seats: dict[int, Seat] = field(default_factory=dict)
    cpu: list[int] = field(init=False)
    memory: list[int] = field(init=False)
    gpu: list[list[int]] = field(init=False)
    running: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.cpu = [node.cpu for node in self.nodes]
        self.memory = [node.memory for node in self.nodes]
        self.gpu = [[GPU_WHOLE] * node.gpus for node in self.nodes]
        self.running = [[] for _ in self.nodes]
        seats, self.seats = self.seats, {}
        for key, seat in sorted(seats.items()):
            self.sit(key, seat)

    def allows(self, node: int, item: Item) -> bool:
        """Whether the item may use the GPUs of the node's model."""
        return item.gpus == 0 or bool(item.models >> self.nodes[node].model & 1)

    def sit(self, key: int, seat: Seat) -> None:
        """Place an item; the caller sees to the room."""
        node, devices = seat
        item = self.items[key]
        self.cpu[node] -= item.cpu
        self.memory[node] -= item.memory
        for device in devices:
            self.gpu[node][device] -= item.milli
        self.running[node].append(key)
        self.seats[key] = seat

    def rise(self, key: int) -> Seat:
        """Take an item away from where it runs."""
        node, devices = seat = self.seats.pop(key)
        item = self.items[key]
        self.cpu[node] += item.cpu
        self.memory[node] += item.memory
        for device in devices:
            self.gpu[node][device] += item.milli
        self.running[node].remove(key)
        return seat

    def has_room(self, key: int, seat: Seat) -> bool:
        """Whether an item can be placed exactly there now."""
        node, devices = seat
        item = self.items[key]
        right = len(set(devices)) == len(devices) == item.gpus and self.allows(node, item)
        return (
            right
            and self.cpu[node] >= item.cpu
            and self.memory[node] >= item.memory
            and all(self.gpu[node][device] >= item.milli for device in devices)
        )

    def seat_on(self, node: int, item: Item) -> Seat | None:
        """Where the item fits on a node now: a share on the fullest GPU with room; None where it does not."""
        if self.cpu[node] < item.cpu or self.memory[node] < item.memory or not self.allows(node, item):
            return None
        free = self.gpu[node]
        able = [device for device in range(len(free)) if free[device] >= item.milli] if item.gpus else []
        if len(able) < item.gpus:
            return None
        able.sort(key=lambda device: (free[device], device))
        return node, tuple(sorted(able[: item.gpus]))

    def likeness(self, node: int) -> tuple[object, ...]:
        """Equal for nodes that a search need not tell apart: same shape, same room, same items on like GPUs."""
        shape = self.nodes[node]
        on_gpu: list[list[tuple[object, ...]]] = [[] for _ in range(shape.gpus)]
        beside: list[tuple[object, ...]] = []
        for key in self.running[node]:
            item, devices = self.items[key], self.seats[key][1]
            own = (item.cpu, item.memory, item.gpus, item.milli, item.models)
            if len(devices) == 1:
                on_gpu[devices[0]].append(own)
            else:
                beside.append((*own, len(devices)))
        gpus = sorted((free, tuple(sorted(own))) for free, own in zip(self.gpu[node], map(tuple, on_gpu), strict=True))
        return (shape, self.cpu[node], self.memory[node], tuple(gpus), tuple(sorted(beside, key=repr)))

"""A small regression tree that says in plain thresholds what a policy does.

Method: CART (Breiman et al., 1984, section 8.4) with several outputs, grown best first: of all leaves the one whose
best split takes away most squared error is split next, until there are as many as were asked for.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from prewarm.domain import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """value: (d,) mean of its rows. Where feature is not None, rows up to limit go to node `below`, others `above`."""

    value: FloatArray
    rows: int
    feature: int | None = None
    limit: float = 0.0
    below: int = 0
    above: int = 0


@dataclass(frozen=True, slots=True)
class Tree:
    """The first node is the root. names: of the features."""

    names: tuple[str, ...]
    nodes: tuple[Node, ...]

    @property
    def leaves(self) -> int:
        """How many answers it has."""
        return sum(node.feature is None for node in self.nodes)

    def answer(self, row: FloatArray) -> FloatArray:
        """The value (d,) for features (F,)."""
        node = self.nodes[0]
        while node.feature is not None:
            node = self.nodes[node.below if row[node.feature] <= node.limit else node.above]
        return node.value

    def lines(self, outputs: Sequence[str], at: int = 0, depth: int = 0) -> Iterator[str]:
        """For people: a line a node; of the outputs those that are not nearly 0."""
        node = self.nodes[at]
        indent = "  " * depth
        if node.feature is None:
            told = [f"{name} {one:+.2f}" for name, one in zip(outputs, node.value, strict=True) if abs(one) >= 0.05]
            yield f"{indent}{', '.join(told) or 'as the rule'} ({node.rows} questions)"
            return
        for sign, below in (("<=", node.below), (">", node.above)):
            yield f"{indent}{self.names[node.feature]} {sign} {node.limit:.3g}"
            yield from self.lines(outputs, below, depth + 1)


class _Split(NamedTuple):
    """Squared error that a split takes away (0: none is worth it), feature and limit."""

    gain: float
    feature: int
    limit: float


def grow(rows: FloatArray, wanted: FloatArray, names: Sequence[str], *, leaves: int, least: int = 10) -> Tree:
    """The tree of at most so many leaves, each of at least `least` rows. rows: (n, F); wanted: (n, d)."""
    nodes = [Node(wanted.mean(axis=0), len(rows))]
    open_leaves: list[tuple[float, int, _Split, IntArray]] = []

    def offer(at: int, held: IntArray) -> None:
        found = _best(rows[held], wanted[held], least)
        if found.gain > 0.0:
            heapq.heappush(open_leaves, (-found.gain, at, found, held))

    offer(0, np.arange(len(rows)))
    for _ in range(leaves - 1):
        if not open_leaves:
            break
        _, at, split, held = heapq.heappop(open_leaves)
        below = rows[held, split.feature] <= split.limit
        parts = held[below], held[~below]
        first = len(nodes)
        nodes += [Node(wanted[part].mean(axis=0), len(part)) for part in parts]
        nodes[at] = Node(nodes[at].value, len(held), split.feature, split.limit, first, first + 1)
        for offset, part in enumerate(parts):
            offer(first + offset, part)
    return Tree(tuple(names), tuple(nodes))


def _best(rows: FloatArray, wanted: FloatArray, least: int) -> _Split:
    many = len(rows)
    best = _Split(0.0, 0, 0.0)
    if many < 2 * least:
        return best
    left = np.arange(1, many)
    whole = wanted.sum(axis=0)
    for feature in range(rows.shape[1]):
        order = np.argsort(rows[:, feature], kind="stable")
        sorted_rows = rows[order, feature]
        sums = np.cumsum(wanted[order], axis=0)[:-1]
        gain = (sums**2).sum(axis=1) / left + ((whole - sums) ** 2).sum(axis=1) / (many - left)
        gain -= float((whole**2).sum()) / many
        gain[(sorted_rows[1:] <= sorted_rows[:-1]) | (left < least) | (left > many - least)] = 0.0
        at = int(gain.argmax())
        if gain[at] > best.gain + _ROUNDING:
            best = _Split(float(gain[at]), feature, float(sorted_rows[at] + sorted_rows[at + 1]) / 2)
    return best


_ROUNDING = 1e-9

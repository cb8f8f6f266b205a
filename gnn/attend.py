"""Attention over a fleet's graph in numpy, at the price of what changed since the question before.

Between two questions a fleet keeps its links, regions and node pools, and most edges are those. Their order, and how
their values scale and shift what travels along them, are therefore kept, and made anew only where an array differs from
the one before. In the last round nothing but clusters and functions is read, so nothing else is computed. The sums are
those of `gnn.encoder`; that they agree with it is a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gnn.graph.value import NODE_TYPES, RELATIONS
from gnn.observation import Observation
from gnn.shape import SLOPE, STEEPEST, EncoderShape
from gnn.wiring import both_ways, columns
from prewarm.domain import Float32Array, IntArray

_STILL = frozenset({"link", "in_region", "part_of"})
READ = frozenset({"cluster", "function"})
"""Types that a question reads; the last round has no others."""
_EPSILON = np.float32(1e-5)
_SLOPE, _STEEPEST = np.float32(SLOPE), np.float32(STEEPEST)


@dataclass(frozen=True, slots=True)
class _Way:
    """One relation in one direction: its number, the stored relation, which end is the source, the types at its ends,
    and its first column in an edge's values."""

    number: int
    stored: str
    source_end: int
    begin: str
    end: str
    column: int


_WAYS = tuple(
    _Way(number, one.name.removeprefix("rev_"), int(number >= len(RELATIONS)), one.source, one.target, column)
    for number, (one, column) in enumerate(zip(both_ways(), columns(), strict=True))
)


@dataclass(slots=True, eq=False)
class _Edges:
    """Edges into some node types, sorted by target, then relation. source, target: (e,) numbered through all types.

    starts: (g,) first edge of each relation into a node; first: (t,) first of a node's groups; heard: (t,) those nodes.
    at: where the edges of each way are in that order. film: for each round (shift, 1 + gain), (e, hidden) each. ends,
    values: what all this was made of.
    """

    counts: tuple[int, ...]
    ends: tuple[IntArray, ...]
    values: list[Float32Array]
    source: IntArray
    target: IntArray
    starts: IntArray
    first: IntArray
    heard: IntArray
    at: list[IntArray]
    film: list[tuple[Float32Array, Float32Array]] = field(default_factory=list)


class Attention:
    """The rounds of one network. It remembers the edges of its last question; one thread uses it."""

    def __init__(self, shape: EncoderShape, weights: Mapping[str, Float32Array]) -> None:
        self._hidden, self._rounds = shape.hidden, [_round(shape, weights, number) for number in range(shape.layers)]
        still, asked = ([way for way in _WAYS if (way.stored in _STILL) is kept] for kept in (True, False))
        read = [[way for way in ways if way.end in READ] for ways in (still, asked)]
        # the last round hears less, so its edges are other ones
        self._plans = [[still, asked]] * (shape.layers - 1) + [read]
        self._kept: dict[tuple[int, int], _Edges] = {}

    def encode(self, nodes: dict[str, Float32Array], given: Observation) -> dict[str, Float32Array]:
        """From what each node is (n, hidden) to the embeddings of clusters and functions."""
        counts = tuple(len(nodes[kind]) for kind in NODE_TYPES)
        first = dict(zip(NODE_TYPES, np.cumsum([0, *counts[:-1]]).tolist(), strict=True))
        last = len(self._rounds) - 1
        for number, one in enumerate(self._rounds):
            kinds = READ if number == last else frozenset(NODE_TYPES)
            edges = [self._edges(number, part, given, first=first, counts=counts) for part in range(2)]
            nodes = one.after(nodes, [known for known in edges if len(known.source)], number, first=first, kinds=kinds)
        return nodes

    def _edges(
        self, number: int, part: int, given: Observation, *, first: Mapping[str, int], counts: tuple[int, ...]
    ) -> _Edges:
        """The edges of a round, kept as far as they are what they were. All rounds but the last have the same."""
        key = (int(number == len(self._rounds) - 1), part)
        ways = self._plans[number][part]
        kept = self._kept.get(key)
        if kept is None or kept.counts != counts or not _same_ends(kept, given, ways):
            kept = self._kept[key] = _sorted(given, ways, first, counts)
        self._refresh(kept, given, ways)
        return kept

    def _refresh(self, edges: _Edges, given: Observation, ways: Sequence[_Way]) -> None:
        """Scales and shifts where values are not what they were."""
        if not edges.film:
            size = (len(edges.source), self._hidden)
            edges.film = [(np.empty(size, np.float32), np.empty(size, np.float32)) for _ in self._rounds]
            edges.values = [np.zeros((0, 0), np.float32)] * len(ways)
        for place, way in enumerate(ways):
            told = given[f"values/{way.stored}"]
            if not len(told) or _same(told, edges.values[place]):
                continue
            edges.values[place] = told
            for one, (shift, gain) in zip(self._rounds, edges.film, strict=True):
                both = told @ one.edge[way.column : way.column + told.shape[1]] + one.edge[way.column + told.shape[1]]
                shift[edges.at[place]] = both[:, : self._hidden]
                gain[edges.at[place]] = both[:, self._hidden :] + np.float32(1.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """Weights of one round, transposed. sent, asked: by type (hidden, hidden) and bias; edge: (WIDTH, 2 hidden); score:
    (hidden, heads), a head's weights in its own rows; heads: (heads, hidden), 1 where a column belongs to a head.
    """

    sent: Mapping[str, tuple[Float32Array, Float32Array]]
    asked: Mapping[str, tuple[Float32Array, Float32Array]]
    edge: Float32Array
    score: Float32Array
    heads: Float32Array
    mix: tuple[Float32Array, Float32Array]
    out: tuple[Float32Array, Float32Array]
    norm: tuple[Float32Array, Float32Array]

    def after(
        self,
        nodes: Mapping[str, Float32Array],
        edges: Sequence[_Edges],
        number: int,
        *,
        first: Mapping[str, int],
        kinds: frozenset[str],
    ) -> dict[str, Float32Array]:
        """What nodes of these kinds are after the round."""
        hidden, many = len(self.out[1]), sum(len(one) for one in nodes.values())
        heard = np.zeros((many, hidden), np.float32)
        if edges:
            sent, asked = np.empty((many, hidden), np.float32), np.empty((many, hidden), np.float32)
            for kind, rows in nodes.items():
                here = slice(first[kind], first[kind] + len(rows))
                _into(sent[here], rows, self.sent[kind])
                if kind in kinds:
                    _into(asked[here], rows, self.asked[kind])
            for one in edges:
                heard[one.heard] += self._heard(one, one.film[number], sent, asked)
        out = {}
        for kind in NODE_TYPES:
            if kind in kinds:
                rows = nodes[kind]
                out[kind] = self._joined(rows, heard[first[kind] : first[kind] + len(rows)])
        return out

    def _heard(
        self, edges: _Edges, film: tuple[Float32Array, Float32Array], sent: Float32Array, asked: Float32Array
    ) -> Float32Array:
        """What reaches each node, (t, hidden): its attention over the edges of a relation, summed over relations."""
        shift, gain = film
        message = sent.take(edges.source, axis=0)
        message *= gain
        message += shift
        seen = asked.take(edges.target, axis=0)
        seen += message
        np.maximum(seen, _SLOPE * seen, out=seen)
        logits = seen @ self.score
        logits /= _STEEPEST
        np.tanh(logits, out=logits)
        logits *= _STEEPEST
        weight = np.exp(logits, out=logits)  # (e, heads)
        message *= weight @ self.heads
        total = np.add.reduceat(weight, edges.starts, axis=0)
        summed = np.add.reduceat(message, edges.starts, axis=0)  # (g, hidden)
        summed /= total @ self.heads
        reached: Float32Array = np.add.reduceat(summed, edges.first, axis=0)
        return reached

    def _joined(self, rows: Float32Array, heard: Float32Array) -> Float32Array:
        mixed = np.concatenate([rows, heard], axis=1) @ self.mix[0]
        mixed += self.mix[1]
        np.maximum(mixed, 0.0, out=mixed)
        out: Float32Array = mixed @ self.out[0]
        out += self.out[1]
        out += rows
        out -= out.mean(axis=1, keepdims=True)
        out /= np.sqrt((out**2).mean(axis=1, keepdims=True) + _EPSILON)
        out *= self.norm[0]
        out += self.norm[1]
        return out


def _round(shape: EncoderShape, weights: Mapping[str, Float32Array], number: int) -> _Round:
    name, hidden, heads = f"encoder.rounds.{number}", shape.hidden, shape.heads

    def line(which: str) -> tuple[Float32Array, Float32Array]:
        return np.ascontiguousarray(weights[f"{name}.{which}.weight"].T), weights[f"{name}.{which}.bias"]

    ends = {kind: line(f"ends.{kind}") for kind in NODE_TYPES}
    sent = {kind: (np.ascontiguousarray(w[:, :hidden]), b[:hidden]) for kind, (w, b) in ends.items()}
    asked = {kind: (np.ascontiguousarray(w[:, hidden:]), b[hidden:]) for kind, (w, b) in ends.items()}
    own = np.repeat(np.eye(heads, dtype=np.float32), hidden // heads, axis=1)
    score = np.ascontiguousarray((own * weights[f"{name}.score"].reshape(-1)).T)
    edge = np.ascontiguousarray(weights[f"{name}.edge.weight"].T)
    norm = weights[f"{name}.norm.weight"], weights[f"{name}.norm.bias"]
    return _Round(sent, asked, edge, score, own, line("mix"), line("out"), norm)


def _sorted(given: Observation, ways: Sequence[_Way], first: Mapping[str, int], counts: tuple[int, ...]) -> _Edges:
    sources, targets, numbers = [], [], []
    for way in ways:
        ends = given[f"ends/{way.stored}"]
        sources.append(ends[way.source_end] + first[way.begin])
        targets.append(ends[1 - way.source_end] + first[way.end])
        numbers.append(np.full(ends.shape[1], way.number))
    source, target, number = (np.concatenate(parts) for parts in (sources, targets, numbers))
    key = target * len(_WAYS) + number
    order = np.argsort(key, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    source, target, key = source[order], target[order], key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    grouped = target[starts]
    begin = np.flatnonzero(np.diff(grouped, prepend=-1))
    at = np.split(place, np.cumsum([len(one) for one in sources])[:-1])
    told = tuple(given[f"ends/{way.stored}"] for way in ways)
    return _Edges(counts, told, [], source, target, starts, begin, grouped[begin], at)


def _same_ends(kept: _Edges, given: Observation, ways: Sequence[_Way]) -> bool:
    return all(_same(given[f"ends/{way.stored}"], ends) for way, ends in zip(ways, kept.ends, strict=True))


def _same(one: IntArray | Float32Array, other: IntArray | Float32Array) -> bool:
    return one is other or np.array_equal(one, other)


def _into(out: Float32Array, rows: Float32Array, line: tuple[Float32Array, Float32Array]) -> None:
    np.matmul(rows, line[0], out=out)
    out += line[1]

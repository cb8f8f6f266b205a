"""Prioritised replay: which of the kept transitions to learn from next.

Proportional prioritisation (Schaul et al., ICLR'16, section 3.3) over a binary tree of sums in one numpy array: setting
and drawing a batch are a few vector operations a level. A parent is always the sum of its children as they are, never
adjusted by a difference, so nothing drifts however long a run is. An error that is zero keeps a small chance; one that
is not a number says nothing about the transition, which is then as urgent as a new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnn.observation import Observation
from prewarm.domain import FloatArray, IntArray

_LEAST = 1e-3
"""Added to every error, so that none is never drawn again."""


class Transition(NamedTuple):
    """One step: what was seen and done, reward without the price of violations, violations, and what came next. With
    `ends` nothing follows, and `after` is not read. taught: the teacher's answer, None without one. All arrays are kept
    as they are: do not write into them.
    """

    before: Observation
    action: NDArray[np.float32]
    reward: float
    violation: float
    after: Observation
    ends: bool
    taught: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Draw:
    """rows (b,) in the buffer, weights (b,) that undo the preference, largest 1."""

    rows: IntArray
    weights: FloatArray


class SumTree:
    """Non-negative numbers by row, drawn in proportion. `node` 1 is the root, leaves begin at `first`."""

    def __init__(self, capacity: int) -> None:
        self.first = 1 << (capacity - 1).bit_length()
        self.node = np.zeros(2 * self.first)

    @property
    def total(self) -> float:
        """The sum of all."""
        return float(self.node[1])

    def put(self, rows: IntArray, amounts: FloatArray) -> None:
        """Set some rows; the last word counts where one is there twice."""
        at = rows + self.first
        self.node[at] = amounts
        while at[0] > 1:
            at = np.unique(at >> 1)
            self.node[at] = self.node[2 * at] + self.node[2 * at + 1]

    def find(self, amounts: FloatArray) -> IntArray:
        """Rows at which the running sum first exceeds each amount (0 <= amount < total)."""
        at, left = np.ones(len(amounts), np.int64), amounts.copy()
        while at[0] < self.first:
            at *= 2
            right = (left >= self.node[at]) & (self.node[at + 1] > 0)
            left -= np.where(right, self.node[at], 0.0)
            at += right
        return at - self.first


class Replay:
    """The last `capacity` transitions; `alpha` 0 draws evenly, 1 in proportion to the error."""

    def __init__(self, capacity: int, alpha: float, rng: np.random.Generator) -> None:
        self.capacity, self.alpha, self.rng = capacity, alpha, rng
        self.tree = SumTree(capacity)
        self.kept: list[Transition] = []
        self.next = 0

    def __len__(self) -> int:
        return len(self.kept)

    def add(self, transition: Transition) -> None:
        """Keep one, in place of the oldest when full; it is as urgent as the most urgent."""
        if len(self.kept) < self.capacity:
            self.kept.append(transition)
        else:
            self.kept[self.next] = transition
        self.tree.put(np.array([self.next]), np.array([self._most()]))
        self.next = (self.next + 1) % self.capacity

    def draw(self, size: int, beta: float) -> Draw | None:
        """So many rows, one from each equal part of the sum; None while there is nothing. beta: 1 undoes all bias."""
        if not self.kept:
            return None
        total = self.tree.total
        part = (np.arange(size) + self.rng.random(size)) * (total / size)
        rows = self.tree.find(np.minimum(part, np.nextafter(total, 0.0)))
        chance = self.tree.node[rows + self.tree.first] / total
        weights = (len(self.kept) * chance) ** -beta
        return Draw(rows, weights / weights.max())

    def judge(self, rows: IntArray, errors: FloatArray) -> None:
        """The errors that learning from these rows showed, of any sign."""
        known = np.isfinite(errors)
        urgency = (np.abs(np.where(known, errors, 0.0)) + _LEAST) ** self.alpha
        self.tree.put(rows, np.where(known, urgency, self._most()))

    def _most(self) -> float:
        leaves = self.tree.node[self.tree.first : self.tree.first + len(self.kept)]
        return float(leaves.max(initial=0.0)) or 1.0

    def state(self) -> dict[str, Any]:
        """Everything but the generator, as arrays and numbers."""
        leaves = self.tree.node[self.tree.first : self.tree.first + len(self.kept)]
        return {"next": self.next, "urgency": leaves.copy(), **packed(self.kept)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what `state` gave."""
        self.kept, self.next = list(unpacked(state)), int(state["next"])
        self.tree = SumTree(self.capacity)
        if self.kept:
            self.tree.put(np.arange(len(self.kept)), np.asarray(state["urgency"], np.float64))


def packed(transitions: Sequence[Transition]) -> dict[str, NDArray[Any]]:
    """Many transitions in few arrays: each named array end to end, and the shapes to cut it by. No pickling."""
    out: dict[str, NDArray[Any]] = {
        "reward": np.array([one.reward for one in transitions], np.float64),
        "violation": np.array([one.violation for one in transitions], np.float64),
        "ends": np.array([one.ends for one in transitions], np.bool_),
    }
    if transitions:
        for part, arrays in _columns(transitions):
            out[f"{part}|flat"] = np.concatenate([array.reshape(-1) for array in arrays])
            out[f"{part}|shape"] = np.array([array.shape for array in arrays], np.int64)
    return out


def unpacked(state: Mapping[str, Any]) -> Iterator[Transition]:
    """The transitions that `packed` gave."""
    parts = {key.removesuffix("|flat"): _cut(state, key) for key in state if key.endswith("|flat")}
    for i, (reward, violation, ends) in enumerate(
        zip(state["reward"].tolist(), state["violation"].tolist(), state["ends"].tolist(), strict=True)
    ):
        seen = {
            side: {key.removeprefix(side): arrays[i] for key, arrays in parts.items() if key.startswith(side)}
            for side in ("before/", "after/")
        }
        taught = parts["taught"][i] if len(parts["taught"][i]) else None
        yield Transition(seen["before/"], parts["action"][i], reward, violation, seen["after/"], ends, taught)


def _columns(transitions: Sequence[Transition]) -> Iterator[tuple[str, list[NDArray[Any]]]]:
    yield "action", [one.action for one in transitions]
    yield "taught", [one.action[:0] if one.taught is None else one.taught for one in transitions]
    for key in transitions[0].before:
        yield f"before/{key}", [one.before[key] for one in transitions]
        yield f"after/{key}", [one.after[key] for one in transitions]


def _cut(state: Mapping[str, Any], key: str) -> list[NDArray[Any]]:
    shapes = np.asarray(state[f"{key.removesuffix('|flat')}|shape"])
    flat = np.asarray(state[key])
    edges = np.cumsum(shapes.prod(axis=1))[:-1]
    return [piece.reshape(shape) for piece, shape in zip(np.split(flat, edges), shapes.tolist(), strict=True)]

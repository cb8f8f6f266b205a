"""gymnasium's spaces for graphs: arrays of any number of rows, with fixed names, widths and rows that exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gnn.forms import Form, width_of
from gnn.graph.features import width
from gnn.graph.value import NODE_TYPES, RELATIONS
from gnn.observation import Observation, unfit


class Observations(gymnasium.Space):  # type: ignore[misc]
    """Observations (`gnn.observation`) of graphs of any size with `factors` named factors."""

    def __init__(self, factors: int, seed: int | None = None) -> None:
        super().__init__(None, None, seed)
        self.factors = factors

    @property
    def is_np_flattenable(self) -> bool:
        """Sizes vary, so there is no flat form."""
        return False

    def contains(self, x: Any) -> bool:
        """Whether it is such an observation."""
        return isinstance(x, Mapping) and misfit(x, self.factors) is None

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, NDArray[Any]]:
        """A small one, values at random."""
        del mask, probability
        rng = self.np_random
        count = {kind: int(rng.integers(1, 5)) for kind in NODE_TYPES}
        out: dict[str, NDArray[Any]] = {
            f"node/{kind}": rng.random((many, width(kind)), np.float32) for kind, many in count.items()
        }
        for name, source, target in RELATIONS:
            edges = int(rng.integers(0, 6))
            ends = [rng.integers(0, count[kind], edges) for kind in (source, target)]
            out[f"ends/{name}"] = np.stack(ends).astype(np.int64)
            out[f"values/{name}"] = rng.random((edges, width(name)), np.float32)
        asks, clusters = int(rng.integers(1, 3)), count["cluster"]
        out["ask/function"] = rng.integers(0, count["function"], asks).astype(np.int64)
        out["ask/pairs"] = np.stack([np.repeat(np.arange(asks), clusters), np.tile(np.arange(clusters), asks)])
        out["ask/values"] = rng.random((asks * clusters, self.factors), np.float32)
        out["ask/room"] = rng.random(asks * clusters, np.float32)
        return out

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Observations) and other.factors == self.factors

    __hash__ = None  # type: ignore[assignment]  # a space has a generator, which changes


class Actions(gymnasium.Space):  # type: ignore[misc]
    """Actions in -1..1 for what was asked last: a row for each function as weights, else one for each pair."""

    def __init__(self, form: Form, factors: int, seed: int | None = None) -> None:
        super().__init__(None, np.float32, seed)
        self.form, self.width = form, width_of(form, factors)
        self.rows = 1

    @property
    def is_np_flattenable(self) -> bool:
        """Sizes vary, so there is no flat form."""
        return False

    def ask(self, observation: Observation) -> None:
        """From now on actions answer this."""
        key = "ask/function" if self.form is Form.WEIGHTS else "ask/room"
        self.rows = len(observation[key])

    def contains(self, x: Any) -> bool:
        """Whether it is an answer to what was asked last."""
        fits = isinstance(x, np.ndarray) and x.shape == (self.rows, self.width)
        return fits and bool((np.abs(x) <= 1.0).all())

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.float32]:
        """An even draw."""
        del mask, probability
        drawn: NDArray[np.float32] = self.np_random.uniform(-1.0, 1.0, (self.rows, self.width)).astype(np.float32)
        return drawn

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Actions) and (other.form, other.width) == (self.form, self.width)

    __hash__ = None  # type: ignore[assignment]


def misfit(observation: Observation, factors: int) -> str | None:
    """Why this is no observation with `factors` factors, None where it is one."""
    pairs = observation["ask/room"].shape[:1] if "ask/room" in observation else ()
    shapes = {**{f"node/{kind}": (None, width(kind)) for kind in NODE_TYPES}}
    shapes |= {f"values/{name}": (None, width(name)) for name, _, _ in RELATIONS}
    wanted: dict[str, tuple[int | None, ...]] = {**shapes, "ask/function": (None,), "ask/room": (None,)}
    wanted |= {"ask/pairs": (2, *pairs), "ask/values": (*pairs, factors)}
    wanted |= {f"ends/{name}": (2, len(observation.get(f"values/{name}", ()))) for name, _, _ in RELATIONS}
    for key, shape in wanted.items():
        found = observation[key].shape if key in observation else None
        if found is None or len(found) != len(shape):
            return f"{key} is missing or has the wrong shape"
        if any(size not in (None, there) for size, there in zip(shape, found, strict=True)):
            return f"{key} is {found} and not {shape}"
    return _astray(observation) or unfit(observation)


def _astray(observation: Observation) -> str | None:
    """The first row that points to nothing."""
    count = {kind: len(observation[f"node/{kind}"]) for kind in NODE_TYPES}
    ask, cluster = observation["ask/pairs"]
    pointers = [("ask/function", observation["ask/function"], count["function"])]
    pointers += [("ask/pairs", ask, len(observation["ask/function"])), ("ask/pairs", cluster, count["cluster"])]
    for name, source, target in RELATIONS:
        here, there = observation[f"ends/{name}"]
        pointers += [(f"ends/{name}", here, count[source]), (f"ends/{name}", there, count[target])]
    for key, rows, many in pointers:
        if len(rows) and not (rows.min() >= 0 and rows.max() < many):
            return f"{key} points to a row that is not there"
    return None

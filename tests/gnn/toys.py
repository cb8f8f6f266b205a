"""Toy problems with known answers, as graphs and without, for checking the learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gnn.ddpg import Ddpg, Settings
from gnn.encoder import tensors
from gnn.graph.features import width
from gnn.networks import Actor, Critic
from gnn.observation import Ask, Observation, batch, observe
from gnn.shape import NetworkShape
from tests.gnn.fleets import some_ask, some_graph


def number(x: float) -> dict[str, NDArray[Any]]:
    """A state that is one number."""
    return {"x": np.array([[x]], np.float32)}


def stacked(observations: Sequence[Observation]) -> Tensor:
    """Such states as one column."""
    return torch.from_numpy(np.concatenate([one["x"] for one in observations]))


class Line(nn.Module):  # type: ignore[misc]
    """a = k x, held within -1..1."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(self.gain.weight)

    def forward(self, x: Tensor) -> Tensor:
        """The action."""
        return torch.clamp(self.gain(x), -1.0, 1.0)


class Constant(nn.Module):  # type: ignore[misc]
    """The same action whatever is seen."""

    def __init__(self) -> None:
        super().__init__()
        self.level = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        """The action."""
        return torch.tanh(self.level).expand(len(x), 1)


class Quadratic(nn.Module):  # type: ignore[misc]
    """Q as any quadratic form of state and action."""

    def __init__(self) -> None:
        super().__init__()
        self.form = nn.Linear(5, 1)
        nn.init.zeros_(self.form.weight)

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        """The value."""
        return self.form(torch.cat([x * x, x * a, a * a, x, a], dim=1))[:, 0]


class Joined(nn.Module):  # type: ignore[misc]
    """A critic whose weights all differ in size."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 7)
        self.last = nn.Linear(7, 1)

    def forward(self, observation: Tensor, action: Tensor) -> Tensor:
        """The value."""
        return self.last(torch.tanh(self.first(torch.cat([observation, action], dim=-1))))


def graph_collate(observations: Sequence[Observation]) -> dict[str, Tensor]:
    """Graphs as one batch."""
    return tensors(batch(observations))


def graph_learner(settings: Settings, shape: NetworkShape) -> Ddpg:
    """A learner on graphs whose first weights follow from the seed."""
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return Ddpg(settings, Actor(shape), lambda: Critic(shape), graph_collate)


def graph_context(level: float, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """A question about a small fleet with one factor, and `level` (0..1) written on the region of all its clusters,
    so that only who reads the graph can know it.
    """
    graph = some_graph(3, 2, rng)
    ask = some_ask(graph, rng)
    seen = observe(graph, Ask(ask.functions, ask.pairs, ask.values[:, :1], ask.room))
    seen["node/region"] = np.full((1, width("region")), level, np.float32)
    seen["ends/in_region"] = np.array([[0, 1, 2], [0, 0, 0]])
    seen["values/in_region"] = np.zeros((3, 0), np.float32)
    seen["ends/called_from"] = np.zeros((2, 0), np.int64)
    seen["values/called_from"] = np.zeros((0, width("called_from")), np.float32)
    return seen

"""Actor and critic: a graph and a question to an action, and a graph, a question and an action to a value.

Both read a question in the same way: each cluster in question with the function's embedding, the named factors and the
room is one row of an attention-free set, pooled by mean, so the number of clusters is free. The critic also pools by
where the action would put the instances, which is how an action matters: it sees the clusters that would be chosen.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from gnn.encoder import Tensors, make_encoder, mean_by
from gnn.forms import Form, scores_of, temperature_of, width_of
from gnn.shape import NetworkShape

_SHARPEST = 0.05
"""Scores that differ by this differ e-fold in the critic's eye, whatever the temperature."""


class Question(nn.Module):  # type: ignore[misc]
    """Embeddings to rows: `function` (k, h) and `pair` (p, h)."""

    def __init__(self, hidden: int, factors: int) -> None:
        super().__init__()
        self.first = nn.Linear(2 * hidden + factors + 1, hidden)
        self.second = nn.Linear(hidden, hidden)

    def forward(self, nodes: dict[str, Tensor], given: Tensors) -> tuple[Tensor, Tensor]:
        """The two."""
        function = nodes["function"][given["ask/function"]]
        ask, cluster = given["ask/pairs"]
        values = given["ask/values"]
        told = torch.cat([torch.sign(values) * torch.log1p(values.abs()), given["ask/room"][:, None]], dim=1)
        row = torch.cat([nodes["cluster"][cluster], function[ask], told], dim=1)  # (p, 2 h + F + 1)
        return function, torch.relu(self.second(torch.relu(self.first(row))))


class Actor(nn.Module):  # type: ignore[misc]
    """The deterministic policy: (k, F + 1) for weights, (p, 1) for a residual or a direct score; in -1..1."""

    def __init__(self, shape: NetworkShape) -> None:
        super().__init__()
        hidden, factors = shape.encoder.hidden, len(shape.rule.weights)
        self.form = shape.form
        self.encoder = make_encoder(shape.encoder)
        self.question = Question(hidden, factors)
        self.head = nn.Linear(2 * hidden, hidden)
        self.last = nn.Linear(hidden, width_of(shape.form, factors))
        nn.init.uniform_(self.last.weight, -3e-3, 3e-3)  # starts as the rule (DDPG, section 7)
        nn.init.zeros_(self.last.bias)

    def forward(self, given: Tensors) -> Tensor:
        """The action."""
        function, pair = self.question(self.encoder(given), given)
        ask = given["ask/pairs"][0]
        pooled = mean_by(pair, ask, len(function))
        row = [function, pooled] if self.form is Form.WEIGHTS else [pair, pooled[ask]]
        return torch.tanh(self.last(torch.relu(self.head(torch.cat(row, dim=1)))))


class Critic(nn.Module):  # type: ignore[misc]
    """The value (k,) of an action."""

    def __init__(self, shape: NetworkShape) -> None:
        super().__init__()
        hidden, factors = shape.encoder.hidden, len(shape.rule.weights)
        self.form = shape.form
        self.register_buffer("rule", torch.tensor(shape.rule.weights, dtype=torch.float32), persistent=False)
        self.temperature = shape.rule.temperature
        self.encoder = make_encoder(shape.encoder)
        self.question = Question(hidden, factors)
        told = width_of(shape.form, factors) if shape.form is Form.WEIGHTS else 2
        self.head = nn.Linear(3 * hidden + factors + told, hidden)
        self.hidden = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, given: Tensors, action: Tensor) -> Tensor:
        """Value of each ask."""
        function, pair = self.question(self.encoder(given), given)
        ask, many = given["ask/pairs"][0], len(function)
        part = self._parts(given, action, many)[:, None]
        chosen, values = (sum_by(part * one, ask, many) for one in (pair, given["ask/values"]))
        told = [action]
        if self.form is not Form.WEIGHTS:
            told = [mean_by(action, ask, many), sum_by(part * action, ask, many)]
        row = torch.cat([function, mean_by(pair, ask, many), chosen, values, *told], dim=1)
        return self.last(torch.relu(self.hidden(torch.relu(self.head(row)))))[:, 0]

    def _parts(self, given: Tensors, action: Tensor, many: int) -> Tensor:
        """Part of the instances that each pair would get, (p,)."""
        ask = given["ask/pairs"][0]
        scores = scores_of(self.form, action, pairs=ask, values=given["ask/values"], rule=self.rule)
        spread = torch.full((many,), self.temperature)
        if self.form is Form.WEIGHTS:
            spread = temperature_of(action, self.temperature)
        sharp = scores / (spread + _SHARPEST)[ask]
        most = np.full(many, -np.inf, np.float32)
        np.maximum.at(most, ask.numpy(), sharp.detach().numpy())
        part = torch.exp(sharp - torch.from_numpy(most)[ask])
        return part / sum_by(part[:, None], ask, many)[ask, 0]


def sum_by(rows: Tensor, group: Tensor, groups: int) -> Tensor:
    """Sum of the rows of each group, (groups, d)."""
    return torch.zeros(groups, rows.shape[1]).index_add(0, group, rows)

"""Trains the peers with stable-baselines3's own settings on 4 clusters, as the published ones were.

    python -m gnn.sizes.peers.train ppo --steps 60000

Reward is the delay that a service adds, and the most of it where the chosen cluster has no room, which ends the
request.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from gnn.sizes.peers.sets import FOLDER, HIDDEN, WIDTH, features
from gnn.sizes.play import Question, offers, question, take
from gnn.sizes.world import MOST_MS, draw_world
from gnn.train.seeds import TRAINING_FROM
from prewarm.domain import Float32Array

SIZE = 4


class SetsEnv(gymnasium.Env):  # type: ignore[misc]
    """One run after another; the action is a cluster."""

    def __init__(self, first_seed: int) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (SIZE, WIDTH), np.float32)
        self.action_space = gymnasium.spaces.Discrete(SIZE)
        self.next_seed = first_seed
        self.question: Question

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Float32Array, dict[str, Any]]:
        """The first service of the next world."""
        super().reset(seed=seed, options=options)
        self.next_seed += 1
        self.world = draw_world(SIZE, self.next_seed)
        self.free = self.world.room.copy()
        self.coming = offers(self.world, self.free)
        self._next_request()
        return features(self.question), {}

    def step(self, action: int) -> tuple[Float32Array, float, bool, bool, dict[str, Any]]:
        """Place a service."""
        asked, row = self.question, int(action)
        over = False
        if row not in asked.candidates:
            over = not self._next_request()
            return features(self.question), -1.0, over, False, {}
        placed = asked.placed.copy()
        placed[asked.service] = row
        if (placed >= 0).all():
            take(self.free, asked.offer.request, placed)
            over = not self._next_request()
        else:
            self.question = question(asked.offer, placed)
        return features(self.question), -float(self.world.delay_ms[asked.above, row]) / MOST_MS, over, False, {}

    def _next_request(self) -> bool:
        for offer in self.coming:
            self.question = question(offer, np.full(len(offer.request.units), -1, np.int64))
            return True
        return False


class Sets(nn.Module):  # type: ignore[misc]
    """The network of `gnn.sizes.peers.sets`, and a value of the whole."""

    latent_dim_pi, latent_dim_vf = SIZE, HIDDEN

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.joined, self.last = nn.Linear(2 * HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers (b, n) and the mean (b, HIDDEN)."""
        return self.forward_actor(flat), self.forward_critic(flat)

    def forward_actor(self, flat: Tensor) -> Tensor:
        """One number a cluster."""
        each = self._each(flat)
        joined = torch.cat([each, each.mean(dim=1, keepdim=True).expand_as(each)], dim=2)
        return self.last(torch.relu(self.joined(joined)))[:, :, 0]

    def forward_critic(self, flat: Tensor) -> Tensor:
        """Mean of all clusters."""
        return self._each(flat).mean(dim=1)

    def _each(self, flat: Tensor) -> Tensor:
        return torch.relu(self.second(torch.relu(self.first(flat.view(len(flat), -1, WIDTH)))))


class SetsActor(ActorCriticPolicy):  # type: ignore[misc]
    """PPO's policy: the numbers are logits."""

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = Sets()

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


class SetsValues(QNetwork):  # type: ignore[misc]
    """DQN's network: the numbers are values."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.q_net = Sets()

    def forward(self, obs: Tensor) -> Tensor:
        """Values (b, n)."""
        return self.q_net.forward_actor(self.extract_features(obs, self.features_extractor))


class SetsDqn(DQNPolicy):  # type: ignore[misc]
    """DQN's policy."""

    def make_q_net(self) -> QNetwork:
        """The network over sets."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return SetsValues(**arguments).to(self.device)


def trained(kind: str, steps: int, seed: int) -> dict[str, Float32Array]:
    """Weights of the set network after so many steps."""
    torch.set_num_threads(1)
    env = SetsEnv(TRAINING_FROM + seed)
    learner: Any
    if kind == "ppo":
        learner = PPO(SetsActor, env, seed=seed, device="cpu")
        network = learner.policy.mlp_extractor
    else:
        learner = DQN(SetsDqn, env, seed=seed, device="cpu")
        network = learner.q_net.q_net
    learner.learn(steps)
    return {name: one.detach().numpy() for name, one in network.state_dict().items()}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("ppo", "dqn"))
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    weights: dict[str, Any] = dict(trained(options.kind, options.steps, options.seed))
    np.savez(FOLDER / f"{options.kind}.npz", **weights)


if __name__ == "__main__":
    main()

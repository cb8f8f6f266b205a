"""How good weights are: the worlds of some seeds played without noise, each on its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from gnn.encoder import tensors
from gnn.networks import Actor
from gnn.observation import Observation, unfit
from gnn.shape import NetworkShape
from gnn.train.questions import zero
from gnn.train.spread import Spread
from gnn.train.task import Action, Task, Verdict


class Judging:
    """The verdict of a seed on an actor's weights; the rule answers what a policy must not see."""

    def __init__(self, task: Task, shape: NetworkShape, weights: Mapping[str, Tensor]) -> None:
        self.task, self.shape = task, shape
        self.weights = {name: one.numpy() for name, one in weights.items()}

    def __call__(self, seed: int) -> Verdict:
        """Play the world of the seed."""
        with torch.random.fork_rng(devices=[]):  # first weights are drawn, and then overwritten
            actor = Actor(self.shape)
        actor.load_state_dict({name: torch.from_numpy(one) for name, one in self.weights.items()})

        def act(observation: Observation) -> Action:
            if unfit(observation) is not None:
                return zero(self.shape.form, len(self.task.factors), observation)
            with torch.no_grad():
                action: Action = actor(tensors(observation)).numpy()
            return action

        return self.task.judge(act, [seed])


def judged(judging: Judging, seeds: Sequence[int], spread: Spread) -> Verdict:
    """Mean over the seeds of the score, and of each part where it is a number."""
    verdicts = spread.map(judging, seeds)
    parts = {name: float(np.nanmean([one.parts[name] for one in verdicts])) for name in verdicts[0].parts}
    return Verdict(float(np.mean([one.score for one in verdicts])), parts)

"""A training run as it stands: learner, counters, best weights so far and the curve, and its checkpoint.

Between two episodes this is everything, so a run that is taken up again from a checkpoint is the run that was not
interrupted: the environment starts each episode from a seed, and the seeds are counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import torch

from gnn.checkpoint import restore, state_of
from gnn.ddpg import Ddpg
from gnn.encoder import tensors
from gnn.networks import Actor, Critic
from gnn.observation import batch
from gnn.shape import NetworkShape
from gnn.train.plan import Plan
from gnn.train.seeds import TRAINING_FROM
from prewarm.domain import InputError

CHECKPOINT = "checkpoint.pt"
_SEEDS_A_RUN = 1_000_000


@dataclass(slots=True)
class Counters:
    """How far a run is. due: updates that are owed, with their fraction. judge_at: updates at the next judgement."""

    episodes: int = 0
    questions: int = 0
    due: float = 0.0
    judge_at: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Run:
    """One run; `best` are the actor's weights that scored best, `curve` one entry a judgement."""

    agent: Ddpg
    first_seed: int
    counters: Counters = field(default_factory=Counters)
    best: dict[str, torch.Tensor] = field(default_factory=dict)
    best_score: float = -math.inf
    curve: list[dict[str, Any]] = field(default_factory=list)

    def next_seed(self) -> int:
        """The seed of the next training episode."""
        self.counters.episodes += 1
        return self.first_seed + self.counters.episodes - 1


def fresh(plan: Plan, shape: NetworkShape, seed: int) -> Run:
    """A run that has not begun; all of it follows from the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        agent = Ddpg(plan.learner, Actor(shape), lambda: Critic(shape), _collate)
    return Run(agent, TRAINING_FROM + seed * _SEEDS_A_RUN)


def save(run: Run, path: Path, told: Mapping[str, Any]) -> None:
    """Write a checkpoint; a reader sees the old one or the new one. `told`: what the run was started with."""
    state = {
        "agent": state_of(run.agent),
        "counters": {name: getattr(run.counters, name) for name in Counters.__slots__},
        "best": run.best,
        "best_score": run.best_score,
        "curve": orjson.dumps(run.curve).decode(),
        "told": orjson.dumps(told, option=orjson.OPT_SORT_KEYS).decode(),
    }
    half = path.with_name(f"{path.name}.part")
    torch.save(state, half)
    half.replace(path)


def last_actor(path: Path) -> dict[str, torch.Tensor]:
    """The actor's weights as they were when a checkpoint was written, the best or not."""
    weights: dict[str, torch.Tensor] = torch.load(path, weights_only=True)["agent"]["actor"]
    return weights


def take_up(run: Run, path: Path, told: Mapping[str, Any]) -> None:
    """Go on from a checkpoint. Raises InputError where there is none, or where it was started with something else."""
    if not path.exists():
        raise InputError(f"{path}: no checkpoint to resume from")
    state = torch.load(path, weights_only=True)
    before = orjson.loads(state["told"])
    differing = [name for name, value in orjson.loads(orjson.dumps(told)).items() if before.get(name) != value]
    if differing:
        raise InputError(f"{path}: the run was started with another {differing[0]}; resume it as it was")
    restore(run.agent, state["agent"])
    run.counters = Counters(**state["counters"])
    run.best, run.best_score = state["best"], state["best_score"]
    run.curve = orjson.loads(state["curve"])


def _collate(observations: Any) -> Any:
    return tensors(batch(observations))

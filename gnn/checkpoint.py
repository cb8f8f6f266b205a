"""Checkpoints of the learner: everything, so that a run that is taken up again is the run that was not interrupted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnn.ddpg import Ddpg

_PARTS = ("actor", "critics", "actor_target", "critic_targets", "actor_optimiser", "critic_optimiser")


def state_of(agent: Ddpg) -> dict[str, Any]:
    """Weights, optimisers, buffer, noise, price, counters and generator: tensors, numbers and strings only."""
    return {
        **{part: getattr(agent, part).state_dict() for part in _PARTS},
        "replay": _as_tensors(agent.replay.state()),
        "noise": _as_tensors(agent.noise.state()),
        "rng": json.dumps(agent.rng.bit_generator.state),
        "multiplier": agent.price.multiplier,
        "updates": agent.updates,
        "refused": dict(agent.refused),
    }


def restore(agent: Ddpg, state: Mapping[str, Any]) -> None:
    """Take up a state; networks and settings must be as they were."""
    for part in _PARTS:
        getattr(agent, part).load_state_dict(state[part])
    agent.replay.restore(_as_arrays(state["replay"]))
    agent.noise.restore(_as_arrays(state["noise"]))
    agent.rng.bit_generator.state = json.loads(state["rng"])
    agent.price = replace(agent.price, multiplier=state["multiplier"])
    agent.updates, agent.refused = state["updates"], Counter(state["refused"])


def save(agent: Ddpg, path: Path) -> None:
    """Write a checkpoint; a reader sees the old one or the new one, never half."""
    half = path.with_name(f"{path.name}.part")
    torch.save(state_of(agent), half)
    half.replace(path)


def load(agent: Ddpg, path: Path) -> None:
    """Take up a checkpoint; only tensors and plain values are read, never pickled objects."""
    restore(agent, torch.load(path, weights_only=True))


def _as_tensors(state: Mapping[str, Any]) -> dict[str, Any]:
    return {key: torch.from_numpy(one) if isinstance(one, np.ndarray) else one for key, one in state.items()}


def _as_arrays(state: Mapping[str, Any]) -> dict[str, Any]:
    return {key: one.numpy() if isinstance(one, Tensor) else one for key, one in state.items()}

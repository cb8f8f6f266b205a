"""What the peers see of each cluster, their network in numpy, and the policy that it is; no torch.

DeepSets (Zaheer et al., NeurIPS'17, eq. 4): each cluster is embedded alone, the mean of all is put beside each, and a
second network gives one number a cluster: a logit for PPO, a value for DQN. So a network from 4 clusters reads 128.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gnn.sizes.play import OneByOne, Policy, Question
from gnn.sizes.world import MOST_MS, MOST_SERVICES, MOST_UNITS
from prewarm.domain import Float32Array

HIDDEN = 32
FOLDER = Path(__file__).parent
NAMES = {"ppo": "PPO, DeepSets, trained on 4", "dqn": "DQN, DeepSets, trained on 4"}
WIDTH = 8


def features(question: Question) -> Float32Array:
    """Rows (n, WIDTH) of all clusters: delays, room and need, near 0..1 whatever the size."""
    world, request, free = question.offer.world, question.offer.request, question.free
    units, after = int(request.units[question.service]), request.units[question.service :].sum()
    columns = (
        world.delay_ms[question.above] / MOST_MS,
        world.delay_ms[request.ingress] / MOST_MS,
        free / np.maximum(world.room, 1),
        free >= units,
        np.minimum(free / after, 1.0),
        np.minimum(free / (MOST_SERVICES * MOST_UNITS), 1.0),
        np.full(len(free), units / MOST_UNITS),
        np.full(len(free), (len(request.units) - question.service) / MOST_SERVICES),
    )
    return np.column_stack(columns).astype(np.float32)


def scores(weights: Mapping[str, Float32Array], rows: Float32Array) -> Float32Array:
    """One number (n,) for each cluster."""

    def linear(name: str, x: Float32Array) -> Float32Array:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    each = np.maximum(linear("second", np.maximum(linear("first", rows), 0.0)), 0.0)
    beside = np.broadcast_to(each.mean(axis=0), each.shape)
    joined = np.maximum(linear("joined", np.concatenate([each, beside], axis=1)), 0.0)
    out: Float32Array = linear("last", joined)[:, 0]
    return out


def peer(kind: str) -> Policy:
    """A trained peer, `ppo` or `dqn`; only clusters with room are open to it."""
    with np.load(FOLDER / f"{kind}.npz", allow_pickle=False) as file:
        weights = {name: file[name] for name in file.files}

    def choose(question: Question) -> int:
        found = scores(weights, features(question))[question.candidates]
        return int(question.candidates[np.argmax(found)])

    return OneByOne(NAMES[kind], choose)

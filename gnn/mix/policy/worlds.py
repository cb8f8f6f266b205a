"""The worlds to learn and to be judged in: days drawn from the training exemplars, and a stretch of each."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from gnn.mix.expected.chances import cache_folder, exemplar_chances
from gnn.mix.policy.answer import Base
from gnn.mix.replay import Day
from gnn.mix.world.draw import World, draw_world
from gnn.mix.world.source import Side, Source, read_source
from gnn.train.seeds import EVALUATION, TRAINING_FROM
from prewarm.domain import Float32Array

SETTLE_MIN = 30
"""Minutes that the rule plays before a stretch begins, so that it finds warm what it would have warmed."""
EPISODES_A_WORLD = 4

Played = tuple[World, Float32Array]


@lru_cache(maxsize=1)
def public_source() -> Source:
    """The public tables from `PREWARM_TRACES`, as `--data` is by default. InputError where they are not there."""
    return read_source(Path(os.environ.get("PREWARM_TRACES") or "data/traces"))


@lru_cache(maxsize=1)
def _chances() -> Float32Array:
    return exemplar_chances(public_source(), cache_folder())


@lru_cache(maxsize=10)
def world_of(seed: int) -> Played:
    """A world with its forecasts; those of evaluation seeds are of the other side of the exemplars."""
    side = Side.EVALUATION if seed in EVALUATION else Side.TRAINING
    world = draw_world(public_source(), side, seed)
    return world, _chances()[world.functions.series]


def episode_world(seed: int) -> int:
    """The world of an episode: a few in a row share one, because drawing it takes as long as playing an hour of it."""
    return max(TRAINING_FROM, TRAINING_FROM + (seed - TRAINING_FROM) // EPISODES_A_WORLD)


def settled(played: Played, minute: int, base: Base) -> Day:
    """The day before `minute`, warm as the rule leaves it."""
    day = Day(*played)
    day.skip(max(0, minute - SETTLE_MIN))
    while day.minute < minute:
        day.play(base.market.decide(day.state))
    return day


def drawn_start(world: World, lasts: int, rng: np.random.Generator) -> int:
    """A minute from which so many are left, not in the warm-up."""
    return int(rng.integers(world.warm_up + SETTLE_MIN, world.minutes - lasts))

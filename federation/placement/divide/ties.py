"""Who comes first among equals: by a hash of workload and cluster, so that it is not always the same cluster.

The hash is our own, so it is the same after a restart and on every machine (Python's is salted).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import FloatArray

UIntArray = NDArray[np.uint64]


@lru_cache(maxsize=65_536)
def seed_of(name: str) -> int:
    """64 bits of a name."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")


def ties_of(keys: Sequence[str], names: Sequence[str]) -> FloatArray:
    """A number in [0, 1) for each workload and cluster, (w, c); the higher one goes first."""
    ours = np.array([seed_of(key) for key in keys], dtype=np.uint64)
    theirs = _seeds(tuple(names))
    return _mixed(ours[:, None] ^ theirs[None, :]) / 2.0**64


@lru_cache(maxsize=64)
def _seeds(names: tuple[str, ...]) -> UIntArray:
    seeds = np.array([seed_of(name) for name in names], dtype=np.uint64)
    seeds.setflags(write=False)
    return seeds


def _mixed(bits: UIntArray) -> UIntArray:
    """SplitMix64's finaliser (Steele, Lea and Flood, OOPSLA'14): every bit depends on every bit."""
    mixed = bits + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))

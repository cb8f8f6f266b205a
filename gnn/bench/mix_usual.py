"""What the guard of the serverless mix sees in training worlds where nothing shifts: what its detector is fitted on.

Every fourth run is of functions that the others have not. It is fitted; the others say how far such a detector is off
in a fleet of functions that it has not seen, which is what every fleet but one's own is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from gnn.bench.mix_day import sealed
from gnn.bench.mix_guard import GuardedMix
from gnn.bench.mix_play import AFTER_MIN, BEFORE_MIN, Worlds, cost, halves, shift_minute
from gnn.guard.fit import Stream
from gnn.guard.kept import kept_stream
from gnn.mix.expected.chances import cache_folder
from gnn.mix.policy.played import LEARNED, Played
from gnn.mix.state import MINUTE_S
from gnn.mix.world.source import Side, Source
from gnn.published.measure.kept import seal

FIT_FROM, FITTED_EVERY = 30_000, 4
_BENCH, _GUARD = Path(__file__).parent, Path(__file__).parents[1] / "guard"

Told = Callable[[float, str], None]


def streams(policy: Played, source: Source, runs: int, seed: int, progress: Told) -> list[Stream]:
    """One run a world, kept in the user's cache folder; so that `fit` can tell them apart, those that are not to be
    fitted say so.
    """
    fitted, others = (Worlds(one, Side.TRAINING) for one in halves(source))
    folder = cache_folder() / "guard-streams" / f"mix-{sight(source)}"
    found: list[Stream] = []
    for at in range(runs):
        progress(at / runs, f"what is usual, run {at + 1} of {runs}")
        apart, number = at % FITTED_EVERY != 0, FIT_FROM + 1_000 * seed + at
        made = kept_stream(folder / f"{number}.npz", partial(_stream, policy, others if apart else fitted, number))
        found.append(replace(made, apart=apart))
    return found


def sight(source: Source) -> str:
    """Seal of the code, weights and data that decide what the guard sees in a run."""
    files = [_BENCH / f"{name}.py" for name in ("mix_play", "mix_usual", "mix_guard")]
    files += [_GUARD / "features.py", _GUARD / "from_env.py"]
    return seal(files, sealed(source, LEARNED).encode())


def _stream(policy: Played, worlds: Worlds, seed: int) -> Stream:
    """One run."""
    played = worlds.of(seed)
    at, watched = shift_minute(played[0], seed), GuardedMix(policy, keep=True)
    cost(played, watched, (None, seed), (at - BEFORE_MIN, at, at + AFTER_MIN), policy.base)
    minutes = MINUTE_S * np.arange(len(watched.rows), dtype=np.float64)
    return Stream(minutes, np.array(watched.rows), np.array(watched.told))

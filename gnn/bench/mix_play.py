"""How the serverless mix is played for its guard: a day, a minute of it in which something shifts, and J after it.

A run settles under the rule, then the policy plays it from half an hour before the shift to an hour after. The fleet 32
times as large is so from the start, and so large that it is played for minutes and not for an hour.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gnn.bench.mix_guard import GuardedMix
from gnn.bench.mix_shifts import Shift, permuted
from gnn.mix.expected.chances import cache_folder, exemplar_chances
from gnn.mix.minute import COLD
from gnn.mix.policy.answer import Base
from gnn.mix.replay import PRICES, Day
from gnn.mix.rules.table import tuned_theta
from gnn.mix.state import MINUTE_S, Policy
from gnn.mix.world.draw import CLUSTERS, FUNCTIONS, World, draw_world
from gnn.mix.world.source import Side, Source, kept_apart
from prewarm.domain import Float32Array, FloatArray

BEFORE_MIN, AFTER_MIN, SETTLE_MIN = 30, 60, 20
LARGER, LARGE_AFTER_MIN, LARGE_FROM_MIN = 32, 5, 700
_STREAM, _HALVES = 757, 2027

Days = tuple[World, Float32Array]


class Worlds:
    """Days of one side; the last one drawn is kept."""

    def __init__(self, source: Source, side: Side = Side.EVALUATION) -> None:
        self.source, self._side = source, side
        self._chances = exemplar_chances(source, cache_folder())
        self._last: tuple[int, Days] | None = None
        self._large: tuple[int, Days] | None = None

    def of(self, seed: int) -> Days:
        """A day with its forecasts."""
        if self._last is None or self._last[0] != seed:
            world = draw_world(self.source, self._side, seed)
            self._last = seed, (world, self._chances[world.functions.series])
        return self._last[1]

    def large(self, seed: int) -> Days:
        """Some minutes of a fleet 32 times as large; the last one drawn is kept too."""
        if self._large is None or self._large[0] != seed:
            self._large = seed, self._drawn_large(seed)
        return self._large[1]

    def _drawn_large(self, seed: int) -> Days:
        span = slice(LARGE_FROM_MIN, LARGE_FROM_MIN + SETTLE_MIN + LARGE_AFTER_MIN)
        size = {"functions": LARGER * FUNCTIONS, "clusters": LARGER * CLUSTERS}
        world = draw_world(self.source, self._side, seed, span=span, **size)
        return world, self._chances[world.functions.series, span]


def shift_minute(world: World, seed: int) -> int:
    """A drawn minute with enough of the day on both sides."""
    rng = np.random.default_rng([_STREAM, seed])
    return int(rng.integers(BEFORE_MIN + SETTLE_MIN + world.warm_up, world.minutes - AFTER_MIN))


def halves(source: Source) -> tuple[Source, Source]:
    """Two sources whose training sides share no exemplar and are together that of `source`, divided as that one is."""
    other = kept_apart(source.labels, source.counts.sum(axis=1, dtype=np.float64), _HALVES)
    one, two = (replace(source, kept_apart=source.kept_apart | half) for half in (other, ~other))
    return one, two


def cost(
    played: Days, policy: Policy | GuardedMix, shift: tuple[Shift | None, int], when: tuple[int, int, int], base: Base
) -> float:
    """J from the shift to the end. when: minutes of the policy's start, of the shift, and of the end."""
    (kind, seed), (start, at, until) = shift, when
    day = Day(*played)
    day.skip(start - SETTLE_MIN)
    while day.minute < start:
        day.play(base.market.decide(day.state) if kind is not Shift.FLEET else tuned_theta().decide(day.state))
    total = 0.0
    while day.minute < until:
        if day.minute == at and kind is Shift.DELAYS:
            permuted(day, seed)
        ledger = day.play(policy.decide(day.state))
        if isinstance(policy, GuardedMix):
            policy.starts.hear(*started(played[0], day.minute - 1, ledger))
        total += float((ledger @ PRICES).sum()) if day.minute > at else 0.0
    return total


def started(world: World, minute: int, ledger: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What the starts of a minute that calls may have waited for took, and how long after its beginning they began, s:
    those of the plan at once, those on demand at an even chance.
    """
    at = slice(*world.hits.first[minute : minute + 2])
    waited = ledger[world.hits.row[at], COLD]
    took = world.hits.start_s[at].astype(np.float64)
    began = np.where(waited >= 1.0, np.random.default_rng([_STREAM, minute]).uniform(0.0, MINUTE_S, len(took)), 0.0)
    return took[waited > 0.0], began[waited > 0.0]

"""The serverless mix (W11) in the bench of what is out of distribution (W7): ten kinds of shift, and as many calm runs.

A run settles under the rule, then the shipped policy plays it under its guard, from half an hour before the shift to an
hour after; beside it, from the same start, the tuned theta rule. Regret is that of J in the hour after the shift.
Caught: handed over within five minutes. The fleet 32 times as large is one from the start, and so large that it is
played for minutes and not for an hour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnn.bench.mix_guard import NAMES, GuardedMix, Telling
from gnn.bench.mix_shifts import Shift, permuted, shifted
from gnn.guard.detector import Detector, read_detector
from gnn.guard.fit import Fit, Stream, fit
from gnn.mix.expected.chances import cache_folder, exemplar_chances
from gnn.mix.minute import COLD
from gnn.mix.policy.answer import Base
from gnn.mix.policy.played import Played
from gnn.mix.policy.shipped import WEIGHTS_FILE, learned
from gnn.mix.replay import PRICES, Day
from gnn.mix.rules.table import tuned_theta
from gnn.mix.state import MINUTE_S, Policy
from gnn.mix.world.draw import CLUSTERS, FUNCTIONS, World, draw_world
from gnn.mix.world.source import Side, Source, read_source
from prewarm.bench.result import Goal, Row
from prewarm.domain import Float32Array, FloatArray

BEFORE_MIN, AFTER_MIN, CAUGHT_MIN, SETTLE_MIN = 30, 60, 5, 20
SEEDS, QUICK_SEEDS = 10, 2
FIT_RUNS, QUICK_FIT_RUNS, FIT_FROM = 120, 30, 30_000
LARGER, LARGE_SEEDS, LARGE_AFTER_MIN, LARGE_FROM_MIN = 32, 1, 5, 700
FIT = Fit(rate=0.005, memory_s=3 * MINUTE_S)
DETECTOR = WEIGHTS_FILE.with_name("guard-mix.npz")
CALM_FROM = 100
_STREAM = 757

Told = Callable[[float, str], None]
Days = tuple[World, Float32Array]


@dataclass(frozen=True, slots=True)
class Run:
    """One run. handed: minutes after the shift (or the start, without one). ours, rule: J after the shift."""

    kind: Shift | None
    handed: int | None
    why: str
    ours: float
    rule: float

    @property
    def caught(self) -> bool:
        """Within five minutes of the shift, and not before it."""
        return self.handed is not None and 0 <= self.handed <= CAUGHT_MIN

    @property
    def regret(self) -> float:
        """Of J, as a share of the rule's."""
        return self.ours / self.rule - 1.0


class Worlds:
    """Days of one side; the last one drawn is kept."""

    def __init__(self, source: Source, side: Side = Side.EVALUATION) -> None:
        self._source, self._side = source, side
        self._chances = exemplar_chances(source, cache_folder())
        self._last: tuple[int, Days] | None = None

    def of(self, seed: int) -> Days:
        """A day with its forecasts."""
        if self._last is None or self._last[0] != seed:
            world = draw_world(self._source, self._side, seed)
            self._last = seed, (world, self._chances[world.functions.series])
        return self._last[1]

    def large(self, seed: int) -> Days:
        """Some minutes of a fleet 32 times as large."""
        span = slice(LARGE_FROM_MIN, LARGE_FROM_MIN + SETTLE_MIN + LARGE_AFTER_MIN)
        size = {"functions": LARGER * FUNCTIONS, "clusters": LARGER * CLUSTERS}
        world = draw_world(self._source, self._side, seed, span=span, **size)
        return world, self._chances[world.functions.series, span]


def rows_and_goals(
    data_dir: Path, *, seed: int, quick: bool = False, progress: Told, side: Side = Side.EVALUATION
) -> tuple[list[Row], list[Goal], dict[str, str]]:
    """The table of W11's shifts, its goals, and sha256 of the files read. Without weights all goals are missed."""
    source = read_source(data_dir)
    policy = learned()
    if policy is None:
        return [], _goals((), trained=False), dict(source.sha256)
    detector, whence = _detector(policy, source, quick=quick, progress=progress)
    worlds, runs = Worlds(source, side), []
    plan = _plan(range(seed, seed + (QUICK_SEEDS if quick else SEEDS)), quick=quick)
    for at, (kind, number) in enumerate(plan):
        progress(0.2 + 0.8 * at / len(plan), kind or "no shift")
        runs.append(one_run(policy, detector, kind, number, worlds))
    rows: list[Row] = [{"guarded (W11)": policy.name, "detector": whence, "calibrated on": float(detector.runs)}]
    by_kind = {kind: [one for one in runs if one.kind is kind] for kind in (*Shift, None)}
    rows += [_row(kind, found) for kind, found in by_kind.items() if found]
    return rows, _goals(runs, trained=True), dict(source.sha256)


def one_run(policy: Played, detector: Detector | None, kind: Shift | None, seed: int, worlds: Worlds) -> Run:
    """The guarded policy and the theta rule from the same start. Calm runs have seeds of their own."""
    if kind is Shift.FLEET:
        played, at = worlds.large(seed), SETTLE_MIN
        start, until = at, at + LARGE_AFTER_MIN
    else:
        day = worlds.of(seed % CALM_FROM)
        at = shift_minute(day[0], seed)
        played = shifted(*day, kind, at, seed)
        start, until = at - BEFORE_MIN, at + AFTER_MIN
    guarded = GuardedMix(policy, Telling(kind, at), detector)
    ours = _cost(played, guarded, (kind, seed), (start, at, until), policy.base)
    rule = _cost(played, tuned_theta(), (kind, seed), (start, at, until), policy.base)
    since = start if kind is None else at
    handed = None if guarded.handed is None else guarded.handed - since
    return Run(kind, handed, guarded.why, ours, rule)


def shift_minute(world: World, seed: int) -> int:
    """A drawn minute with enough of the day on both sides."""
    rng = np.random.default_rng([_STREAM, seed])
    return int(rng.integers(BEFORE_MIN + SETTLE_MIN + world.warm_up, world.minutes - AFTER_MIN))


def streams(policy: Played, source: Source, runs: int, seed: int, progress: Told) -> list[Stream]:
    """What the guard sees in training worlds where nothing shifts, one run a world."""
    worlds, found = Worlds(source, Side.TRAINING), []
    for number in range(runs):
        progress(number / runs, "what is usual")
        played = worlds.of(FIT_FROM + 1_000 * seed + number)
        at = shift_minute(played[0], FIT_FROM + 1_000 * seed + number)
        watched = GuardedMix(policy, keep=True)
        _cost(played, watched, (None, number), (at - BEFORE_MIN, at, at + AFTER_MIN), policy.base)
        minutes = MINUTE_S * np.arange(len(watched.rows), dtype=np.float64)
        found.append(Stream(minutes, np.array(watched.rows), np.array(watched.told)))
    return found


def _detector(policy: Played, source: Source, *, quick: bool, progress: Told) -> tuple[Detector, str]:
    if DETECTOR.exists():
        found = read_detector(DETECTOR)
        if len(found.centre) == len(NAMES):
            return found, "shipped"
    runs = QUICK_FIT_RUNS if quick else FIT_RUNS
    usual = streams(policy, source, runs, 0, lambda part, said: progress(0.2 * part, said))
    return fit(usual, np.random.default_rng(0), FIT), "fitted here"


def _plan(seeds: Sequence[int], *, quick: bool) -> list[tuple[Shift | None, int]]:
    """Kind and seed of each run, those of a world together. As many calm runs as shifted ones; `quick` without the
    large fleet.
    """
    kinds = [kind for kind in Shift if kind is not Shift.FLEET]
    plan: list[tuple[Shift | None, int]] = []
    for seed in seeds:
        plan += [(kind, seed) for kind in kinds]
        plan += [(None, seed + CALM_FROM * (number + 1)) for number in range(len(kinds))]
    return [*plan, *((Shift.FLEET, seed) for seed in seeds[: 0 if quick else LARGE_SEEDS])]


def _cost(
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
            policy.start_s = _usual_start(played[0], day.minute - 1, ledger)
        total += float((ledger @ PRICES).sum()) if day.minute > at else 0.0
    return total


def _usual_start(world: World, minute: int, ledger: FloatArray) -> float | None:
    """Geometric mean of the starts of a minute that calls may have waited for, s; None without one."""
    at = slice(*world.hits.first[minute : minute + 2])
    started = ledger[world.hits.row[at], COLD] > 0.0
    took = world.hits.start_s[at][started]
    return float(np.exp(np.log(np.maximum(took, 0.05)).mean())) if len(took) else None


def _goals(runs: Sequence[Run], *, trained: bool) -> list[Goal]:
    """Means over runs, all kinds alike."""
    moved = [one for one in runs if one.kind is not None]
    calm = [one for one in runs if one.kind is None]
    return [
        Goal.at_most("mix_regret", 0.01, float(np.mean([one.regret for one in moved])) if trained else None),
        Goal.at_least("mix_caught", 0.95, float(np.mean([one.caught for one in moved])) if trained else None),
        Goal.at_most(
            "mix_false_alarms", 0.01, float(np.mean([one.handed is not None for one in calm])) if trained else None
        ),
    ]


def _row(kind: Shift | None, runs: Sequence[Run]) -> Row:
    ours, rule = (np.array([getattr(one, side) for one in runs]) for side in ("ours", "rule"))
    waits = [one.handed for one in runs if one.handed is not None]
    handed = sum(one.caught for one in runs) if kind is not None else len(waits)
    regret = 100.0 * (ours / rule - 1.0)
    return {
        "shift (W11, simulated)": kind.value if kind is not None else "none",
        "handed over": f"{handed} of {len(runs)}",
        "median min": float(np.median(waits)) if waits else None,
        "J after": float(ours.mean()),
        "theta rule's": float(rule.mean()),
        "regret %": float(regret.mean()),
        "worst %": float(regret.max()),
        "why (first)": next((one.why for one in runs if one.why), "")[:70],
    }

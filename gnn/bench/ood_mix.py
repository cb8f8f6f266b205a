"""The serverless mix (W11) in the bench of what is out of distribution (W7): ten kinds of shift, and as many calm runs.

The shipped policy plays under its guard; beside it, from the same start, the tuned theta rule. Regret is that of J in
the hour after the shift. Caught: handed over within five minutes. Runs are kept in the user's cache folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from gnn.bench.mix_day import sealed
from gnn.bench.mix_guard import NAMES, GuardedMix, Telling
from gnn.bench.mix_play import AFTER_MIN, BEFORE_MIN, LARGE_AFTER_MIN, SETTLE_MIN, Days, Worlds, cost, shift_minute
from gnn.bench.mix_shifts import Shift, shifted
from gnn.bench.mix_usual import sight, streams
from gnn.guard.detector import Detector, read_detector
from gnn.guard.fit import Fit, fit
from gnn.mix.expected.chances import cache_folder
from gnn.mix.policy.answer import Base
from gnn.mix.policy.played import LEARNED, Played
from gnn.mix.policy.shipped import WEIGHTS_FILE, learned
from gnn.mix.rules.table import tuned_theta
from gnn.mix.state import MINUTE_S
from gnn.mix.world.source import Side, Source, read_source
from gnn.published.measure.kept import Kept, Reading, seal
from prewarm.bench.result import Goal, Row

CAUGHT_MIN = 5
SEEDS, QUICK_SEEDS = 10, 2
FIT_RUNS, QUICK_FIT_RUNS = 120, 30
FIT = Fit(rate=0.005, memory_s=3 * MINUTE_S)
DETECTOR = WEIGHTS_FILE.with_name("guard-mix.npz")
CALM_FROM = 100
SHIPPED, RULE = "shipped", tuned_theta().name
TOLD_ONLY = (Shift.STALE, Shift.MISSING, Shift.LYING)
"""Shifts of what is told, not of the world."""

Told = Callable[[float, str], None]


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
    kept = Kept(cache_folder() / "ood-mix.jsonl" if whence == SHIPPED and side is Side.EVALUATION else None)
    plan = _plan(range(seed, seed + (QUICK_SEEDS if quick else SEEDS)), quick=quick)
    for at, (kind, number) in enumerate(plan):
        progress(0.2 + 0.8 * at / len(plan), kind or "no shift")
        runs.append(one_run(policy, detector, kind, number, worlds, kept))
    rows: list[Row] = [{"guarded (W11)": policy.name, "detector": whence, "calibrated on": float(detector.runs)}]
    by_kind = {kind: [one for one in runs if one.kind is kind] for kind in (*Shift, None)}
    rows += [_row(kind, found) for kind, found in by_kind.items() if found]
    rows.append({"processor s of all runs (W11)": kept.computed_s, "of them now": kept.fresh_s})
    return rows, _goals(runs, trained=True), dict(source.sha256)


def one_run(
    policy: Played, detector: Detector | None, kind: Shift | None, seed: int, worlds: Worlds, kept: Kept | None = None
) -> Run:
    """The guarded policy and the theta rule from the same start. kept: readings of earlier ones, by the shipped
    detector.
    """
    kept = kept or Kept(None)
    ours = kept.of(f"{_seal(worlds, LEARNED)}:{kind}:{seed}", partial(_guarded, policy, detector, kind, seed, worlds))
    real = None if kind in TOLD_ONLY else kind  # what the rule, which reads the truth, meets
    rule = kept.of(f"{_seal(worlds, RULE)}:{real}:{seed}", partial(_ruled, policy.base, real, seed, worlds))
    handed = None if ours["handed"] is None else int(ours["handed"])
    return Run(kind, handed, str(ours["why"]), float(ours["j"] or 0.0), float(rule["j"] or 0.0))


def _guarded(policy: Played, detector: Detector | None, kind: Shift | None, seed: int, worlds: Worlds) -> Reading:
    played, when = _case(kind, seed, worlds)
    guarded = GuardedMix(policy, Telling(kind, when[1]), detector)
    paid = cost(played, guarded, (kind, seed), when, policy.base)
    handed = None if guarded.handed is None else guarded.handed - when[0 if kind is None else 1]
    return {"j": paid, "handed": handed, "why": guarded.why}


def _ruled(base: Base, kind: Shift | None, seed: int, worlds: Worlds) -> Reading:
    played, when = _case(kind, seed, worlds)
    return {"j": cost(played, tuned_theta(), (kind, seed), when, base)}


def _case(kind: Shift | None, seed: int, worlds: Worlds) -> tuple[Days, tuple[int, int, int]]:
    """The world with its shift, and minutes of the policy's start, of the shift and of the end. Calm runs have seeds of
    their own.
    """
    if kind is Shift.FLEET:
        return worlds.large(seed), (SETTLE_MIN, SETTLE_MIN, SETTLE_MIN + LARGE_AFTER_MIN)
    day = worlds.of(seed % CALM_FROM)
    at = shift_minute(day[0], seed)
    return shifted(*day, kind, at, seed), (at - BEFORE_MIN, at, at + AFTER_MIN)


def _seal(worlds: Worlds, who: str) -> str:
    """Of who decides, the shift, and how it is measured."""
    files = [Path(__file__).with_name(f"{name}.py") for name in ("ood_mix", "mix_play", "mix_shifts")]
    if who != LEARNED:
        return seal(files, sealed(worlds.source, who).encode())
    guard = Path(__file__).parents[1] / "guard"
    files += [guard / "detector.py", guard / "watch.py", *([DETECTOR] if DETECTOR.exists() else [])]
    return seal(files, sight(worlds.source).encode())


def _detector(policy: Played, source: Source, *, quick: bool, progress: Told) -> tuple[Detector, str]:
    if DETECTOR.exists():
        found = read_detector(DETECTOR)
        if len(found.centre) == len(NAMES):
            return found, SHIPPED
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
        plan += [(None, seed + CALM_FROM * (number + 1)) for number in range(len(kinds if quick else Shift))]
    return plan if quick else [*plan, *((Shift.FLEET, seed) for seed in seeds)]


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

"""`prewarm bench ood` (W7): is a shift of the world seen, how soon, is one seen that is none, and what does it cost.

Two worlds, each with goals of its own; the serverless mix (W11) is `gnn.bench.ood_mix`, whose goals begin with `mix_`.

The published cluster (W1b) at 85 % load with calls; one shift at a drawn second of minutes 15 to 18 in each run, ten
runs a kind, and as many without a shift. Guarded is the shipped policy (without one its teacher, which the table says)
until the guard hands over to the best tuned rule; beside it, in the same world, that rule from the start. Regret is
that of the P99 in the 20 minutes after the shift; failed pods stand beside it. Caught and false alarm are counted by
run. The detector that ships is used where it fits; otherwise it is fitted here on training worlds with loads of 70 to
98 %. Runs are kept in the user's cache folder, so a command that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from gnn.bench import ood_mix
from gnn.bench.guarded import guarded_seal, shipped_detector
from gnn.bench.shifts import (
    GuardedPlay,
    Mind,
    Shift,
    Shifted,
    Telling,
    begun,
    made_of_mind,
    mind,
    prepared,
    slow_down,
)
from gnn.guard.detector import Detector
from gnn.guard.features import names
from gnn.guard.fit import Fit, Stream, fit
from gnn.guard.kept import kept_stream
from gnn.mix.expected.chances import cache_folder
from gnn.published.kernel.advance import advance
from gnn.published.kernel.layout import CAME, FAILURES, State
from gnn.published.measure.contest import paired, simulator
from gnn.published.measure.kept import Kept, Reading, seal
from gnn.published.measure.run import drive, percentile_ms
from gnn.published.policy.worlds import LOADS, load_world
from gnn.published.world.draw import Regime, World, draw_world
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import FloatArray

LOAD = 0.85
SEEDS, QUICK_SEEDS = 10, 2
FIT_RUNS, QUICK_FIT_RUNS = 200, 40
FIT_FROM = 40_000
EARLIEST_S, LATEST_S = 900.0, 1_080.0
CAUGHT_S, AFTER_S = 300.0, 1_200.0
CALM_FROM = 100
"""Seeds of runs without a shift are apart from those with one."""
PUBLISHED_SHARE = 0.7
"""Share of the time that the published cluster takes."""
SHIPPED = "shipped"
TOLD_ONLY = (Shift.STALE, Shift.MISSING, Shift.LYING)
"""Shifts of what is told, not of the world."""
_STREAM = 727

Told = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class After:
    """The minutes after a shift: P99 of the calls that began in them, and pods that failed of those that came."""

    p99_ms: float
    failed: float


@dataclass(frozen=True, slots=True)
class Run:
    """One run of both. handed_s: when the guard handed over, in seconds after the shift (or the start, without one)."""

    kind: Shift | None
    handed_s: float | None
    why: str
    ours: After
    rule: After

    @property
    def caught(self) -> bool:
        """Within five minutes of the shift, and not before it."""
        return self.handed_s is not None and 0.0 <= self.handed_s <= CAUGHT_S

    @property
    def regret(self) -> float:
        """Of the P99, as a share of the rule's."""
        return self.ours.p99_ms / self.rule.p99_ms - 1.0


def run(data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Told) -> BenchResult:
    """All kinds in both worlds; `quick` takes two runs a kind and a detector of fewer."""
    del plot
    rows, goals = _published(seed, quick, lambda part, said: progress(PUBLISHED_SHARE * part, said))
    more, more_goals, read = ood_mix.rows_and_goals(
        data_dir,
        seed=seed,
        quick=quick,
        progress=lambda part, said: progress(PUBLISHED_SHARE + (1.0 - PUBLISHED_SHARE) * part, said),
    )
    versions = installed_versions(("prewarm-fleet", "lightgbm", "numba", "numpy", "scipy"))
    return BenchResult("ood", seed, read, versions, rows + more, goals + more_goals)


def _published(seed: int, quick: bool, progress: Told) -> tuple[list[Row], list[Goal]]:
    """W1b's part."""
    policy = mind()
    detector, whence = _detector(policy, QUICK_FIT_RUNS if quick else FIT_RUNS, seed, progress)
    seeds = range(seed, seed + (QUICK_SEEDS if quick else SEEDS))
    plan: list[tuple[Shift | None, int]] = [(kind, number) for kind in Shift for number in seeds]
    plan += [(None, seed + CALM_FROM + number) for number in range(len(plan))]
    kept = Kept(cache_folder() / "ood.jsonl" if whence == SHIPPED and policy.trained else None)
    runs = []
    for at, (kind, number) in enumerate(plan):
        progress(0.2 + 0.8 * at / len(plan), kind or "no shift")
        runs.append(one_run(policy, detector, kind, number, kept))
    who = "shipped policy" if policy.trained else "its teacher: no weights ship, so these figures are of the guard only"
    rows: list[Row] = [
        {
            "guarded": who,
            "hands over to, and is compared with": policy.fallback.name,
            "detector": whence,
            "runs it was calibrated on": float(detector.runs),
        }
    ]
    rows += [_row(kind, [one for one in runs if one.kind is kind]) for kind in (*Shift, None)]
    rows.append({"processor s of all runs": kept.computed_s, "of them now": kept.fresh_s})
    return rows, goals_of(runs, trained=policy.trained)


def goals_of(runs: Sequence[Run], *, trained: bool) -> list[Goal]:
    """Regret counts for the shipped policy only."""
    shifted = [one for one in runs if one.kind is not None]
    calm = [one for one in runs if one.kind is None]
    regret = float(np.mean([one.regret for one in shifted])) if trained else None
    return [
        Goal.at_most("regret", 0.01, regret),
        Goal.at_least("caught", 0.95, float(np.mean([one.caught for one in shifted]))),
        Goal.at_most("false_alarms", 0.01, float(np.mean([one.handed_s is not None for one in calm]))),
    ]


def one_run(policy: Mind, detector: Detector, kind: Shift | None, seed: int, kept: Kept | None = None) -> Run:
    """The guarded policy and the rule in the same world. kept: readings of earlier ones, by the shipped detector."""
    kept = kept or Kept(None)
    ours = kept.of(f"{_seal(guarded_seal())}:{kind}:{seed}", partial(_guarded, policy, detector, kind, seed))
    real = None if kind in TOLD_ONLY else kind  # what the rule, which reads the truth, meets
    rule = kept.of(f"{_seal(policy.fallback.table)}:{real}:{seed}", partial(_ruled, policy, real, seed))
    handed = ours["handed_s"]
    return Run(kind, None if handed is None else float(handed), str(ours["why"]), _after(ours), _after(rule))


def _when(kind: Shift | None, seed: int) -> tuple[Shifted | None, float]:
    at_s = float(np.random.default_rng([_STREAM, seed]).uniform(EARLIEST_S, LATEST_S))
    return None if kind is None else Shifted(kind, at_s), at_s


def _guarded(policy: Mind, detector: Detector, kind: Shift | None, seed: int) -> Reading:
    when = _when(kind, seed)
    play = GuardedPlay(policy, Telling(when[0]), detector, names(policy.columns.names))
    world = draw_world(Regime.CALLS, LOAD, seed)
    after = _played(world, policy, when, lambda state, until: drive(state, play, until_s=until))
    handed = None if play.handed_s is None else play.handed_s - (0.0 if kind is None else when[1])
    return {"p99_ms": after.p99_ms, "failed": after.failed, "handed_s": handed, "why": play.why}


def _ruled(policy: Mind, kind: Shift | None, seed: int) -> Reading:
    world = draw_world(Regime.CALLS, LOAD, seed)
    after = _played(world, policy, _when(kind, seed), lambda state, until: _by_rule(state, policy, until))
    return {"p99_ms": after.p99_ms, "failed": after.failed}


def _after(reading: Reading) -> After:
    return After(float(reading["p99_ms"] or 0.0), float(reading["failed"] or 0.0))


def _seal(who: str | FloatArray) -> str:
    """Of who decides, the shift, and how it is measured."""
    made_of = who.encode() if isinstance(who, str) else who.tobytes()
    return seal([Path(__file__), Path(__file__).with_name("shifts.py")], simulator().encode(), made_of)


def streams(policy: Mind, runs: int, seed: int, progress: Told, *, calls: bool = True) -> list[Stream]:
    """What the guard sees in training worlds where nothing shifts. Without calls a run takes a tenth of the time, but
    the web moves a little otherwise, and a detector of such runs cries out now and then in one with calls. Runs with
    calls are kept in the user's cache folder, so that a fit that was stopped goes on where it was.
    """
    folder = cache_folder() / "guard-streams" / made_of_mind() if calls and policy.trained else None
    found = []
    for number in range(runs):
        progress(number / runs, f"what is usual, run {number + 1} of {runs}")
        path = None if folder is None else folder / f"{seed}-{number}.npz"
        found.append(kept_stream(path, partial(_stream, policy, seed, number, calls=calls)))
    return found


def _stream(policy: Mind, seed: int, number: int, *, calls: bool) -> Stream:
    """One run."""
    load = float(np.random.default_rng([_STREAM, seed, number]).uniform(*LOADS))
    number += FIT_FROM + 1_000 * seed
    world = draw_world(Regime.CALLS, load, number) if calls else load_world(load, number)
    seen = GuardedPlay(policy, Telling(None), keep=True)
    drive(begun(world, policy.columns, None), seen, until_s=world.duration_s)
    return Stream(np.array(seen.at), np.array(seen.rows), np.array(seen.told))


def _detector(policy: Mind, runs: int, seed: int, progress: Told) -> tuple[Detector, str]:
    found = shipped_detector(policy)
    if found is not None:
        return found, SHIPPED
    usual = streams(policy, runs, seed, lambda part, said: progress(0.2 * part, said))
    return fit(usual, np.random.default_rng(seed), Fit(rate=0.005)), "fitted here"


def _played(
    world: World, policy: Mind, when: tuple[Shifted | None, float], until: Callable[[State, float], None]
) -> After:
    shift, at_s = when
    state = begun(prepared(world, shift), policy.columns, shift)
    until(state, at_s)
    before = state["books"][0].copy()
    if shift is not None:
        slow_down(state, shift)
    until(state, min(at_s + AFTER_S, world.duration_s))
    since = state["books"][0] - before
    calls = state["histogram"][0, int(at_s) : int(at_s + AFTER_S)].sum(axis=0)
    return After(percentile_ms(calls, 0.99), float(since[FAILURES] / max(since[CAME], 1.0)))


def _by_rule(state: State, policy: Mind, until_s: float) -> None:
    """The rule that the guard hands over to, from the start."""
    state["weights"][0] = policy.fallback.table
    advance(state, until_s, False)


def _row(kind: Shift | None, runs: Sequence[Run]) -> Row:
    ours, rule = (np.array([getattr(one, side).p99_ms for one in runs]) for side in ("ours", "rule"))
    failed = np.array([100.0 * (one.ours.failed - one.rule.failed) for one in runs])
    waits = [one.handed_s for one in runs if one.handed_s is not None]
    handed = sum(one.caught for one in runs) if kind is not None else len(waits)
    return {
        "shift at minute 15-18 (simulated)": kind.value if kind is not None else "none",
        "handed over": f"{handed} of {len(runs)}",
        "median s": float(np.median(waits)) if waits else None,
        "P99 ms": float(ours.mean()),
        "rule's": float(rule.mean()),
        "regret %": _interval(100.0 * (ours / rule - 1.0)),
        "failed, points": _interval(failed),
        "why (first)": next((one.why for one in runs if one.why), "")[:70],
    }


def _interval(values: FloatArray) -> str:
    mean, low, high = paired(values, np.zeros_like(values))
    return f"{mean:+.2f} ({low:+.2f}..{high:+.2f})"

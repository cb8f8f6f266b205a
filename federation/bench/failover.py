"""`prewarm bench failover` (W4): fifteen one-replica apps lose their cluster at once; it is back ten minutes later.

The service's own pipeline decides (filters, factors, book of promised room, homes, surge before drain) over simulated
clusters with a start-up distribution; the controller here looks when a member's state changes and every half minute,
and follows a rollout every second, as the service does. Beside it stand the same pipeline without its book, divisions
after Karmada's, and the same pipeline draining first. Start-up, detection, the router's lag and the grace period are
assumed and the same for all; nothing here is a measurement of a real cluster.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from federation.bench.failover_policies import (
    ByAvailable,
    Choice,
    DrainFirst,
    Duplicated,
    Ours,
    Policy,
    WithoutReservation,
)
from federation.bench.failover_router import LAG_S, Served, route
from federation.bench.failover_world import APPS, BACK_S, LOST_S, ROOM, World
from federation.placement.safety.steps import next_step
from federation.snapshot import MemberState, Snapshot
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.settings import PlacementPolicy

POLICY = PlacementPolicy()
UNTIL_S = BACK_S + POLICY.failback_s + 180.0
LOOK_S, STEP_S = 30.0, 1.0
FOLLOWED_S = 60.0
"""A rollout is followed second by second for this long, then at every look; so are the loss and the return."""
SEEDS, QUICK_SEEDS = 10, 3
EXPECTED = {"b": 10, "c": 5}
MAKERS: dict[str, Callable[[Snapshot], Policy]] = {
    "by available replicas": lambda _: ByAvailable(),
    "duplicated": lambda _: Duplicated(),
    "ours without reservation": lambda _: WithoutReservation(POLICY),
    "ours, draining first": lambda first: DrainFirst(first, POLICY),
    "prewarm": lambda first: Ours(first, POLICY),
}


@dataclass(frozen=True, slots=True)
class Run:
    """One run: instances per cluster while a was away, and what requests met. Moments in seconds, None: never."""

    away: dict[str, int]
    ready_away: int
    over: int
    first_ready_s: float | None
    all_ready_s: float | None
    home: int
    home_s: float | None
    lost_failover: int
    lost_while_away: int
    lost_failback: int


class Controller:
    """Asks the policy for apps that are not on the way anywhere, and leads rollouts step by step."""

    def __init__(self, world: World, policy: Policy) -> None:
        self.world = world
        self.policy = policy
        self.weights: list[list[tuple[float, dict[str, float]]]] = [[(-60.0, {"a": 1.0})] for _ in range(APPS)]
        self._choice = [Choice({"a": 1}, {"a": 1.0}) for _ in range(APPS)]
        self._waiting = [False] * APPS
        self._states: tuple[MemberState, ...] = ()
        self._chosen_at = 0.0

    def follows(self, now: float) -> bool:
        """Whether something is under way that has to be looked at every second."""
        return any(self._waiting) and now - self._chosen_at < FOLLOWED_S

    def tick(self, now: float) -> None:
        """Look where it is time to, and take every rollout a step further."""
        snapshot = self.world.snapshot(now)
        states = tuple(one.state for one in snapshot.clusters)
        if states != self._states or now % LOOK_S == 0:
            self._states = states
            self._look(snapshot, now)
        for app in range(APPS):
            self._step(app, now)

    def _look(self, snapshot: Snapshot, now: float) -> None:
        dark = {one.name for one in snapshot.clusters if one.state is MemberState.DARK}
        apps = [app for app in range(APPS) if not self._waiting[app] or dark & set(self._choice[app].replicas)]
        for app, choice in self.policy.decide(snapshot, apps, now).items():
            if choice.replicas and choice != self._choice[app]:
                self._choice[app] = choice
                self._chosen_at = now
                self.weights[app].append((now, dict(choice.weights)))

    def _step(self, app: int, now: float) -> None:
        target = {name: self._choice[app].replicas.get(name, 0) for name in ROOM}
        if not self.policy.surge:
            self.world.tell(app, target, now)
            return
        step = next_step(target, self.world.running(app, now))
        self._waiting[app] = step.waiting is not None
        self.world.tell(app, step.wanted, now)


def run(
    data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Callable[..., None]
) -> BenchResult:
    """Ten seeds of every policy; `quick` runs three."""
    del data_dir, plot
    seeds = range(seed, seed + (QUICK_SEEDS if quick else SEEDS))
    rows: list[Row] = []
    found: dict[str, list[Run]] = {}
    for position, name in enumerate(MAKERS):
        progress(position / len(MAKERS), name)
        found[name] = [play(name, each) for each in seeds]
        rows.append(_row(name, found[name]))
    ours = found["prewarm"]
    goals = [
        Goal.at_least("exact", float(APPS), float(min(_right(one) for one in ours))),
        Goal.at_most("over_committed", 0.0, float(max(one.over for one in ours))),
        Goal.at_least("failback", float(APPS), float(min(one.home for one in ours))),
        Goal.at_most("failed_requests", 0.0, float(max(one.lost_failback for one in ours))),
    ]
    return BenchResult("failover", seed, {}, installed_versions(("prewarm-fleet", "numpy")), rows, goals)


def play(name: str, seed: int) -> Run:
    """One policy through the loss and the return; the same draws of start-up times and requests for every policy."""
    world = World(np.random.default_rng([seed, 1]))
    world.begin()
    controller = Controller(world, MAKERS[name](world.snapshot(0.0)))
    _until(BACK_S, controller, from_s=0.0)
    away = {cluster: int(counts.sum()) for cluster, counts in world.told.items() if cluster != "a"}
    ready_away = sum(one.ready < BACK_S and one.there for one in world.instances if one.cluster != "a")
    _until(UNTIL_S, controller, from_s=BACK_S)
    rng = np.random.default_rng([seed, 2])
    served = [
        route([one for one in world.instances if one.app == app], controller.weights[app], until=UNTIL_S, rng=stream)
        for app, stream in enumerate(rng.spawn(APPS))
    ]
    return _summary(world, served, away=away, ready_away=ready_away)


def _until(end_s: float, controller: Controller, *, from_s: float) -> None:
    """Second by second while something is under way, else from look to look."""
    now = from_s
    while now < end_s:
        controller.world.advance(now)
        controller.tick(now)
        controller.world.advance(now)
        near = any(0 <= now - moment < FOLLOWED_S for moment in (LOST_S, BACK_S))
        now += STEP_S if near or controller.follows(now) or now % LOOK_S else LOOK_S


def _summary(world: World, served: list[Served], *, away: dict[str, int], ready_away: int) -> Run:
    moved = [one for one in world.instances if one.cluster != "a" and one.ordered >= LOST_S and one.ready < BACK_S]
    first = {app: min((one.ready for one in moved if one.app == app), default=None) for app in range(APPS)}
    ready = [at for at in first.values() if at is not None]
    known = [BACK_S if at is None else at + LAG_S for at in first.values()]
    back = [one for one in world.instances if one.cluster == "a" and one.ordered >= BACK_S and one.there]
    home = {one.app for one in back if one.ready <= UNTIL_S}
    left = {one.app for one in world.instances if one.cluster != "a" and one.there}
    return Run(
        away=away,
        ready_away=ready_away,
        over=world.most_over,
        first_ready_s=min(ready) - LOST_S if ready else None,
        all_ready_s=max(ready) - LOST_S if len(ready) == APPS else None,
        home=len(home - left),
        home_s=max((one.ready for one in back), default=BACK_S) - BACK_S if len(home - left) == APPS else None,
        lost_failover=sum(one.lost_between(LOST_S, at) for one, at in zip(served, known, strict=True)),
        lost_while_away=sum(one.lost_between(at, BACK_S) for one, at in zip(served, known, strict=True)),
        lost_failback=sum(one.lost_between(BACK_S, UNTIL_S) for one in served),
    )


def _right(one: Run) -> int:
    return sum(min(one.away.get(name, 0), count) for name, count in EXPECTED.items())


def _row(name: str, runs: list[Run]) -> Row:
    def mean(values: list[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return statistics.fmean(known) if len(known) == len(values) else None

    worst = min(runs, key=_right)
    return {
        "policy": name,
        "in b": worst.away["b"],
        "in c": worst.away["c"],
        "ready": min(one.ready_away for one in runs),
        "over-committed": max(one.over for one in runs),
        "first ready s": mean([one.first_ready_s for one in runs]),
        "all ready s": mean([one.all_ready_s for one in runs]),
        "lost in failover": statistics.fmean(one.lost_failover for one in runs),
        "lost later": statistics.fmean(one.lost_while_away for one in runs),
        "home again": min(one.home for one in runs),
        "home s after return": mean([one.home_s for one in runs]),
        "lost in failback": max(one.lost_failback for one in runs),
    }

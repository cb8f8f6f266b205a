"""The published cluster (W1b) with one shift in the middle of a run: what changes in the world, and what is told of it.

The mix swapped: web and batch change shares, 60 % to 25 % and back. A lost cluster is the second one, all its nodes.
Telemetry is told with its ages and with the median of the last starts, as a snapshot of real clusters has them: stale
is what was true ten minutes before, missing is unknown use and room, lying is half the use with the room as it is. The
simulator's own rule reads the truth, as a scheduler reads its own cache, so a decision that is left to the rule does
not suffer from what is told.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gnn.forms import Form
from gnn.graph.features import TABLE, column, encode
from gnn.guard.detector import Detector
from gnn.guard.features import pooled
from gnn.guard.from_env import answer_row
from gnn.guard.watch import Watch, begin, reason, seen
from gnn.observation import Observation
from gnn.published.kernel.layout import LOST_AT, NEXT_JOB, NOW, RUNNING, SLOTS, STARTING, WHOLE_GANGS, State
from gnn.published.measure.build import build
from gnn.published.measure.contest import simulator
from gnn.published.measure.kept import seal
from gnn.published.measure.observe import Observation as Seen
from gnn.published.measure.observe import observe as read
from gnn.published.measure.run import Answer
from gnn.published.policy.answer import answer
from gnn.published.policy.columns import Columns, tuned_columns
from gnn.published.policy.graph import observation
from gnn.published.policy.look import choices, look
from gnn.published.policy.shipped import WEIGHTS_FILE, made_of
from gnn.published.policy.teacher import lesson
from gnn.published.rules.named import Rule, tuned
from gnn.published.world.draw import WARM_UP_S, World
from gnn.published.world.jobs import Jobs, draw_jobs
from gnn.published.world.web import WebPlan
from gnn.student import read_student
from prewarm.domain import FloatArray

SWAPPED = {"web": 0.25 / 0.60, "batch": 0.60 / 0.25}
TREBLED, SLOWER, STALE_S, HALVED = 3.0, 5.0, 600.0, 0.5
LOOKED_EVERY_S = 2.0
STARTS = 8
_STREAM = 717

Act = Callable[[State, int, FloatArray, Observation], NDArray[np.float32]]
"""State, kind of pod, look ahead and observation to an action; a network reads the last only."""


class Shift(StrEnum):
    """What changes."""

    LOST = "a cluster lost"
    MIX = "the mix swapped"
    DEMAND = "demand trebled"
    STARTS = "starts five times slower"
    STALE = "telemetry stale by 10 min"
    MISSING = "telemetry missing"
    LYING = "telemetry lying"


@dataclass(frozen=True, slots=True)
class Shifted:
    """A shift and its time, s."""

    kind: Shift
    at_s: float


def prepared(world: World, shift: Shifted | None) -> World:
    """The world with what the shift changes of the demand and the fleet."""
    if shift is None or shift.kind not in (Shift.LOST, Shift.MIX, Shift.DEMAND):
        return world
    if shift.kind is Shift.LOST:
        return dataclasses.replace(world, lost=np.flatnonzero(world.fleet.cluster == world.fleet.clusters - 1))
    web, batch, gangs = (TREBLED,) * 3 if shift.kind is Shift.DEMAND else (SWAPPED["web"], SWAPPED["batch"], 1.0)
    return dataclasses.replace(world, web=_web(world, shift.at_s, web), jobs=_jobs(world, shift.at_s, batch, gangs))


def _web(world: World, at_s: float, factor: float) -> WebPlan:
    marks = np.union1d(world.web.since_s, [at_s])
    rates = world.web.rates[np.searchsorted(world.web.since_s, marks, side="right") - 1]
    return WebPlan(marks, np.where(marks[:, None] >= at_s, factor, 1.0) * rates)


def _jobs(world: World, at_s: float, batch: float, gangs: float) -> Jobs:
    """Jobs until the shift as they were; then those of other runs of more or less load."""
    cores = world.load * world.fleet.cores
    parts = [world.jobs.take(np.flatnonzero(world.jobs.arrive_s < at_s))]
    for factor, is_gang in ((batch, False), (gangs, True)):
        rng = np.random.default_rng([_STREAM, world.seed, int(is_gang)])
        drawn = draw_jobs(factor * cores, world.duration_s, rng) if factor != 1.0 else world.jobs
        parts.append(drawn.take(np.flatnonzero((drawn.arrive_s >= at_s) & ((drawn.pods > 1) == is_gang))))
    joined = Jobs.of(np.concatenate(column) for column in zip(*(one.columns for one in parts), strict=True))
    return joined.take(np.argsort(joined.arrive_s, kind="stable"))


@dataclass(slots=True)
class Telling:
    """What is told of the state, with ages: the truth until a shift of the telemetry. past: (s, what was seen)."""

    shift: Shifted | None
    past: deque[tuple[float, Seen]] = field(default_factory=deque)

    def __call__(self, state: State) -> tuple[Seen, float]:
        """What is told now, and how old it is."""
        now, told = float(state["f"][0, NOW]), read(state)
        kind = self.shift.kind if self.shift is not None and now >= self.shift.at_s else None
        if self.shift is not None and self.shift.kind is Shift.STALE:
            self.past.append((now, told))
            while len(self.past) > 1 and self.past[1][0] <= now - STALE_S:
                self.past.popleft()
            if kind is not None:
                return dataclasses.replace(self.past[0][1], ask=told.ask), now - self.past[0][0]
        return told, 0.0


@dataclass(frozen=True, slots=True)
class Mind:
    """A policy with the columns of the rule that it is relative to. trained: whether it is the one that ships.

    fallback: the rule that the guard hands over to, the best fixed one that was found, which is another.
    """

    act: Act
    form: Form
    columns: Columns
    trained: bool
    fallback: Rule = field(default_factory=tuned)


def mind() -> Mind:
    """The shipped policy; without one its teacher, which stands in for what was learned from it."""
    columns = tuned_columns()
    if WEIGHTS_FILE.exists():
        student = read_student(WEIGHTS_FILE)
        return Mind(lambda _state, _kind, _ahead, shown: student.act(shown), student.shape.form, columns, trained=True)

    def taught(state: State, kind: int, ahead: FloatArray, _: Observation) -> NDArray[np.float32]:
        told = lesson(columns, Form.RESIDUAL, kind, (state, ahead))
        assert told is not None
        return told

    return Mind(taught, Form.RESIDUAL, columns, trained=False)


def made_of_mind() -> str:
    """Seal of the code and weights that decide what the guard sees in a run."""
    here, learned_part = Path(__file__), Path(__file__).parents[1]
    watched = [learned_part / "guard" / f"{name}.py" for name in ("features", "from_env")]
    weights = [WEIGHTS_FILE] if WEIGHTS_FILE.exists() else []
    return seal((), simulator().encode(), made_of(*weights).encode(), *(one.read_bytes() for one in (here, *watched)))


def as_guarded(observed: Observation, age_s: float, start_s: float | None) -> Observation:
    """As the guard sees it: this world's policy was trained without ages and starts, and is not told them."""
    nodes, at = observed["node/cluster"].copy(), _places()
    told = {"answer_age": age_s, "nodes_age": age_s, "metrics_age": age_s, "start": start_s}
    for name, value in told.items():
        nodes[:, at[name] : at[name] + 2] = _encoded(name, value)
    return {**observed, "node/cluster": nodes}


@dataclass(slots=True)
class Starts:
    """Times that the last few pods took to be ready. under_way: (when it is ready, what it took), not known before."""

    known: set[tuple[int, float]] = field(default_factory=set)
    under_way: list[tuple[float, float]] = field(default_factory=list)
    last: deque[float] = field(default_factory=lambda: deque(maxlen=STARTS))

    @property
    def median_s(self) -> float | None:
        """None before there were as many."""
        return float(np.median(self.last)) if len(self.last) == STARTS else None

    def see(self, state: State) -> None:
        """Take in what has started since, and what is ready by now."""
        sim, now = state[0], float(state["f"][0, NOW])
        for slot in np.flatnonzero((sim["state"] >= STARTING) & (sim["bound"] > 0.0)).tolist():
            bound = float(sim["bound"][slot])
            self._begun((slot, bound), bound, float(sim["ready_at"][slot]) - bound)
        for job in np.flatnonzero(sim["job_state"] == RUNNING).tolist():
            if (took := float(sim["start_s"][job])) > 0.0:  # else it ran before the run began
                self._begun((SLOTS + job, 0.0), now, took)
        for one in [one for one in self.under_way if one[0] <= now]:
            self.under_way.remove(one)
            self.last.append(one[1])

    def _begun(self, pod: tuple[int, float], at_s: float, took_s: float) -> None:
        if pod not in self.known:
            self.known.add(pod)
            self.under_way.append((at_s + took_s, took_s))


def misled(observed: Observation, kind: Shift | None) -> Observation:
    """What missing or lying telemetry makes of use and room."""
    if kind not in (Shift.MISSING, Shift.LYING):
        return observed
    nodes, at = observed["node/cluster"].copy(), _places()
    if kind is Shift.MISSING:
        for name in ("free_cpu", "free_memory", "used_cpu", "used_memory"):
            nodes[:, at[name]], nodes[:, at[name] + 1] = 0.0, 1.0
    if kind is Shift.LYING:
        for name in ("used_cpu", "used_memory"):
            nodes[:, at[name]] *= HALVED
    return {**observed, "node/cluster": nodes}


@dataclass(slots=True)
class GuardedPlay:
    """`Asked`: the policy under the guard. handed_s: when the rule took over. rows: what the guard saw, if kept."""

    mind: Mind
    telling: Telling
    detector: Detector | None = None
    names: tuple[str, ...] = ()
    handed_s: float | None = None
    why: str = ""
    keep: bool = False
    starts: Starts = field(default_factory=Starts)
    at: list[float] = field(default_factory=list)
    rows: list[FloatArray] = field(default_factory=list)
    told: list[FloatArray] = field(default_factory=list)
    _watch: Watch | None = None

    def __call__(self, state: State, kind: int) -> Answer:
        """The answer to the pod that the state has stopped before."""
        columns, now = self.mind.columns, float(state["f"][0, NOW])
        if self.handed_s is not None:
            return Answer(self.mind.fallback.table[kind])
        rule = Answer(columns.table[kind])
        choice = choices(state) >= 2
        self.starts.see(state)
        looks = now >= WARM_UP_S and (not self.at or now - self.at[-1] >= LOOKED_EVERY_S)
        if not (choice or looks):
            return rule
        state["weights"][0, kind] = rule.weights
        room, factors, ahead = look(state)
        told, age_s = self.telling(state)
        shift = self.telling.shift
        lies = shift.kind if shift is not None and now >= shift.at_s else None
        shown = misled(observation(state, room, columns.values(kind, factors, ahead), seen=told), lies)
        action = self.mind.act(state, kind, ahead, shown)
        if looks and self._look(as_guarded(shown, age_s, self.starts.median_s), action, now):
            return Answer(self.mind.fallback.table[kind])
        if not choice:
            return rule
        return answer(columns, self.mind.form, kind, action)

    def _look(self, shown: Observation, action: NDArray[np.float32], now: float) -> bool:
        """Take it in; whether the guard hands over now."""
        row = pooled(shown)
        self.at.append(now)
        if self.keep:
            self.rows.append(row)
            self.told.append(answer_row(action))
        if self.detector is None:
            return False
        if self._watch is None:
            self._watch = begin(self.detector, now)
        self._watch, reading = seen(self.detector, self._watch, row, now)
        if reading.alarms:
            self.handed_s, self.why = now, reason(reading, self.names)
        return reading.alarms


def begun(world: World, columns: Columns, shift: Shifted | None) -> State:
    """A run at its start."""
    state = build(world)
    state["weights"][0] = columns.table
    state["f"][0, WHOLE_GANGS] = 1.0
    if shift is not None:
        state["f"][0, LOST_AT] = shift.at_s
    return state


def slow_down(state: State, shift: Shifted) -> None:
    """From now on starts take longer, where that is the shift."""
    if shift.kind is Shift.STARTS:
        state["start_table"] *= SLOWER
        state["start_s"][0, int(state["i"][0, NEXT_JOB]) :] *= SLOWER


@cache
def _places() -> dict[str, int]:
    """Encoded column of each feature of a cluster."""
    out, at = {}, 0
    for feature in TABLE["cluster"]:
        out[feature.name] = at
        at += 1 + feature.flagged
    return out


def _encoded(name: str, value: float | None) -> tuple[float, float]:
    """A cluster's feature and its flag."""
    raw = np.zeros((1, len(TABLE["cluster"])))
    raw[0, column("cluster", name)] = np.nan if value is None else value
    row = encode("cluster", raw, Counter())[0]
    return float(row[_places()[name]]), float(row[_places()[name] + 1])

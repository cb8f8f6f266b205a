"""The learned policy behind federation's seam: a question in, weights out, or a reason why not.

In the process of the service and not in a worker: at the size of one question the student answers in about the time
that sending it elsewhere takes (`prewarm bench serving` measures both). Nothing can interrupt it there, so the clock is
looked at between its steps, and a scorer that was late several times in a row is left alone for a while.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from federation.placement.scorer import FACTORS, Declined, Question, Weighing
from federation.snapshot import Snapshot
from gnn.fleet.question import NO_FACTS, question_observation
from gnn.forms import BOUND, Form, temperature_of, weights_of
from gnn.graph.build import GraphBuilder
from gnn.observation import Observation, unfit
from gnn.shape import NetworkShape
from gnn.student import Student, read_student
from prewarm.domain import FloatArray, InputError

DEADLINE_S = 0.010
LATE_IN_A_ROW = 3
REST_S = 5.0
SHIPPED = "placement-fleet.npz"
MOST_BYTES = 2_000_000
_FAILURES = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)

Clock = Callable[[], float]


@dataclass(slots=True)
class Pace:
    """Whether the scorer keeps its deadline. took_s: of its last answers; late: how many in a row were late."""

    clock: Clock
    deadline_s: float = DEADLINE_S
    begun: float = 0.0
    late: int = 0
    rests_until: float = float("-inf")
    took_s: deque[float] = field(default_factory=lambda: deque(maxlen=500))

    def begin(self) -> Declined | None:
        """A question has come; a refusal while it rests."""
        self.begun = self.clock()
        if self.begun < self.rests_until:
            return Declined(f"over the deadline {LATE_IN_A_ROW} times in a row, left alone for a while")
        return None

    def check(self, *, last: bool = False) -> Declined | None:
        """After a step: a refusal where the deadline is over."""
        now = self.clock()
        took = now - self.begun
        over = took > self.deadline_s
        if over or last:
            self.took_s.append(took)
        if not over:
            self.late = 0 if last else self.late
            return None
        self.late += 1
        if self.late >= LATE_IN_A_ROW:
            self.rests_until, self.late = now + REST_S, 0
        return Declined(f"over the deadline of {1e3 * self.deadline_s:g} ms ({1e3 * took:.1f} ms)")


class LearnedScorer:
    """A student of the federation's own factors. It never raises for a question; one thread asks it."""

    name = "learned"

    def __init__(self, student: Student, version: str, clock: Clock, *, deadline_s: float = DEADLINE_S) -> None:
        """InputError where the student does not weigh the factors of today."""
        check_factors(student.shape)
        self.version = version
        self.form = student.shape.form
        self.pace = Pace(clock, deadline_s)
        self._student = student
        self._rule = np.array(student.shape.rule.weights, np.float64)
        self._temperature = student.shape.rule.temperature
        self._builder = GraphBuilder(candidates=False)

    def warm(self, seen: Snapshot) -> None:
        """Take in a fleet between questions, so that the next one pays only for what changed since."""
        self._builder.build(seen, NO_FACTS)

    def weigh(self, question: Question) -> Weighing | Declined:
        """Weights for this question, or why there are none."""
        seen = self.look(question)
        return seen if isinstance(seen, Declined) else self.judge(seen)

    def look(self, question: Question) -> Observation | Declined:
        """The question as the network sees it; `judge` comes next."""
        if (resting := self.pace.begin()) is not None:
            return resting
        try:
            seen = question_observation(question, self._builder)
        except _FAILURES as error:
            return Declined(f"the question cannot be read: {type(error).__name__}: {error}")
        if (why := unfit(seen)) is not None:
            return Declined(f"the question is unfit: {why}")
        return self.pace.check() or seen

    def judge(self, seen: Observation) -> Weighing | Declined:
        """What the network makes of what `look` gave."""
        try:
            action = self._student.act(seen)
        except _FAILURES as error:
            return Declined(f"the network failed: {type(error).__name__}: {error}")
        if not np.isfinite(action).all():
            return Declined("the network's answer is not finite")
        return self.pace.check(last=True) or self.weighing(seen, action)

    def weighing(self, seen: Observation, action: NDArray[np.float32]) -> Weighing:
        """An action as weights, temperature and residual; what it adds to the weighted factors is the residual's."""
        raw = action.astype(np.float64)
        if self.form is Form.WEIGHTS:
            weights, heat = weights_of(raw, self._rule)[0], float(temperature_of(raw, self._temperature)[0])
            return Weighing(weights, heat, self.name, self.version)
        weights = self._rule / self._rule.sum()
        residual = BOUND * raw[:, 0] if self.form is Form.RESIDUAL else _toward(seen, raw[:, 0], weights)
        return Weighing(weights, self._temperature, self.name, self.version, residual)

    @property
    def deadline_ms(self) -> float:
        """What it keeps within."""
        return 1e3 * self.pace.deadline_s

    def took_ms(self) -> dict[str, float]:
        """P50 and P99 of its last answers, late ones included; empty before the first."""
        if not self.pace.took_s:
            return {}
        p50, p99 = np.percentile(1e3 * np.array(self.pace.took_s), [50, 99]).tolist()
        return {"p50": p50, "p99": p99}


def _toward(seen: Observation, action: FloatArray, weights: FloatArray) -> FloatArray:
    """What must be added to the rule's scores to have the network's own, (c,), as far as the bound allows.

    A direct score lies anywhere in 0..1, while a decision may leave the rule's by `BOUND` only; so what is added is
    taken about its middle, which changes no order, and held at the bound.
    """
    score = (action + 1.0) / 2.0
    apart = score - seen["ask/values"].astype(np.float64) @ weights
    held: FloatArray = np.clip(apart - (apart.max() + apart.min()) / 2.0, -BOUND, BOUND)
    return held


def check_factors(shape: NetworkShape) -> None:
    """InputError where the network was not made for the factors of the federation, in their order."""
    if shape.factors != FACTORS:
        told = ", ".join(shape.factors) or "none named"
        raise InputError(f"weights: made for the factors {told}; the placement's are {', '.join(FACTORS)}; train anew")
    if len(shape.rule.weights) != len(FACTORS):
        raise InputError(f"weights: a rule of {len(shape.rule.weights)} weights for {len(FACTORS)} factors")


def read_scorer(path: Path, clock: Clock, *, deadline_s: float = DEADLINE_S) -> LearnedScorer:
    """The scorer of a file of weights; its version is the file's sha256. InputError where the file is none."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: weights must be at most {MOST_BYTES:,} bytes, are {path.stat().st_size:,}")
        version = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    return LearnedScorer(read_student(path), version, clock, deadline_s=deadline_s)


def shipped(name: str = SHIPPED) -> Path:
    """Where the package's weights are, present or not."""
    return Path(str(files("gnn"))) / "models" / name


def load(weights: Path | None = None, *, deadline_s: float = DEADLINE_S) -> LearnedScorer:
    """The entry point `learned` of `prewarm.scorers`: the given weights, else those that ship. InputError without."""
    path = weights or shipped()
    if not path.exists():
        raise InputError(f"placement.scorer: there are no weights at {path}")
    return read_scorer(path, time.perf_counter, deadline_s=deadline_s)

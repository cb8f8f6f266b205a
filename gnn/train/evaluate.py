"""Weights against the tuned rule of their world, world by world, with an interval of the difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnn.observation import Observation, unfit
from gnn.student import Student, read_student
from gnn.train.questions import zero
from gnn.train.task import Action, Task, Verdict
from prewarm.domain import FloatArray, InputError

_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Evaluation:
    """score: mean paired difference from the rule, higher is better; low, high: its 95 % interval by resampling seeds.
    by_seed: of each. parts: means over seeds of what the world measures. declined: questions left to the rule.
    """

    seeds: tuple[int, ...]
    score: float
    low: float
    high: float
    by_seed: tuple[float, ...]
    parts: dict[str, float]
    declined: int


def weights_for(task: Task, path: Path) -> Student:
    """The weights of a file. Raises InputError where there are none, or they were trained for something else."""
    if not path.exists():
        raise InputError(f"{path}: no weights; train them: prewarm train placement --task {task.name}")
    student = read_student(path)
    if len(student.shape.rule.weights) != len(task.factors):
        raise InputError(
            f"{path}: weights for {len(student.shape.rule.weights)} factors, {task.name} has {len(task.factors)}"
        )
    if student.shape.rule != task.rule:
        raise InputError(f"{path}: trained beside another rule than that of {task.name} today; train anew")
    return student


def evaluate(task: Task, student: Student, seeds: Sequence[int], progress: Callable[[float, str], None]) -> Evaluation:
    """Play the worlds of the seeds, one after another."""
    acting = _Acting(student, len(task.factors))
    verdicts: list[Verdict] = []
    for number, seed in enumerate(seeds):
        progress(number / len(seeds), f"seed {seed}")
        verdicts.append(task.judge(acting, [seed]))
    scores = np.array([one.score for one in verdicts])
    low, high = interval(scores, np.random.default_rng(0))
    parts = {name: float(np.nanmean([one.parts[name] for one in verdicts])) for name in verdicts[0].parts}
    by_seed = tuple(scores.tolist())
    return Evaluation(tuple(seeds), float(scores.mean()), low, high, by_seed, parts, acting.declined)


def apart(ours: Evaluation, theirs: Evaluation) -> tuple[float, float, float]:
    """How much more the first scores on the same seeds, and the 95 % interval of that."""
    differences = np.array(ours.by_seed) - np.array(theirs.by_seed)
    low, high = interval(differences, np.random.default_rng(0))
    return float(differences.mean()), low, high


def interval(differences: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """95 % of the means of as many differences drawn anew (percentile bootstrap)."""
    drawn = differences[rng.integers(len(differences), size=(_RESAMPLES, len(differences)))].mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


class _Acting:
    """The student, and the rule for what it must not see."""

    def __init__(self, student: Student, factors: int) -> None:
        self.student, self.factors, self.declined = student, factors, 0

    def __call__(self, observation: Observation) -> Action:
        """The action."""
        if unfit(observation) is not None:
            self.declined += 1
            return zero(self.student.shape.form, self.factors, observation)
        return self.student.act(observation)

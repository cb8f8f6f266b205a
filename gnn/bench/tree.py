"""`prewarm bench tree`: the shipped policy as a tree of a few thresholds, and how often it places the same.

Simulated, in the service's own world (`fleet`). The tree imitates the policy's answers on training episodes, from what
a person would ask of a workload. Fidelity is measured on evaluation worlds along the policy's own episodes: the share
of questions between two clusters or more where the tree's weights place every instance where the policy's do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from federation.placement.scorer import FACTORS, Question
from gnn.fleet.draw import KINDS
from gnn.fleet.env import FleetEnv, answer
from gnn.fleet.outcome import size_of
from gnn.fleet.play import divided
from gnn.scorer import shipped
from gnn.student import Student, read_student
from gnn.train.seeds import EVALUATION
from gnn.tree import Tree, grow
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import FloatArray, InputError, IntArray

FIDELITY = 0.95
LEAVES = (1, 8, 16)
"""The last is the one with the goal; with one leaf every workload gets the same weights."""
FROM = 40_000
"""Training seeds that no policy and no guard was made from."""
EPISODES, QUICK_EPISODES = 80, 20
FEATURES = (
    "calls/s a core asked for",
    "calls/s",
    "instances",
    "cores an instance",
    "clusters in question",
    "spread of nearness",
    "spread of cheapness",
    "regions that call",
)
OUTPUTS = (*FACTORS, "spread temperature")
_NEAR, _CHEAP = FACTORS.index("network"), FACTORS.index("price")


def run(
    data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Callable[[float, str], None]
) -> BenchResult:
    """Trees of 1, 8 and 16 leaves over ten evaluation seeds of four kinds; `quick` takes two seeds."""
    del data_dir, plot
    student = _shipped()
    first = FROM + 1_000 * seed
    told = list(_told(student, range(first, first + (QUICK_EPISODES if quick else EPISODES)), progress))
    rows, wanted = (np.array([one[part] for one in told]) for part in (0, 1))
    trees = [grow(rows, wanted, FEATURES, leaves=many) for many in LEAVES]
    same = _compared(student, trees, EVALUATION[: 2 if quick else 10], progress)
    table: list[Row] = [
        {"leaves": tree.leaves, "fitted on": len(rows), "questions": len(same), "same placement %": 100.0 * share}
        for tree, share in zip(trees, same.mean(axis=0).tolist(), strict=True)
    ]
    table += [{f"the tree of {trees[-1].leaves} leaves": line} for line in trees[-1].lines(OUTPUTS)]
    goals = [Goal.at_least("tree_fidelity", FIDELITY, float(same[:, -1].mean()))]
    return BenchResult("tree", seed, {}, installed_versions(("prewarm-fleet", "numpy")), table, goals)


def features_of(question: Question) -> FloatArray:
    """What the tree looks at, in the order of `FEATURES`. A core asked for comes with 4 GiB (`size_of`)."""
    workload, values = question.workload, question.values
    calls = workload.demand_per_s or 0.0
    return np.array(
        [
            calls / (workload.replicas * size_of(workload)),
            calls,
            workload.replicas,
            workload.requests["cpu"] / 1e3,
            len(values),
            np.ptp(values[:, _NEAR]),
            np.ptp(values[:, _CHEAP]),
            len(workload.callers),
        ]
    )


class Asking(FleetEnv):
    """The world with its question in the open, and what an answer to it would do."""

    @property
    def question(self) -> Question:
        """What is asked now."""
        assert self._asked is not None, "the episode is over; reset first"
        return self._asked.question

    def placed(self, action: FloatArray) -> IntArray:
        """Instances by cluster (C,) if this (F + 1,) were the answer."""
        assert self._asked is not None, "the episode is over; reset first"
        return divided(self._asked, answer(action[None].astype(np.float32), self.rule)).counts


def _played(student: Student, env: Asking, seed: int) -> Iterator[FloatArray]:
    """The policy's answer (F + 1,) to each question of an episode, while the question is open."""
    seen, _ = env.reset(seed=seed)
    over = False
    while not over:
        action = student.act(seen)
        yield action[0].astype(np.float64)
        seen, _, ended, cut, _ = env.step(action)
        over = ended or cut


def _told(
    student: Student, seeds: Sequence[int], progress: Callable[[float, str], None]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Features and answer of every question of these episodes."""
    for number, seed in enumerate(seeds):
        progress(0.5 * number / len(seeds), "the policy's answers")
        env = Asking(student.shape.rule, seed)
        for told in _played(student, env, seed):
            yield features_of(env.question), told


def _compared(
    student: Student, trees: Sequence[Tree], seeds: Sequence[int], progress: Callable[[float, str], None]
) -> FloatArray:
    """1 where a tree places as the policy does, (questions, trees)."""
    found = []
    for number, seed in enumerate(seeds):
        progress(0.5 + 0.5 * number / len(seeds), f"seed {seed}")
        for kind in KINDS:
            env = Asking(student.shape.rule, seed, kind)
            for told in _played(student, env, seed):
                if len(env.question.clusters) > 1:
                    wanted = env.placed(told)
                    row = features_of(env.question)
                    found.append([float(np.array_equal(env.placed(tree.answer(row)), wanted)) for tree in trees])
    return np.array(found)


def _shipped() -> Student:
    path = shipped()
    if not path.exists():
        raise InputError(f"{path}: there are no weights to look into; train placement --task fleet --install first")
    return read_student(path)

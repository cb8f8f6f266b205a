"""Training a placement policy in a world: imitate its teacher, then try and learn, judge, keep the best, export.

The loop knows no world and no clock but the one that ends it: what is learned depends on the seed and the number of
episodes only. Weights are chosen on validation seeds, which are neither training nor evaluation.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from federation.placement.scorer import Declined
from gnn.ddpg import Losses
from gnn.distill import distil
from gnn.networks import Actor
from gnn.observation import Observation
from gnn.shape import NetworkShape
from gnn.train.judging import Judging, judged
from gnn.train.lessons import Lessons, Teaching, collect
from gnn.train.plan import Plan
from gnn.train.questions import many, transitions, zero
from gnn.train.run import CHECKPOINT, Run, fresh, save, take_up
from gnn.train.spread import Here, Spread
from gnn.train.task import Action, PlacementEnv, Task

Progress = Callable[[float, str], None]
CURVE = "curve.jsonl"
_PROBES = 32
_GRACE_S = 5.0
_FOR_LESSONS = 0.5
_AT_A_TIME = 50


@dataclass(frozen=True, slots=True)
class Trained:
    """weights: the file that was exported. score, parts: of the best weights on the validation seeds. curve: one entry
    a judgement. seconds: of wall clock.
    """

    weights: Path
    score: float
    parts: dict[str, float]
    curve: list[dict[str, Any]]
    seconds: float
    episodes: int
    questions: int
    updates: int
    shape: NetworkShape


def train(
    task: Task,
    plan: Plan,
    folder: Path,
    *,
    progress: Progress,
    seed: int,
    resume: bool = False,
    spread: Spread | None = None,
) -> Trained:
    """Train in `folder` (checkpoint, curve, weights); with `resume` go on from its checkpoint. `spread`: who plays
    lessons and judges, this process if nobody; the result is the same.

    Raises InputError where there is nothing to resume or the plan is another one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    env = task.make(0)
    plan = dataclasses.replace(plan, learner=dataclasses.replace(plan.learner, seed=seed))
    trainer = _Trainer(task, plan, env, folder, progress=progress, seed=seed)
    trainer.spread = spread or trainer.spread
    if resume:
        trainer.resume()
    else:
        trainer.warm_up()
    trainer.explore()
    return trainer.export()


class _Trainer:
    """The state of one call of `train`."""

    def __init__(
        self, task: Task, plan: Plan, env: PlacementEnv, folder: Path, *, progress: Progress, seed: int
    ) -> None:
        self.task, self.plan, self.env, self.folder, self.progress = task, plan, env, folder, progress
        self.begun = time.monotonic()
        self.saved = self.begun
        self.last: Losses | None = None
        self.violated: list[float] = []
        self.shape = NetworkShape(task.rule, env.form, plan.encoder, task.factors)
        self.run: Run = fresh(plan, self.shape, seed)
        self.spread: Spread = Here()

    # --- the parts of a run

    def warm_up(self) -> None:
        """Imitate the teacher, keep what came of its answers, and judge that. Where time is short, half of it goes to
        lessons and what is left to imitation.
        """
        run, plan = self.run, self.plan
        self.progress(0.0, "lessons")
        teaching = Teaching(self.task, plan, self.env)
        lessons = collect(teaching, run.first_seed, self.spread, lambda: self._over(_FOR_LESSONS))
        run.counters.episodes += lessons.episodes
        for one in lessons.transitions:
            run.agent.remember(one)
        if lessons.seen:
            self._imitate(lessons)
        self._judge()
        self._save()

    def resume(self) -> None:
        """Take up the checkpoint; the clock goes on from what the run has used."""
        take_up(self.run, self.folder / CHECKPOINT, self._told())
        self.begun -= self.run.counters.seconds
        self._write_curve()

    def explore(self) -> None:
        """Episode after episode until time or questions are over. An episode is played to its end, so that the
        checkpoint is between two; one that takes much too long is broken off, and a resumed run plays it again.
        """
        run, plan = self.run, self.plan
        while not self._over() and (plan.questions is None or run.counters.questions < plan.questions):
            if not self._episode():
                return
            if run.agent.updates >= run.counters.judge_at:
                self._judge()
            if time.monotonic() - self.saved > plan.save_every_s:
                self._save()
        self._save()

    def export(self) -> Trained:
        """Judge what is there, and write the best weights as the service reads them."""
        run, shape = self.run, self.shape
        if run.agent.updates > (run.curve[-1]["updates"] if run.curve else -1):
            self._judge()
        actor = Actor(shape)
        actor.load_state_dict(run.best)
        weights = self.folder / f"placement-{self.task.name}.npz"
        distil(actor, shape, weights, probes=[one.before for one in run.agent.replay.kept[-_PROBES:]])
        best = max(run.curve, key=lambda entry: entry["score"])
        counters = run.counters
        return Trained(
            weights, best["score"], best["parts"], run.curve, self._seconds(),
            episodes=counters.episodes, questions=counters.questions, updates=run.agent.updates, shape=shape,
        )  # fmt: skip

    # --- their steps

    def _imitate(self, lessons: Lessons) -> None:
        """Behaviour cloning, at a rate of its own."""
        agent = self.run.agent
        (group,) = agent.actor_optimiser.param_groups
        group["lr"] = self.plan.imitation_rate
        for done in range(0, self.plan.imitations, _AT_A_TIME):
            if self._over():
                break
            self.progress(self._gone(), "imitation")
            agent.imitate(lessons.seen, lessons.answers, min(_AT_A_TIME, self.plan.imitations - done))
        group["lr"] = self.plan.learner.actor_rate

    def _episode(self) -> bool:
        """One training episode; False where time was over before it was."""
        run, env = self.run, self.env
        observation, _ = env.reset(seed=run.next_seed())
        self.violated = []
        over = False
        while not over:
            if self._late():
                return False
            action, taught = self._action(observation), env.teach() if self.plan.learner.anchor else None
            told = env.step(action)
            for one in transitions(env.form, observation, action, told, taught):
                run.agent.remember(one)
                self.violated.append(one.violation)
            run.counters.questions += many(observation)
            run.counters.due += many(observation) / self.plan.update_every
            self._learn()
            observation, over = told[0], told[2] or told[3]
        if self.violated:
            run.agent.see_violations(float(np.mean(self.violated)))
        self._show()
        return True

    def _action(self, observation: Observation) -> Action:
        """What is tried; the rule where the learner declines."""
        action = self.run.agent.explore(observation)
        return self._rule(observation) if isinstance(action, Declined) else action

    def _rule(self, observation: Observation) -> Action:
        return zero(self.env.form, len(self.task.factors), observation)

    def _learn(self) -> None:
        counters, agent = self.run.counters, self.run.agent
        if len(agent.replay) < self.plan.begin:
            counters.due = 0.0
            return
        while counters.due >= 1.0 and not self._late():
            counters.due -= 1.0
            self.last = agent.update() or self.last

    def _judge(self) -> None:
        """Play the validation worlds without noise, note how it went, and keep the weights if none were better."""
        run = self.run
        judging = Judging(self.task, self.shape, run.agent.actor.state_dict())
        verdict = judged(judging, self.plan.validation, self.spread)
        if verdict.score > run.best_score:
            run.best_score = verdict.score
            run.best = {name: one.clone() for name, one in run.agent.actor.state_dict().items()}
        run.counters.judge_at = run.agent.updates + self.plan.judge_every
        run.curve.append(self._entry(verdict.score, dict(verdict.parts)))
        self._write_curve()

    def _entry(self, score: float, parts: dict[str, float]) -> dict[str, Any]:
        agent, counters = self.run.agent, self.run.counters
        return {
            "seconds": round(self._seconds(), 1),
            "episodes": counters.episodes,
            "questions": counters.questions,
            "updates": agent.updates,
            "score": float(score),
            "parts": {name: float(value) for name, value in parts.items()},
            "critic_loss": None if self.last is None else self.last.critic,
            "value": None if self.last is None else self.last.value,
            "price": agent.price.multiplier,
            "violations": float(np.mean(self.violated)) if self.violated else None,
            "noise": agent.noise.sigma,
        }

    def _write_curve(self) -> None:
        lines = b"".join(orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE) for entry in self.run.curve)
        (self.folder / CURVE).write_bytes(lines)

    def _save(self) -> None:
        self.run.counters.seconds = self._seconds()
        save(self.run, self.folder / CHECKPOINT, self._told())
        self.saved = time.monotonic()

    def _told(self) -> dict[str, Any]:
        """What must be the same for a run to be the same; how long it may take is free."""
        free = ("seconds", "questions", "save_every_s")
        plan = {name: value for name, value in dataclasses.asdict(self.plan).items() if name not in free}
        started = {"task": self.task.name, "form": self.env.form, "first_seed": self.run.first_seed}
        return started | plan

    def _seconds(self) -> float:
        return time.monotonic() - self.begun

    def _over(self, share: float = 1.0) -> bool:
        return self.plan.seconds is not None and self._seconds() >= share * self.plan.seconds

    def _late(self) -> bool:
        return self.plan.seconds is not None and self._seconds() >= 1.1 * self.plan.seconds + _GRACE_S

    def _gone(self) -> float:
        """Share of the run that is over."""
        plan = self.plan
        shares = [self._seconds() / plan.seconds] if plan.seconds else []
        shares += [self.run.counters.questions / plan.questions] if plan.questions else []
        return min(1.0, max(shares, default=0.0))

    def _show(self) -> None:
        self.progress(self._gone(), f"{self.run.counters.questions} questions, best {self.run.best_score:+.4f}")

"""From an action to a cluster, and from trained weights to a policy of this world; no torch, no gymnasium."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gnn.forms import Form, Rule, scores_of
from gnn.observation import Observation
from gnn.sizes.admission import Admitting
from gnn.sizes.learning.observe import Observer
from gnn.sizes.play import OneByOne, Policy, Question
from gnn.sizes.rules.weighted import Settings, tuned
from gnn.sizes.world import World
from gnn.student import read_student
from prewarm.domain import Float32Array

WEIGHTS_FILE = Path(__file__).parents[2] / "models" / "placement-sizes.npz"
Act = Callable[[Observation], Float32Array]


def answered(form: Form, rule: Rule, observation: Observation, action: Float32Array) -> int:
    """Row of the pair that an action chooses, the first of equals."""
    scores = scores_of(
        form,
        action,
        pairs=observation["ask/pairs"][0],
        values=observation["ask/values"],
        rule=np.array(rule.weights),
    )
    return int(np.argmax(scores))


@dataclass(slots=True)
class Asked:
    """Chooses by a policy that reads observations; keeps what is fixed in the world that it was asked about last."""

    act: Act
    form: Form
    settings: Settings
    seen: list[tuple[World, Observer]] = field(default_factory=list)

    def choose(self, question: Question) -> int:
        """The cluster."""
        world = question.offer.world
        if not self.seen or self.seen[0][0] is not world:
            self.seen[:] = [(world, Observer(world, self.settings.holes))]
        observation = self.seen[0][1].observe(question)
        row = answered(self.form, self.settings.rule, observation, self.act(observation))
        return int(question.candidates[row])


def asked(act: Act, form: Form, settings: Settings, name: str) -> Policy:
    """A policy from an actor, behind the rule's admission."""
    return Admitting(OneByOne(name, Asked(act, form, settings).choose), name, settings.spared)


def learned(path: Path = WEIGHTS_FILE, name: str = "learned") -> Policy:
    """The policy of trained weights. Raises InputError where the file holds none."""
    student = read_student(path)
    return asked(student.act, student.shape.form, tuned(), name)

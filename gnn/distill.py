"""From the trained actor to what the service runs: its weights as plain arrays, checked against it before they ship."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch

from gnn.encoder import tensors
from gnn.networks import Actor
from gnn.observation import Observation
from gnn.shape import NetworkShape
from gnn.student import Student, read_student, write_student
from prewarm.domain import PrewarmError

CLOSE = 1e-5
"""Most that student and actor may differ in any number of an action."""


def distil(actor: Actor, shape: NetworkShape, path: Path, *, probes: Iterable[Observation]) -> Student:
    """Write the student, read it back, and hold it against the actor on some observations.

    Raises PrewarmError where they differ by more than `CLOSE`; the file is then removed.
    """
    write_student(path, shape, {name: one.numpy() for name, one in actor.state_dict().items()})
    student = read_student(path)
    worst = max((difference(actor, student, one) for one in probes), default=0.0)
    if not worst <= CLOSE:
        path.unlink()
        raise PrewarmError(f"{path}: the student differs from the actor by {worst:.1e}, allowed are {CLOSE:.0e}")
    return student


def difference(actor: Actor, student: Student, observation: Observation) -> float:
    """The largest difference between the two actions."""
    with torch.no_grad():
        wanted = actor(tensors(observation)).numpy()
    return float(np.abs(student.act(observation) - wanted).max(initial=0.0))

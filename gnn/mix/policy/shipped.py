"""The policy that ships."""

from __future__ import annotations

from pathlib import Path

from gnn.mix.policy.answer import tuned_base
from gnn.mix.policy.played import Played
from gnn.mix.rules.factors import FACTORS
from gnn.student import read_student
from prewarm.domain import InputError

WEIGHTS_FILE = Path(__file__).parents[2] / "models" / "placement-mix.npz"
FACTOR_NAMES = tuple(one.name for one in FACTORS)


def learned(file: Path = WEIGHTS_FILE) -> Played | None:
    """The learned policy in numpy, None where no weights ship. Raises InputError where they are of another rule."""
    if not file.exists():
        return None
    student, base = read_student(file), tuned_base()
    if student.shape.factors != FACTOR_NAMES or student.shape.rule != base.rule:
        raise InputError(f"{file}: made for another rule; train placement --task mix again")
    return Played(student.act, base)

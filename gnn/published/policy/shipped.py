"""The policy that ships, and the teacher that it began from, as those who take part in the comparison."""

from __future__ import annotations

from pathlib import Path

from gnn.published.measure.contest import Contender
from gnn.published.measure.kept import seal, sources
from gnn.published.policy.columns import tuned_columns
from gnn.published.policy.played import Played, Taught
from gnn.student import read_student
from prewarm.domain import InputError

WEIGHTS_FILE = Path(__file__).parents[2] / "models" / "placement-published.npz"
TEACHER = "room plan (teacher)"


def learned(file: Path = WEIGHTS_FILE) -> Contender | None:
    """The learned policy in numpy, None where no weights ship. Raises InputError where they are of another rule."""
    if not file.exists():
        return None
    student, columns = read_student(file), tuned_columns()
    if student.shape.factors != columns.names or student.shape.rule != columns.weights:
        raise InputError(f"{file}: made for another rule; train placement --task published again")
    return Contender("learned policy", Played(student.act, student.shape.form, columns), made_of=made_of(file))


def teacher() -> Contender:
    """The rule of the policy led by the room plan: what imitation alone could reach."""
    return Contender(TEACHER, Taught(tuned_columns()), made_of=made_of())


def made_of(*files: Path) -> str:
    """Seal of the code that looks and answers, and of files beside it, such as weights."""
    here, learned_part = Path(__file__).parent, Path(__file__).parents[2]
    asked = [learned_part / f"{name}.py" for name in ("student", "attend", "forms", "observation", "shape", "wiring")]
    return seal(sources(here, learned_part / "graph", *asked, *files))

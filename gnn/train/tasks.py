"""The worlds by name, imported when they are asked for; one whose file is not there is not listed."""

from __future__ import annotations

import importlib
import importlib.util

from gnn.forms import Form
from gnn.train.task import Task
from prewarm.domain import InputError

_TASKS = {
    "fleet": "gnn.fleet.task",
    "published": "gnn.published.task",
    "sizes": "gnn.sizes.task",
    "mix": "gnn.mix.task",
}
"""name -> module with `FORMS`, the world's own form of an action first, and a function `task(form)`."""


def names() -> tuple[str, ...]:
    """Every world that is here."""
    return tuple(name for name, module in _TASKS.items() if _is_here(module))


def find(name: str, form: Form | None = None) -> Task:
    """A world by its name, whose actions have this form, its own where none is named.

    Raises InputError where there is none of this name, or where the world does not know the form.
    """
    if name not in names():
        raise InputError(f"task {name!r} is not one of {', '.join(names())}")
    module = importlib.import_module(_TASKS[name])
    forms: tuple[Form, ...] = module.FORMS
    if form is not None and form not in forms:
        raise InputError(f"form {form.value!r}: task {name!r} knows {', '.join(forms)} only")
    made: Task = module.task(form or forms[0])
    return made


def _is_here(module: str) -> bool:
    package = module.rpartition(".")[0]
    return importlib.util.find_spec(package) is not None and importlib.util.find_spec(module) is not None

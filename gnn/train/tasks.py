"""The worlds by name, imported when they are asked for; one whose file is not there is not listed."""

from __future__ import annotations

import importlib
import importlib.util

from gnn.train.task import Task
from prewarm.domain import InputError

_TASKS = {
    "fleet": "gnn.fleet.task",
    "published": "gnn.published.task",
    "sizes": "gnn.sizes.task",
    "mix": "gnn.mix.task",
}
"""name -> module with a function `task()`."""


def names() -> tuple[str, ...]:
    """Every world that is here."""
    return tuple(name for name, module in _TASKS.items() if _is_here(module))


def find(name: str) -> Task:
    """A world by its name. Raises InputError where there is none of this name."""
    if name not in names():
        raise InputError(f"task {name!r} is not one of {', '.join(names())}")
    made: Task = importlib.import_module(_TASKS[name]).task()
    return made


def _is_here(module: str) -> bool:
    package = module.rpartition(".")[0]
    return importlib.util.find_spec(package) is not None and importlib.util.find_spec(module) is not None

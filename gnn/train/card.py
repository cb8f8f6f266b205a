"""The card that ships beside trained weights: made from what was seen in the run, never written by hand."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gnn.train.loop import Trained
from gnn.train.plan import Plan
from gnn.train.task import Task
from prewarm.domain import InputError

_LIBRARIES = ("numpy", "torch", "gymnasium")


def facts(task: Task, plan: Plan, trained: Trained, *, seed: int, command: str) -> dict[str, Any]:
    """Everything that the card says, as plain values."""
    shape = trained.shape
    best = max(trained.curve, key=lambda entry: float(entry["score"]))
    return {
        "task": task.name,
        "seed": seed,
        "command": command,
        "form": shape.form.value,
        "factors": list(task.factors),
        "rule": dataclasses.asdict(task.rule),
        "encoder": dataclasses.asdict(shape.encoder),
        "data": dict(getattr(task, "data", {})),
        "wall_s": round(trained.seconds, 1),
        "episodes": trained.episodes,
        "questions": trained.questions,
        "updates": trained.updates,
        "kept_from": {name: best[name] for name in ("questions", "updates")},
        "validation_seeds": list(plan.validation),
        "validation_score": trained.score,
        "validation_parts": trained.parts,
        "kib": round(trained.weights.stat().st_size / 1024, 1),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
        "plan": dataclasses.asdict(plan),
    }


def write_card(path: Path, told: Mapping[str, Any]) -> None:
    """The card in markdown."""
    lines = [f"# placement-{told['task']}", "", _opening(told), ""]
    lines += [f"- {name.replace('_', ' ')}: {_plain(value)}" for name, value in told.items() if name not in _APART]
    lines += ["", "Data: " + ("; ".join(f"{name} sha256 {digest}" for name, digest in told["data"].items()) or _NONE)]
    lines += ["", _SETTINGS, ""]
    lines += [f"- {name}: {_plain(value)}" for name, value in told["plan"].items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def add_evaluation(path: Path, found: Mapping[str, Any]) -> None:
    """Write figures of evaluation seeds, by name, into a card, in place of older ones. InputError where it is none."""
    if not path.exists() or _SETTINGS not in (card := path.read_text(encoding="utf-8")):
        raise InputError(f"{path}: not the card of a trained policy")
    before, _, settings = card.partition(_SETTINGS)
    lines = [f"- {name.replace('_', ' ')}: {_plain(value)}" for name, value in found.items()]
    told = "\n".join([_EVALUATED, "", *lines, "", ""])
    path.write_text(before.partition(_EVALUATED)[0] + told + _SETTINGS + settings, encoding="utf-8")


_SETTINGS = "Settings of the run:"
_EVALUATED = "On evaluation seeds, which training never sees:"
_APART = ("task", "data", "plan", "validation_parts")
_NONE = "no traces; worlds are drawn from their seeds."


def _opening(told: Mapping[str, Any]) -> str:
    parts = ", ".join(f"{name} {_plain(value)}" for name, value in told["validation_parts"].items())
    return (
        f"Weights of the placement policy, trained in the world `{told['task']}`. The score is paired against the "
        "tuned rule on the same seeds: 0 is the rule, higher is better. "
        f"On the validation seeds, which chose these weights: {parts}."
    )


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_plain(one) for one in value)
    return str(value)

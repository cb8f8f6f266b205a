"""A whole run as one piece of work: done on any machine, it comes back as the files that it would have written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gnn.train.card import facts, write_card
from gnn.train.loop import CURVE, train
from gnn.train.plan import Plan
from gnn.train.task import Task


@dataclass(frozen=True, slots=True)
class Product:
    """told: what the card says. curve: an entry a judgement. files: content by name (weights, card, curve)."""

    told: dict[str, Any]
    curve: list[dict[str, Any]]
    files: Mapping[str, bytes]

    def write(self, folder: Path) -> None:
        """As a run in this folder would have left it, but for the checkpoint."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


@dataclass(frozen=True, slots=True)
class Training:
    """The run of a seed, without a checkpoint to go on from. command: for the card."""

    task: Task
    plan: Plan
    command: str

    def __call__(self, seed: int) -> Product:
        """Train."""
        with TemporaryDirectory() as name:
            folder = Path(name)
            trained = train(self.task, self.plan, folder, progress=_unseen, seed=seed)
            told = facts(self.task, self.plan, trained, seed=seed, command=self.command)
            card = trained.weights.with_suffix(".md")
            write_card(card, told)
            files = {file.name: file.read_bytes() for file in (trained.weights, card, folder / CURVE)}
        return Product(told, trained.curve, files)


def _unseen(share: float, doing: str) -> None:
    del share, doing

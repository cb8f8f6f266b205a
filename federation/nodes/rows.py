"""Single nodes in columns, for numpy: what fits, and what a node looks like after it.

A share takes the fullest GPU that has room for it; whole GPUs are taken from the first free ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from federation.nodes.mix import COUNT, CPU, MASK, MEMORY, MILLI
from federation.placement.fleet.classes import GPU_MODEL_LABELS
from federation.snapshot import CPU as CPU_COLUMN
from federation.snapshot import GPU_WHOLE, NodeClass, Nodes
from federation.snapshot import MEMORY as MEMORY_COLUMN
from prewarm.domain import BoolArray, IntArray

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Rows:
    """g nodes: free cpu and memory (MiB), (g,); model: (g,) number among a mix's; gpu: (g, D) free of each GPU."""

    cpu: IntArray
    memory: IntArray
    model: IntArray
    gpu: IntArray

    def __len__(self) -> int:
        return len(self.cpu)

    @classmethod
    def joined(cls, pieces: Sequence[Rows]) -> Rows:
        """Some, one after another."""
        return cls(
            np.concatenate([one.cpu for one in pieces]),
            np.concatenate([one.memory for one in pieces]),
            np.concatenate([one.model for one in pieces]),
            np.concatenate([one.gpu for one in pieces]),
        )

    def take(self, rows: IntArray) -> Rows:
        """Some of them."""
        return Rows(self.cpu[rows], self.memory[rows], self.model[rows], self.gpu[rows])

    def numbers(self) -> IntArray:
        """Which rows are alike: a number for each, (g,), in the order in which they are met."""
        table = np.column_stack([self.cpu, self.memory, self.model, self.gpu]).astype(np.int64)
        word = np.dtype((np.void, table.itemsize * table.shape[1]))
        met: dict[bytes, int] = {}
        return np.array([met.setdefault(each, len(met)) for each in table.view(word)[:, 0].tolist()], dtype=np.int64)

    def put(self, row: int, one: Rows) -> None:
        """Replace a row by the only one of `one`; for rows that nobody else holds."""
        self.cpu[row], self.memory[row], self.gpu[row] = one.cpu[0], one.memory[0], one.gpu[0]

    def fits(self, shape: IntArray) -> BoolArray:
        """Which have room for one of a shape as in `Mix.table`, (g,)."""
        room: BoolArray = (self.cpu >= shape[CPU]) & (self.memory >= shape[MEMORY])
        if shape[COUNT]:
            room &= (self.gpu >= shape[MILLI]).sum(axis=1) >= shape[COUNT]
            room &= (shape[MASK] >> self.model) & 1 == 1
        return room

    def after(self, shape: IntArray, device: IntArray) -> Rows:
        """After one of a shape that fits; a share takes GPU `device`, (g,)."""
        gpu = self.gpu.copy()
        if shape[COUNT] and shape[MILLI] >= GPU_WHOLE:
            free = gpu >= GPU_WHOLE
            gpu[free & (np.cumsum(free, axis=1) <= shape[COUNT])] = 0
        elif shape[COUNT]:
            gpu[np.arange(len(gpu)), device] -= shape[MILLI]
        return Rows(self.cpu - shape[CPU], self.memory - shape[MEMORY], self.model, gpu)


def rows_of(nodes: Nodes, models: tuple[str, ...]) -> Rows:
    """A cluster's rows; GPUs of a model that the mix does not know count as of no model."""
    number = {name: at for at, name in enumerate(models)}
    of_class = [number.get(model_of(one) or "", len(models)) for one in nodes.classes]
    free = nodes.free
    return Rows(
        free[:, CPU_COLUMN],
        free[:, MEMORY_COLUMN] // MIB,
        np.array(of_class, dtype=np.int64)[nodes.class_of],
        nodes.gpu_free.astype(np.int64),
    )


@lru_cache(maxsize=4_096)
def model_of(kind: NodeClass) -> str | None:
    """The GPU model that a kind of node names, None where it names none."""
    return next((value for name in GPU_MODEL_LABELS if (value := kind.label(name)) is not None), None)

"""What single nodes are like, each state once: rows of all clusters that look the same share an answer.

Values of packing are asked for states, not for rows: a fleet of summaries has some hundred states in twenty thousand
rows, and a state that was judged once is not judged again for the same shape of instance.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from federation.nodes.rows import MIB, Rows
from federation.placement.fleet.rows import Block
from federation.snapshot import CPU, MEMORY
from prewarm.domain import Int32Array, IntArray


@dataclass(slots=True)
class StateTable:
    """Numbers of states, given out as they appear; a memo of `gpus` columns, so sharing it changes no decision."""

    gpus: int
    _number: dict[bytes, int] = field(default_factory=dict)
    _rows: list[IntArray] = field(default_factory=list)
    _blocks: tuple[Block, ...] = ()
    _numbers: tuple[Int32Array, ...] = ()
    _joined: Int32Array = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def __len__(self) -> int:
        return len(self._number)

    def of(self, blocks: tuple[Block, ...]) -> Int32Array:
        """The numbers of all rows of some blocks, (N,); those of the last blocks are used again."""
        if blocks is self._blocks:
            return self._joined
        known = {id(block): numbers for block, numbers in zip(self._blocks, self._numbers, strict=True)}
        found = [known.get(id(block)) for block in blocks]
        numbers = [self._numbered(block) if n is None else n for block, n in zip(blocks, found, strict=True)]
        self._blocks, self._numbers = blocks, tuple(numbers)
        self._joined = np.concatenate(numbers) if numbers else np.zeros(0, dtype=np.int32)
        return self._joined

    def rows(self, span: slice, model_of: IntArray) -> Rows:
        """Some of the states as nodes; model_of: (K,) the number of the GPU model of each kind of node."""
        table = np.array(self._rows[span], dtype=np.int64).reshape(-1, 3 + self.gpus)
        return Rows(table[:, 1], table[:, 2] // MIB, model_of[table[:, 0]], table[:, 3:])

    def _numbered(self, block: Block) -> Int32Array:
        rows = block.rows
        table = np.empty((len(rows), 3 + self.gpus), dtype=np.int64)
        table[:, 0], table[:, 1], table[:, 2] = rows.class_of, rows.free[CPU], rows.free[MEMORY]
        table[:, 3:] = rows.gpu_free
        width, raw = table.itemsize * table.shape[1], table.tobytes()
        keys = [raw[at : at + width] for at in range(0, width * len(rows), width)]
        for at, key in enumerate(keys):
            if key not in self._number:
                self._number[key] = len(self._rows)
                self._rows.append(table[at].copy())
        return np.fromiter(map(self._number.__getitem__, keys), dtype=np.int32, count=len(keys))

"""Where nothing but counts is known: decisions are recorded, none is carried out, and pools are as decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from prewarm.domain import Decision, FunctionKey, Int32Array
from prewarm.loop.fleet import Fleet


class RecordOnly:
    """A platform and an applier of a fleet whose instances nobody reports and nobody may touch."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._recalled: Mapping[str, int] = {}

    def recall(self, counts: Mapping[str, int]) -> None:
        """Start from what was decided before a restart: pools that nobody has news of are held there."""
        self._recalled = counts

    def warm(self, keys: Sequence[FunctionKey]) -> Int32Array:
        """What the last tick decided, before the first one what was recalled, (n,); 0 for functions that are new."""
        pools = np.zeros(len(keys), dtype=np.int32)
        if self._fleet.view is None:
            pools[:] = [self._recalled.get(key, 0) for key in keys]
        else:
            before = self._fleet.view.decisions.to_count
            pools[: len(before)] = before
        return pools

    async def apply(self, decisions: tuple[Decision, ...]) -> frozenset[str]:
        """Nothing is carried out."""
        del decisions
        return frozenset()

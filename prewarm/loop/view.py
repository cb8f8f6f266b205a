"""What readers see: the last tick as frozen columns, and the finished bytes of what was asked about it.

A tick builds a new view and swaps one reference, so a read never waits for a tick and never sees half of one. Answers
that were once written stay as bytes until the next view.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from prewarm.control import DATA_STATES, TickDecisions
from prewarm.domain import BoolArray, Decision, FunctionKey, IntArray, Mode, PolicyTag
from prewarm.loop.track import Outlook


@dataclass(frozen=True, slots=True)
class ModeTable:
    """What the service may do, by namespace; and which share of a namespace's functions a learned model decides."""

    default: Mode
    namespaces: Mapping[str, Mode] = field(default_factory=dict)
    learned_share: Mapping[str, float] = field(default_factory=dict)

    def of(self, key: str) -> Mode:
        """The mode of one function."""
        return self.namespaces.get(key.partition("/")[0], self.default)

    def to_json(self) -> dict[str, object]:
        """As `GET /v1/mode` writes it."""
        return {
            "default": self.default,
            "namespaces": dict(self.namespaces),
            "learned_share": dict(self.learned_share),
        }


@dataclass(frozen=True, slots=True)
class TickView:
    """One tick, read-only. `last_call`: minute of the newest call per function, -1 where none is known, (n,)."""

    sequence: int
    now: float
    decisions: TickDecisions
    outlook: Outlook
    last_call: IntArray
    model: str
    modes: ModeTable
    applied: frozenset[str] = frozenset()
    tags: Mapping[int, PolicyTag] = field(default_factory=dict)
    """Rows that another policy than the tick's decided (outside the learned share of their namespace)."""
    held_before: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Which functions the tick before held, (n,) or shorter; a hold is news only when it begins."""
    news: tuple[Decision, ...] = ()
    """The decisions of `changed`, with what was carried out."""
    bodies: dict[str, bytes] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[FunctionKey, ...]:
        """The functions, in order of their rows."""
        return self.decisions.state.keys

    def row(self, key: str) -> int | None:
        """The row of a function, None where it is not known."""
        return self.decisions.state.rows.get(FunctionKey(key))

    def decision(self, row: int) -> Decision:
        """The full record of one function's decision in this tick."""
        made = self.decisions.decision(row)
        mode = self.modes.of(made.function)
        tag = self.tags.get(row, made.policy)
        held = f"paused; kept {made.to_count}" if mode is Mode.PAUSED else made.held
        return replace(made, mode=mode, policy=tag, applied=made.id in self.applied, held=held)

    def changed(self) -> list[Decision]:
        """The decisions that change something, and the holds that begin."""
        tick = self.decisions
        begins = tick.held.copy()
        begins[: len(self.held_before)] &= ~self.held_before
        rows = np.flatnonzero((tick.to_count != tick.state.warm) | begins)
        return [self.decision(int(row)) for row in rows]

    def data_counts(self) -> dict[str, int]:
        """How many functions there are in each state of data."""
        found = np.bincount(self.decisions.state.data, minlength=len(DATA_STATES))
        return {str(state): int(found[code]) for code, state in enumerate(DATA_STATES)}

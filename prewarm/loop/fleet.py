"""Everything the service knows while it runs: history, settings, what people said, the pools, and the last view.

One event loop owns it. Ticks and handlers change it between awaits only, and what is long (sizing, forecasts, the
database) happens on copies or elsewhere, so no lock is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from prewarm.collect.push import PushReceiver
from prewarm.domain import Action, FloatArray, FunctionKey, Int32Array, Override
from prewarm.history import History
from prewarm.loop.clock import Clock
from prewarm.loop.track import Track
from prewarm.loop.view import ModeTable, TickView
from prewarm.policy.columns import Measured, PolicyTable, compile_policy
from prewarm.policy.overrides import is_active
from prewarm.settings import Call, FunctionPolicy, Settings
from prewarm.telemetry import Metrics

STEP_S = 60.0
DEFAULT_START_S = 3.0
MOST_INSTANCES = 1e6
"""No function needs more; what says so is a mistake, and must still fit into whole numbers of 32 bits."""
OverrideKey = tuple[FunctionKey, str | None]


@dataclass(frozen=True, slots=True)
class Told:
    """What people set through the API, as it is kept in the store."""

    modes: ModeTable
    overrides: dict[OverrideKey, Override] = field(default_factory=dict)
    policies: dict[FunctionKey, FunctionPolicy] = field(default_factory=dict)
    calls: tuple[Call, ...] | None = None
    """The service graph set through the API; None leaves the configuration's."""


class Fleet:
    """The live state. `simulated` is said wherever numbers of this fleet are shown."""

    def __init__(self, settings: Settings, history: History, clock: Clock, metrics: Metrics) -> None:
        self.settings = settings
        self.history = history
        self.clock = clock
        self.metrics = metrics
        self.simulated = False
        self.push = PushReceiver(history)
        self.track = Track()
        self.told = Told(ModeTable(settings.serve.mode))
        self.view: TickView | None = None
        self.started_at = clock.now()
        self.measure: Callable[[Iterable[FunctionKey]], Measured] = _nothing_measured
        self._table: PolicyTable | None = None
        self._capacity: FloatArray = np.zeros(0)
        self._keys: tuple[FunctionKey, ...] = ()
        self._rows: dict[FunctionKey, int] = {}

    @property
    def rows(self) -> dict[FunctionKey, int]:
        """Row of each function; grows, never changes."""
        self._follow()
        return self._rows

    @property
    def keys(self) -> tuple[FunctionKey, ...]:
        """The functions in order of their rows."""
        self._follow()
        return self._keys

    @property
    def calls(self) -> tuple[Call, ...]:
        """The service graph in force."""
        return self.settings.call if self.told.calls is None else self.told.calls

    def policy_of(self, key: str) -> FunctionPolicy:
        """What was set for this function through the API, else the configuration's entry."""
        return self.told.policies.get(FunctionKey(key)) or self.settings.policy_of(key)

    def policy_table(self) -> PolicyTable:
        """The policies as columns, compiled anew after functions, policies or settings changed."""
        self._follow()
        if self._table is None:
            self._table = compile_policy(
                self._keys,
                self.policy_of,
                self.measure(self._keys),
                step_s=STEP_S,
                default_start_s=DEFAULT_START_S,
                budget_gb=None
                if self.settings.serve.budget_gib is None
                else self.settings.serve.budget_gib * 1.073741824,
            )
        return self._table

    def tell(self, told: Told) -> None:
        """Take what people said; it holds from the next tick on."""
        if told.policies != self.told.policies:
            self._forget()
        self.told = told

    def configure(self, settings: Settings) -> None:
        """Take a reloaded configuration; how counts coarsen stays as it was at the start."""
        self.settings = settings
        self.history.retention = replace(self.history.retention, stale_s=settings.serve.stale_s)
        self._forget()

    def active_overrides(self, now: float) -> list[Override]:
        """The overrides that hold at `now`, oldest first."""
        held = [override for override in self.told.overrides.values() if is_active(override, now)]
        return sorted(held, key=lambda item: (item.created_at, item.function))

    def count_overrides(self, now: float) -> None:
        """Tell the metrics how many overrides hold."""
        held = [override.action for override in self.active_overrides(now)]
        for action in Action:
            self.metrics.overrides.labels(action).set(held.count(action))

    def capacity(self) -> FloatArray:
        """Running calls that sizing counts on for one instance of each function, (n,)."""
        self._follow()
        if len(self._capacity) != len(self._keys):
            policies = [self.policy_of(key) for key in self._keys]
            self._capacity = np.array(
                [policy.concurrency * policy.utilisation for policy in policies], dtype=np.float64
            )
        return self._capacity

    def used_in(self, minute: int) -> FloatArray:
        """Instances' worth of running calls of all functions in `minute`, NaN where unknown, (n,).

        Where calls were told and no concurrency, one running call at a time is assumed.
        """
        used: FloatArray = self._used(np.arange(len(self.history), dtype=np.int32), minute + 1, 1)[:, 0]
        return used

    def need_of(self, row: int, now_minute: int, minutes: int) -> FloatArray:
        """Instances needed by one function in each of the last `minutes`, NaN where unknown; from its first on."""
        need: FloatArray = np.ceil(self._used(np.array([row], dtype=np.int32), now_minute, minutes)[0])
        known = np.flatnonzero(np.isfinite(need))
        since: FloatArray = need[known[0] :] if len(known) else need[:0]
        return since

    def _used(self, rows: Int32Array, now_minute: int, minutes: int) -> FloatArray:
        counts = self.history.dense(rows, now_minute, minutes=minutes)
        running = self.history.dense(rows, now_minute, minutes=minutes, quantity="concurrency")
        running = np.where(np.isnan(running) & (counts > 0), 1.0, running)
        used: FloatArray = np.minimum(np.divide(running, self.capacity()[rows, None]), MOST_INSTANCES)
        return used

    def _forget(self) -> None:
        self._table, self._capacity = None, np.zeros(0)

    def _follow(self) -> None:
        known = len(self._keys)
        if len(self.history) > known:
            new = [FunctionKey(key) for key in self.history.keys[known:]]
            self._keys = (*self._keys, *new)
            self._rows |= {key: known + offset for offset, key in enumerate(new)}
            self._table = None


def _nothing_measured(keys: Iterable[FunctionKey]) -> Measured:
    nothing = np.full(len(tuple(keys)), np.nan)
    return Measured(nothing, nothing)

"""What the handlers work with: the fleet, its keeper, the worker processes, and the lists that reads go through."""

from __future__ import annotations

from dataclasses import dataclass, field

from prewarm.domain import Forecast, FunctionKey
from prewarm.forecast.pool import FitPool
from prewarm.http.problem import ProblemError
from prewarm.loop.fleet import Fleet
from prewarm.loop.keeping import Keeper
from prewarm.loop.service import TickLoop
from prewarm.loop.view import TickView


@dataclass(slots=True)
class Desk:
    """One service as its API sees it."""

    fleet: Fleet
    keeper: Keeper
    fits: FitPool
    ticks: TickLoop
    chosen: dict[int, tuple[str, str, int]] = field(default_factory=dict)
    """Per row: the model that its backtest chose, why, and in which minute."""
    fitted: dict[int, Forecast] = field(default_factory=dict)
    """Per row: the newest forecast of that model; it is read on for some minutes before it is made anew."""
    _sorted: list[FunctionKey] = field(default_factory=list)

    def row(self, key: str) -> int:
        """The row of a function; Problem 404 where it is not known."""
        row = self.fleet.rows.get(FunctionKey(key))
        if row is None:
            raise ProblemError(404, f"function {key[:80]!r} is not known here")
        return row

    def view(self) -> TickView:
        """The last tick; Problem 503 before the first one."""
        if self.fleet.view is None:
            raise ProblemError(503, "the first tick has not finished yet", headers={"Retry-After": "1"})
        return self.fleet.view

    def sorted_keys(self) -> list[FunctionKey]:
        """All keys in order."""
        if len(self._sorted) != len(self.fleet.keys):
            self._sorted = sorted(self.fleet.keys)
        return self._sorted

"""What a fleet adds to the service, real or simulated. A simulated one loads nothing of what only a real one needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from federation.api import fleet_routes
from federation.desk.desk import FleetDesk
from federation.desk.telemetry import Accidents, DeskMetrics, FleetCollector
from prewarm.api import Mounted
from prewarm.domain import Applier
from prewarm.http.auth import Review
from prewarm.loop.tick import Divider, Platform
from prewarm.settings import Settings


@dataclass(slots=True)
class FleetPart:
    """Routes, a platform, a divider and an applier for ticks, what runs for ever, and who reviews tokens.

    tasks: begun by whoever runs the service. configure: takes a reloaded configuration.
    """

    desk: FleetDesk
    platform: Platform
    applier: Applier
    divider: Divider
    tasks: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    review: Review | None = None
    configure: Callable[[Settings], None] = lambda _: None

    @property
    def mounted(self) -> Mounted:
        """Its part of the API."""
        return Mounted(fleet_routes(), self.desk, self.review)


def measure(desk: FleetDesk, accidents: Accidents) -> None:
    """Show the fleet among the service's metrics."""
    registry = desk.demand.metrics.registry
    desk.metrics = DeskMetrics(registry)
    registry.register(FleetCollector(desk, accidents))

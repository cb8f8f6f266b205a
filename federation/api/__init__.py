"""The fleet's part of the HTTP API: clusters, placements, network, maintenance, the learned scorer."""

from federation.api.clusters import cluster_routes
from federation.api.placements import placement_routes
from federation.api.scorer import scorer_routes
from federation.desk.desk import FleetDesk
from prewarm.http.routes import Route

__all__ = ["fleet_routes"]


def fleet_routes() -> tuple[Route[FleetDesk], ...]:
    """Every operation of the fleet."""
    return (*cluster_routes(), *placement_routes(), *scorer_routes())

"""The service's own world: placements one after another over fleets of 2 to 32 clusters, by the service's pipeline."""

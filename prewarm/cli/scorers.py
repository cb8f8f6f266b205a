"""The learned scorer of the configuration, found by entry point, put under its guard and onto the desk."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from prewarm.domain import InputError
from prewarm.settings import PlacementPolicy
from prewarm.store import Store

if TYPE_CHECKING:
    from prewarm.cli.fleet_part import FleetPart

GROUP = "prewarm.scorers"
OFF = "off"


async def with_scorer(part: FleetPart, store: Store) -> FleetPart:
    """The part with the scorer that its settings name; InputError where that cannot be used."""
    policy = part.desk.demand.settings.placement
    if policy.scorer == OFF:
        return part
    from federation.desk.learned import Allowed
    from gnn.guard.detector import read_detector
    from gnn.guard.guarded import Guarded
    from gnn.guard.serving import Served

    desk = part.desk
    path = detector_path(policy)
    detector = read_detector(path) if path.exists() else None
    scorer = find(policy.scorer)(policy.scorer_weights, deadline_s=policy.scorer_deadline_ms / 1e3)
    allowed = Allowed(policy.scorer_mode)
    guarded = Guarded(scorer, detector, lambda: desk.demand.settings.placement, allowed=allowed)
    served = Served(guarded, store, desk.demand.metrics.registry)
    await served.recall()
    desk.scorer = served
    part.tasks = {**part.tasks, "scorer": served.run(desk.look, desk.now)}
    return part


def find(name: str):  # type: ignore[no-untyped-def]  # an entry point is whatever it names
    """What makes the scorer of a name. Raises InputError where nothing of this name is installed."""
    known = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in known:
        told = ", ".join(sorted(known)) or "none"
        raise InputError(f"placement.scorer: {name!r} is not installed; there are: {told}")
    return known[name].load()


def detector_path(policy: PlacementPolicy) -> Path:
    """Beside the weights: placement-fleet.npz has guard-fleet.npz."""
    from gnn.scorer import shipped

    weights = policy.scorer_weights or shipped()
    return weights.with_name(weights.name.replace("placement-", "guard-", 1))

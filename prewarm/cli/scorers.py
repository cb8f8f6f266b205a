"""The learned scorer of the configuration, found by entry point, put under its guard and onto the desk."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from prewarm.domain import InputError
from prewarm.settings import PlacementPolicy
from prewarm.store import Store

if TYPE_CHECKING:
    from gnn.guard.detector import Detector
    from gnn.guard.guarded import Looking
    from prewarm.cli.fleet_part import FleetPart

GROUP = "prewarm.scorers"
OFF = "off"


@dataclass(frozen=True, slots=True)
class Ready:
    """A scorer that was read, with the detector of what it was trained for, if one is beside its weights."""

    scorer: Looking
    detector: Detector | None


def read_scorer(policy: PlacementPolicy) -> Ready | None:
    """What the settings name; None where it is off. InputError where it cannot be used, before anything is started."""
    if policy.scorer == OFF:
        return None
    from gnn.guard.detector import read_detector

    path = detector_path(policy)
    scorer = find(policy.scorer)(policy.scorer_weights, deadline_s=policy.scorer_deadline_ms / 1e3)
    return Ready(scorer, read_detector(path) if path.exists() else None)


async def put_on(part: FleetPart, ready: Ready | None, store: Store) -> FleetPart:
    """The part with the scorer under its guard, as far as it was allowed and had come before a restart."""
    if ready is None:
        return part
    from federation.desk.learned import Allowed
    from gnn.guard.guarded import Guarded
    from gnn.guard.serving import Served

    desk = part.desk
    allowed = Allowed(desk.demand.settings.placement.scorer_mode)
    guarded = Guarded(ready.scorer, ready.detector, lambda: desk.demand.settings.placement, allowed=allowed)
    served = Served(guarded, store, desk.demand.metrics.registry)
    await served.recall()
    desk.scorer = served
    part.tasks = {**part.tasks, "scorer": lambda: served.run(desk.look, desk.now)}
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

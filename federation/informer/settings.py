"""How the fleet is watched; what is a matter of policy comes from prewarm's own settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from federation.informer.reflect.reflector import ReflectorOptions
from federation.informer.reflect.resource import NAMES
from federation.quantity import QuantityError, requested
from prewarm.domain import InputError
from prewarm.settings import Call, ClusterPolicy, Link, PlacementPolicy


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Pauses and what is watched beside nodes, pods, quotas and workloads. InputError for an unknown kind."""

    refresh_s: float = 10.0
    """Between two looks at the source of members."""
    probe_s: float = 10.0
    """Between two questions to every member whether it is there."""
    usage_s: float = 30.0
    """Between two readings of metrics.k8s.io."""
    kinds: frozenset[str] = frozenset({"namespace"})
    """Kinds of which the names are kept, for workloads that need them (`Workload.needs`)."""
    reflector: ReflectorOptions = field(default_factory=ReflectorOptions)

    def __post_init__(self) -> None:
        if unknown := sorted(self.kinds.difference(NAMES)):
            raise InputError(f"kinds: must be of {', '.join(NAMES)}; {unknown[0]!r} is not")


@dataclass(frozen=True, slots=True)
class FleetPolicy:
    """What people said of the fleet: entries of the configuration file. InputError where one cannot be used."""

    clusters: tuple[ClusterPolicy, ...] = ()
    links: tuple[Link, ...] = ()
    calls: tuple[Call, ...] = ()
    placement: PlacementPolicy = field(default_factory=PlacementPolicy)

    def __post_init__(self) -> None:
        for entry in self.clusters:
            if (headroom := entry.autoscale_headroom) is not None:
                try:
                    requested("cpu", headroom.cpu), requested("memory", headroom.memory)
                except QuantityError as error:
                    raise InputError(f"cluster {entry.name}: autoscale_headroom: {error}") from None

    def of(self, name: str, context: str) -> ClusterPolicy:
        """The last entry for this member: by its id first, else by its context; the defaults where there is none."""
        by_id = [entry for entry in self.clusters if entry.name == name]
        by_context = [entry for entry in self.clusters if context in (entry.name, entry.context)]
        return (by_id or by_context or [ClusterPolicy(name)])[-1]

"""Everything held of one member, and how each collection's changes reach it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeVar

from federation.informer.hold.columns import Columns
from federation.informer.hold.instances import Instances
from federation.informer.hold.names import Names
from federation.informer.hold.starts import Starts
from federation.informer.hold.table import NodeTable
from federation.informer.hold.using import use_by_workload
from federation.informer.read.pods import PodFacts
from federation.informer.read.usage import Usage
from federation.informer.read.workloads import QuotaFacts
from federation.informer.reflect import resource
from federation.informer.reflect.reflector import Reflector, ReflectorOptions
from federation.informer.reflect.store import Store
from federation.members.client import MemberClient
from federation.snapshot import InstanceUse, frozen

Kept = TypeVar("Kept")


class Holding:
    """One member's table, instances, starts, quotas and names, and the reflectors that feed them, by collection."""

    def __init__(
        self, client: MemberClient, options: ReflectorOptions, *, rng: Random, clock: Callable[[], float]
    ) -> None:
        self.table = NodeTable()
        self.columns = Columns(self.table)
        self.instances = Instances()
        self.starts = Starts()
        self.quotas: dict[str, QuotaFacts] = {}
        self.names: dict[str, Names] = {}
        self.usage_at: float | None = None
        self.usage_why: str | None = "not read yet"
        self.use: Mapping[str, InstanceUse] = frozen()
        self.reflectors: dict[str, Reflector[Any]] = {}
        self._client, self._options, self._rng, self._clock = client, options, rng, clock
        self._reflect(resource.NODES, self.table.node_changed)
        self._pods = self._reflect(resource.PODS, self._pod_changed).store
        self._reflect(resource.QUOTAS, self._quota_changed)
        self._reflect(resource.DEPLOYMENTS, self.instances.workload_changed)
        self._reflect(resource.SERVICES, self.instances.workload_changed)

    def add_kind(self, kind: str) -> Reflector[bool]:
        """Starts holding the names of a kind of `resource.NAMES`."""
        self.names[kind] = Names()
        return self._reflect(resource.NAMES[kind], self.names[kind].changed)

    def take_usage(self, usage: Mapping[str, Usage]) -> None:
        """A reading of metrics.k8s.io; nodes that it does not name keep what they had, which grows old."""
        self.table.usage_changed(usage)
        self.usage_why = None if usage else "metrics.k8s.io tells of no node"
        self.usage_at = max((sample.at for sample in usage.values()), default=self.usage_at)

    def take_pod_usage(self, usage: Mapping[str, Usage]) -> None:
        """A reading of the pods of metrics.k8s.io."""
        self.use = use_by_workload(usage, self._pods.get)

    def seen_at(self, name: str) -> float | None:
        """When a collection was last known true, None for never."""
        return self.reflectors[name].report.seen_at

    @property
    def known_names(self) -> dict[str, Names]:
        """Names by kind, of the kinds that were listed."""
        return {
            kind: names for kind, names in self.names.items() if self.seen_at(resource.NAMES[kind].name) is not None
        }

    def _reflect(
        self, kept: resource.Resource[Kept], changed: Callable[[str, Kept | None, Kept | None], None]
    ) -> Reflector[Kept]:
        store = Store(kept.read, changed)
        reflector = Reflector(self._client, kept, store, self._options, Random(self._rng.random()), self._clock)
        self.reflectors[kept.name] = reflector
        return reflector

    def _pod_changed(self, key: str, before: PodFacts | None, after: PodFacts | None) -> None:
        self.table.pod_changed(key, before, after)
        self.instances.pod_changed(key, before, after)
        self.starts.pod_changed(key, before, after)

    def _quota_changed(self, key: str, _: QuotaFacts | None, after: QuotaFacts | None) -> None:
        self.quotas.pop(key, None)
        if after is not None:
            self.quotas[key] = after

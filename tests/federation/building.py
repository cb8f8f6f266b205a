"""Fleets for tests, said in a line: `fleet(cluster("a").nodes(3, cpu="4", memory="8Gi"), cluster("b", price=1.4))`.

Quantities are Kubernetes' own. A cluster is ready, fresh and empty unless said otherwise. Builders are values: each
method returns a new one, so a cluster can be varied from test to test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from federation.placement.workload import Workload
from federation.quantity import offered, requested
from federation.snapshot import (
    ARCH_LABEL,
    BASE_RESOURCES,
    Ages,
    Cluster,
    Headroom,
    Links,
    MemberState,
    NodeClass,
    Nodes,
    Quota,
    Running,
    Snapshot,
    Taint,
    frozen,
)
from prewarm.settings import Call

NOW = 1_000_000.0
"""The moment at which built fleets are as they are."""


@dataclass(frozen=True)
class NodeRow:
    """`count` nodes that are alike; free is what is not requested, all of it by default."""

    count: int
    allocatable: Mapping[str, int]
    free: Mapping[str, int]
    labels: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]
    gpu_free: tuple[int, ...]
    schedulable: bool


@dataclass(frozen=True)
class ClusterBuilder:
    """A cluster in the making."""

    name: str
    cluster: Cluster
    rows: tuple[NodeRow, ...] = ()
    resources: tuple[str, ...] = BASE_RESOURCES

    def nodes(
        self,
        count: int = 1,
        *,
        free: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        taints: tuple[Taint, ...] = (),
        gpus: tuple[int, ...] = (),
        schedulable: bool = True,
        **allocatable: str,
    ) -> ClusterBuilder:
        """More nodes: `allocatable` by resource (`pods` is 110 unless said), `free` of it, thousandths of `gpus`."""
        amounts = {"pods": "110", **allocatable}
        whole = {name: offered(name, text) for name, text in amounts.items()}
        left = whole | {name: offered(name, text) for name, text in (free or {}).items()}
        row = NodeRow(count, whole, left, tuple(sorted((labels or {}).items())), taints, gpus, schedulable)
        names = (*self.resources, *sorted(set(whole).difference(self.resources)))
        return replace(self, rows=(*self.rows, row), resources=names)

    def arch(self, name: str, count: int = 1, **allocatable: str) -> ClusterBuilder:
        """Nodes of one architecture."""
        return self.nodes(count, labels={ARCH_LABEL: name}, **allocatable)  # type: ignore[arg-type]

    def runs(
        self, key: str, wanted: int, *, existing: int | None = None, ready: int | None = None, pending: int = 0
    ) -> ClusterBuilder:
        """Instances of a workload there; they take no room of the nodes, say that with `free`."""
        there = wanted if existing is None else existing
        running = dict(self.cluster.running) | {key: Running(wanted, there, there if ready is None else ready, pending)}
        return self.but(running=frozen(running))

    def quota(self, namespace: str, hard: Mapping[str, str], used: Mapping[str, str] | None = None) -> ClusterBuilder:
        """A ResourceQuota; nothing of it is used unless said."""
        limit = {name: offered(name, text) for name, text in hard.items()}
        spent = dict.fromkeys(limit, 0) | {name: offered(name, text) for name, text in (used or {}).items()}
        return self.but(quotas=(*self.cluster.quotas, Quota(namespace, "quota", frozen(limit), frozen(spent))))

    def autoscales(self, nodes: int, *, start_s: float = 120.0, **allocatable: str) -> ClusterBuilder:
        """Up to so many more nodes of this shape."""
        shape = {name: offered(name, text) for name, text in allocatable.items()}
        return self.but(headroom=Headroom(nodes, frozen(shape), start_s))

    def seen(self, ago_s: float | None, now: float = NOW) -> ClusterBuilder:
        """Everything of it was last seen so long ago, None for never."""
        at = None if ago_s is None else now - ago_s
        return self.but(ages=Ages(at, at, at, at, at))

    def has(self, **present: set[str]) -> ClusterBuilder:
        """What exists there; `__` in a kind stands for the colon (configmap__shop)."""
        kinds = {kind.replace("__", ":"): frozenset(names) for kind, names in present.items()}
        return self.but(present=frozen({**(self.cluster.present or {}), **kinds}))

    def but(self, **fields: object) -> ClusterBuilder:
        """With other fields of the cluster."""
        return replace(self, cluster=replace(self.cluster, **fields))  # type: ignore[arg-type]

    def build(self) -> Cluster:
        """The cluster."""
        return replace(self.cluster, nodes=nodes_of(self.rows, self.resources))


def nodes_of(rows: tuple[NodeRow, ...], resources: tuple[str, ...]) -> Nodes:
    """Rows in columns."""
    classes = tuple(dict.fromkeys(NodeClass(row.labels, row.taints) for row in rows))
    wide = max((len(row.gpu_free) for row in rows), default=0)
    allocatable = np.array([[row.allocatable.get(name, 0) for name in resources] for row in rows], dtype=np.int64)
    free = np.array([[row.free.get(name, 0) for name in resources] for row in rows], dtype=np.int64)
    shape = (len(rows), len(resources))
    gpus = [sorted(row.gpu_free, reverse=True) + [0] * (wide - len(row.gpu_free)) for row in rows]
    return Nodes(
        resources=resources,
        classes=classes,
        class_of=np.array([classes.index(NodeClass(row.labels, row.taints)) for row in rows], dtype=np.int32),
        count=np.array([row.count for row in rows], dtype=np.int32),
        allocatable=allocatable.reshape(shape),
        requested=(allocatable - free).reshape(shape),
        used=np.full((len(rows), 2), np.nan),
        gpu_free=np.array(gpus, dtype=np.int16).reshape(len(rows), wide),
        schedulable=np.array([row.schedulable for row in rows], dtype=np.bool_),
    )


def cluster(
    name: str,
    *,
    region: str | None = None,
    price: float = 1.0,
    state: MemberState = MemberState.READY,
    since: float = 0.0,
    labels: Mapping[str, str] | None = None,
) -> ClusterBuilder:
    """An empty cluster, seen just now."""
    ages = Ages(NOW, NOW, NOW, NOW, NOW)
    none = nodes_of((), BASE_RESOURCES)
    made = Cluster(name, name, state, since, none, region=region, price=price, labels=frozen(labels), ages=ages)
    return ClusterBuilder(name, made)


@dataclass(frozen=True)
class Wiring:
    """Delays between clusters in ms, the same both ways, and the service graph."""

    delay_ms: Mapping[tuple[str, str], float] = field(default_factory=dict)
    mbps: Mapping[tuple[str, str], float] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()


def fleet(*builders: ClusterBuilder, wiring: Wiring | None = None) -> Snapshot:
    """A snapshot of some clusters, sorted by name."""
    clusters = tuple(sorted((one.build() for one in builders), key=lambda one: one.name))
    wires = wiring or Wiring()
    names = tuple(sorted({name for pair in (*wires.delay_ms, *wires.mbps) for name in pair}))
    links = Links(names, _matrix(names, wires.delay_ms), _matrix(names, wires.mbps))
    return Snapshot(NOW, clusters, links, wires.calls)


def _matrix(names: tuple[str, ...], values: Mapping[tuple[str, str], float]) -> np.ndarray:
    matrix = np.full((len(names), len(names)), np.nan)
    for (a, b), value in values.items():
        matrix[names.index(a), names.index(b)] = matrix[names.index(b), names.index(a)] = value
    return matrix


def workload(
    key: str = "shop/checkout",
    replicas: int = 1,
    *,
    kind: str = "deployment",
    asks: Mapping[str, str] | None = None,
    **fields: object,
) -> Workload:
    """A workload that asks for `asks` an instance, half a core and 256 MiB by default."""
    texts = {"cpu": "500m", "memory": "256Mi"} if asks is None else asks
    requests = frozen({name: requested(name, text) for name, text in texts.items()})
    return Workload(key, kind, replicas, requests, **fields)  # type: ignore[arg-type]

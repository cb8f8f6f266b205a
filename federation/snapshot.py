"""An immutable view of the fleet: what placement decides from, and nothing else.

Nodes that a scheduler cannot tell apart are kept as one row with a count, in columns, so that a cluster of 5,000 nodes
is some hundred rows and a decision is a few passes over arrays. A real cluster and a summary have the same shape; a
real one also names its nodes. What is not known is NaN, None or absent and never zero; what was seen has the time at
which it was seen, and its age follows from `now`.

Amounts are whole numbers in base units: CPU in thousandths of a core, memory in bytes, everything else in pieces.
Times are seconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import BoolArray, FloatArray, Int32Array, IntArray
from prewarm.settings import Call

Int16Array = NDArray[np.int16]
Key = TypeVar("Key")
Value = TypeVar("Value")

CPU, MEMORY, PODS = 0, 1, 2
"""The first columns of every array of resources."""
BASE_RESOURCES = ("cpu", "memory", "pods")
GPU_WHOLE = 1_000
"""Thousandths of one GPU."""
ARCH_LABEL = "kubernetes.io/arch"
OS_LABEL = "kubernetes.io/os"
HOSTNAME_LABEL = "kubernetes.io/hostname"
"""Never part of a node's class, which it would make unique; see `Nodes.hosts`."""


def frozen(mapping: Mapping[Key, Value] | None = None) -> Mapping[Key, Value]:
    """A copy of `mapping` that nobody can change."""
    return MappingProxyType(dict(mapping or {}))


class MemberState(StrEnum):
    """How a member answers; `refused`: it says no (401, 403, a certificate); `cordoned`: a person did."""

    READY = "ready"
    SLOW = "slow"
    DARK = "dark"
    REFUSED = "refused"
    CORDONED = "cordoned"


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """A node's taint; `effect` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class NodeClass:
    """What a filter may ask of a node apart from its room: labels (sorted pairs) and taints (sorted)."""

    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()

    def label(self, name: str) -> str | None:
        """The value of one label, None where it is absent."""
        return next((value for key, value in self.labels if key == name), None)


@dataclass(frozen=True, slots=True)
class Nodes:
    """A cluster's nodes, g rows of nodes that are alike; R resources in the order of `resources`.

    resources: names, beginning with BASE_RESOURCES. class_of, count: (g,). allocatable, requested: (g, R), a node each;
    requested counts every pod bound there that has not ended. used: (g, 2) CPU and memory in use, NaN where unknown or
    stale. gpu_free: (g, D) free thousandths of each GPU, highest first, D = 0 where there are none. schedulable: (g,)
    ready, not cordoned and every field readable; other rows are kept so that totals are true. names: of the nodes in
    each row, None for a summary. hosts: the host name label of nodes for which it is not their name.
    """

    resources: tuple[str, ...]
    classes: tuple[NodeClass, ...]
    class_of: Int32Array
    count: Int32Array
    allocatable: IntArray
    requested: IntArray
    used: FloatArray
    gpu_free: Int16Array
    schedulable: BoolArray
    names: tuple[tuple[str, ...], ...] | None = None
    hosts: Mapping[str, str] = field(default_factory=frozen)

    def __len__(self) -> int:
        return len(self.count)

    @property
    def free(self) -> IntArray:
        """Room of one node of each row, (g, R); never negative."""
        room: IntArray = np.maximum(self.allocatable - self.requested, 0)
        return room

    @property
    def judged_free(self) -> IntArray:
        """Room by whichever is more, requests or fresh usage, (g, R): less than `free` where pods overstep requests."""
        taken = self.requested.copy()
        taken[:, : MEMORY + 1] = np.fmax(taken[:, : MEMORY + 1], self.used).astype(np.int64)
        room: IntArray = np.maximum(self.allocatable - taken, 0)
        return room

    def total(self, amounts: IntArray, *, schedulable: bool = True) -> dict[str, int]:
        """Sum over the nodes of a (g, R) array, by resource; only over schedulable ones unless said otherwise."""
        weight = self.count * self.schedulable if schedulable else self.count
        return dict(zip(self.resources, (amounts * weight[:, None]).sum(axis=0).tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota: `hard` and `used` by name as Kubernetes spells it (requests.cpu, pods, ...), in base units."""

    namespace: str
    name: str
    hard: Mapping[str, int]
    used: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Running:
    """Instances of one workload in one cluster: wanted there, existing, ready; `pending` of those cannot be bound.

    each: what the newest of its pods takes of a node, by resource; None where no pod told it.
    """

    wanted: int
    existing: int
    ready: int
    pending: int = 0
    each: tuple[tuple[str, int], ...] | None = field(default=None, compare=False)


class InstanceUse(NamedTuple):
    """What one instance of a workload uses, the mean of `instances` of them: thousandths of a core and bytes, as of
    `at`.
    """

    cpu: float
    memory: float
    instances: int
    at: float


@dataclass(frozen=True, slots=True)
class Headroom:
    """Declared room of a cluster whose nodes autoscale: up to `nodes` more of this shape, each after `start_s`."""

    nodes: int
    allocatable: Mapping[str, int]
    start_s: float


@dataclass(frozen=True, slots=True)
class Ages:
    """When each datum of a cluster was last known true, None for never; `answer` is the last answer of any kind."""

    answer: float | None = None
    nodes: float | None = None
    pods: float | None = None
    quotas: float | None = None
    metrics: float | None = None

    def at(self, now: float) -> dict[str, float | None]:
        """Seconds of age of each, None for never."""
        stamps = {name: getattr(self, name) for name in ("answer", "nodes", "pods", "quotas", "metrics")}
        return {name: None if stamp is None else max(0.0, now - stamp) for name, stamp in stamps.items()}


@dataclass(frozen=True, slots=True)
class Cluster:
    """One member as it was last seen. `name` is the member's id; `context` is what its kubeconfig calls it.

    price: of capacity, relative to 1.0. labels: of the cluster (from configuration or a ClusterProfile). running: by
    workload key `namespace/name`. present: names that exist there, by kind in lower case ("namespace",
    "configmap:shop", ...), None where they are not watched. start_s: median start of an instance there,
    from bound to ready, None unknown.
    """

    name: str
    context: str
    state: MemberState
    since: float
    nodes: Nodes
    region: str | None = None
    price: float = 1.0
    labels: Mapping[str, str] = field(default_factory=frozen)
    quotas: tuple[Quota, ...] = ()
    running: Mapping[str, Running] = field(default_factory=frozen)
    present: Mapping[str, frozenset[str]] | None = None
    headroom: Headroom | None = None
    start_s: float | None = None
    ages: Ages = field(default_factory=Ages)
    use: Mapping[str, InstanceUse] = field(default_factory=frozen)
    """Measured, by workload key; absent where nothing fresh is known."""
    unserved: frozenset[str] = frozenset()
    """Kinds of workload, as `Workload.kind` spells them, that its API is known not to have."""
    why: str | None = None
    """What is wrong where the state is not ready."""
    notes: tuple[str, ...] = ()
    """What a person should know whatever the state: usage unavailable, a datum that may not be read, a clock off."""


@dataclass(frozen=True, slots=True)
class Links:
    """The network between clusters, in the order of `names`. delay_ms, bandwidth_mbps: (n, n), one way, NaN unknown."""

    names: tuple[str, ...] = ()
    delay_ms: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    bandwidth_mbps: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The fleet at one moment. `clusters` are sorted by name; `calls` is the service graph."""

    at: float
    clusters: tuple[Cluster, ...]
    links: Links = field(default_factory=Links)
    calls: tuple[Call, ...] = ()

    def cluster(self, name: str) -> Cluster | None:
        """The cluster of that name."""
        return next((one for one in self.clusters if one.name == name), None)

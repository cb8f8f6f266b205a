"""What is asked of placement: one workload, with everything about it that a filter or a factor reads.

A value, made from a manifest or from the API's own form at the border; amounts are whole numbers in base units as in
`federation.snapshot`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from federation.snapshot import frozen


@dataclass(frozen=True, slots=True)
class Toleration:
    """As in Kubernetes: an empty key with operator Exists tolerates everything; an empty effect means all effects."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression of a selector: operator In, NotIn, Exists, DoesNotExist, Gt or Lt over a label's value."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Affinity:
    """Which clusters and nodes may be used; empty means any.

    regions, clusters: allowed. exclude: clusters that are not. cluster_labels: all must hold on the cluster's labels.
    node_terms: one of the groups must hold as a whole on the node's labels (required node affinity); a nodeSelector is
    merged into every group. preferred: (weight 1-100, group) on node labels.
    """

    regions: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    cluster_labels: tuple[Requirement, ...] = ()
    node_terms: tuple[tuple[Requirement, ...], ...] = ()
    preferred: tuple[tuple[int, tuple[Requirement, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Spread:
    """How instances must be spread over clusters."""

    max_per_cluster: int | None = None
    min_clusters: int = 1


@dataclass(frozen=True, slots=True)
class GpuNeed:
    """GPUs of one instance: `count` whole ones (milli = 1000), or one share of `milli` thousandths; allowed models."""

    count: int = 0
    milli: int = 0
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls that come from a region or from a cluster, per second."""

    calls_per_s: float
    region: str | None = None
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Callee:
    """What an invocation calls in turn."""

    key: str
    calls_per_invocation: float
    payload_kib: float = 0.0


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload to be placed. `requests` are those of one instance, by resource name; pods (1) need not be given.

    architecture: of the image, None where nobody said. tenant and residency: isolation and the regions that its data
    may be in. needs: what must exist in the target (kind -> names, as in Cluster.present), the namespace among it.
    demand_per_s: forecast calls a second in the horizon, None unknown.
    """

    key: str
    kind: str
    replicas: int
    requests: Mapping[str, int] = field(default_factory=frozen)
    gpu: GpuNeed = field(default_factory=GpuNeed)
    affinity: Affinity = field(default_factory=Affinity)
    tolerations: tuple[Toleration, ...] = ()
    architecture: tuple[str, ...] = ()
    tenant: str | None = None
    residency: tuple[str, ...] = ()
    spread: Spread = field(default_factory=Spread)
    priority: int = 0
    callers: tuple[Caller, ...] = ()
    calls: tuple[Callee, ...] = ()
    needs: Mapping[str, frozenset[str]] = field(default_factory=frozen)
    splittable: bool = True
    """False for a gang: all instances in one cluster or none anywhere."""
    ready_minimum: int = 0
    """Never fewer ready instances than this while it moves."""
    demand_per_s: float | None = None
    priority_class: str | None = None
    """The PriorityClass that its pods name; must exist where they run."""
    limits: Mapping[str, int] = field(default_factory=frozen)
    """Limits of one instance by resource, for quotas that count them; a limit that is not given is the request."""
    brings_needs: bool = False
    """What it needs (namespace, configuration, secrets) will be copied to where it goes from a cluster that has it."""
    one_per_node: str | None = None
    """Why a node takes one instance of it only; None where it takes as many as fit."""
    left_open: tuple[str, ...] = ()
    """What may keep its instances from running that placement does not judge, in sentences."""

    @property
    def kinds_needed(self) -> frozenset[str]:
        """Kinds of which the names must be known to tell whether what it needs is there."""
        kinds = {kind.partition(":")[0] for kind, names in self.needs.items() if names}
        return frozenset(kinds | ({"priorityclass"} if self.priority_class else set()))

    @property
    def namespace(self) -> str:
        """The part of the key before the slash."""
        return self.key.partition("/")[0]

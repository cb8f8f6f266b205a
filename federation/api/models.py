"""The bodies of the fleet's routes, strict like those of the demand side."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from prewarm.http.models import Answer, Finite, Key, Label, Strict, Time, Whole

MAX_LINKS = 20_000
MAX_REPLICAS = 100_000

Quantity = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[0-9.+\-eEinumkKMGTP]+$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=r"^[^\s/%\x00-\x1f\x7f]+$")]
Names = Annotated[list[Name], Field(max_length=1_000)]
State = Literal["ready", "slow", "dark", "refused", "cordoned"]


class RequirementIn(Strict):
    """One expression of a label selector."""

    key: Label
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: Annotated[list[str], Field(max_length=200)] = []


class AffinityIn(Strict):
    """Which clusters and nodes may be used; what is left out allows all."""

    regions: Names = []
    clusters: Names = []
    exclude: Names = []
    cluster_labels: Annotated[list[RequirementIn], Field(max_length=100)] = []
    node_terms: Annotated[list[list[RequirementIn]], Field(max_length=100)] = []


class TolerationIn(Strict):
    """As in Kubernetes."""

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""


class SpreadIn(Strict):
    """How instances are spread over clusters."""

    max_per_cluster: Annotated[Whole, Field(ge=1, le=MAX_REPLICAS)] | None = None
    min_clusters: Annotated[Whole, Field(ge=1, le=1_000)] = 1


class GpuIn(Strict):
    """GPUs of one instance: whole ones, or one share in thousandths."""

    count: Annotated[Whole, Field(ge=0, le=64)] = 0
    milli: Annotated[Whole, Field(ge=0, le=1_000)] = 0
    models: Names = []


class CallerIn(Strict):
    """Calls from a region or a cluster."""

    region: Name | None = None
    cluster: Name | None = None
    calls_per_s: Finite


class CalleeIn(Strict):
    """What an invocation calls in turn."""

    key: Key
    calls_per_invocation: Annotated[float, Field(ge=0, le=10_000)] = 1.0
    payload_kib: Finite = 0.0


class WorkloadIn(Strict):
    """A workload in our own form; amounts are those of one instance."""

    key: Key
    kind: Literal["deployment", "knative", "job"] = "deployment"
    replicas: Annotated[Whole, Field(ge=0, le=MAX_REPLICAS)]
    requests: Annotated[dict[Label, Quantity], Field(max_length=50)] = {}
    gpu: GpuIn = GpuIn()
    affinity: AffinityIn = AffinityIn()
    node_selector: Annotated[dict[Label, str], Field(max_length=100)] = {}
    tolerations: Annotated[list[TolerationIn], Field(max_length=100)] = []
    architecture: Names = []
    tenant: Label | None = None
    residency: Names = []
    spread: SpreadIn = SpreadIn()
    priority: Annotated[Whole, Field(ge=-(2**31), le=2**31 - 1)] = 0
    callers: Annotated[list[CallerIn], Field(max_length=1_000)] = []
    calls: Annotated[list[CalleeIn], Field(max_length=1_000)] = []
    splittable: bool = True
    ready_minimum: Annotated[Whole, Field(ge=0, le=MAX_REPLICAS)] = 0


class PlacementIn(Strict):
    """A question: a workload in our form, or a manifest. Nothing is carried out unless `dry_run` is false."""

    workload: WorkloadIn | None = None
    manifest: dict[str, Any] | None = None
    dry_run: bool = True
    deadline_ms: Annotated[float, Field(gt=0, le=60_000)] = 1_000
    with_dependencies: bool = False


class ShareOut(Answer):
    """Instances in one cluster and its part of the traffic."""

    cluster: str
    replicas: int
    weight: float


class PlacementAnswer(Answer):
    """Where it goes, or would go."""

    decision: str
    placements: list[ShareOut]
    unplaced: int
    reserved_until: Time | None
    dry_run: bool
    rule_decided: bool
    why: str | None


class ClusterRow(Answer):
    """One member of the fleet as it was last seen."""

    name: str
    context: str
    state: State
    since: Time
    last_answer_s: float | None
    nodes: int
    allocatable: dict[str, float]
    requested: dict[str, float]
    in_flight: dict[str, float]
    price: float
    region: str | None
    ages_s: dict[str, float | None]


class BrokenRow(Answer):
    """A context that could not become a member."""

    name: str
    context: str
    why: str


class ClusterList(Answer):
    """The fleet, by name."""

    clusters: list[ClusterRow]
    broken: list[BrokenRow]
    next: str | None


class LinkIn(Strict):
    """The network between two clusters or regions."""

    a: Name
    b: Name
    delay_ms: Annotated[float, Field(ge=0, le=60_000)]
    bandwidth_mbps: Annotated[float, Field(gt=0, le=1e9)] | None = None


class Network(Strict):
    """All links; both directions are alike unless the other one is given as well."""

    links: Annotated[list[LinkIn], Field(max_length=MAX_LINKS)]


class Maintenance(Strict):
    """Why a cluster is taken out of use, and by whom."""

    owner: Label
    reason: Label

"""The bodies of the fleet's routes, strict like those of the demand side."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from federation.manifest.form import WorkloadForm
from prewarm.http.models import Answer, Strict
from prewarm.http.words import Label, Time

MAX_LINKS = 20_000

Name = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=r"^[^\s/%\x00-\x1f\x7f]+$")]
State = Literal["ready", "slow", "dark", "refused", "cordoned"]
Became = Literal[
    "dry_run", "reserved", "released", "carried_out", "unchanged", "under_way", "refused", "undone", "unfinished"
]


class PlacementIn(Strict):
    """A question: a workload in our own form, or a manifest. Nothing is carried out unless `dry_run` is false."""

    workload: WorkloadForm | None = None
    manifest: dict[str, Any] | None = None
    dry_run: bool = True
    deadline_ms: Annotated[float, Field(gt=0, le=600_000)] = 10_000
    """For the whole request; what is being carried out then goes on."""
    with_dependencies: bool = False
    """Copy what the workload needs to where it is absent."""


class ShareOut(Answer):
    """Instances in one cluster and its part of the traffic."""

    cluster: str
    replicas: int
    weight: float


class PlacementAnswer(Answer):
    """Where it goes, or would go; `became` says what was done about it."""

    decision: str
    placements: list[ShareOut]
    unplaced: int
    reserved_until: Time | None
    dry_run: bool
    rule_decided: bool
    why: str | None
    became: Became
    filtered: list[dict[str, Any]]
    notes: list[str]


class EndAnswer(Answer):
    """What became of ending a placement."""

    key: str
    became: Became
    removed: list[str]
    kept: list[str]
    why: str | None


class PlacedRow(Answer):
    """A workload that is kept placed, and where it is."""

    key: str
    kind: str | None
    replicas: int | None
    """Null where what was kept can no longer be read."""
    clusters: dict[str, int]
    ready: dict[str, int]
    decision: str | None
    since: Time
    trouble: str | None
    """What stands in the way of placing it as wanted; null where nothing does."""


class PlacedList(Answer):
    """Workloads that are kept placed, by key."""

    placements: list[PlacedRow]
    next: str | None


class ClusterRow(Answer):
    """One member of the fleet as it was last seen; resources by name, CPU in cores, memory in bytes."""

    name: str
    context: str
    state: State
    since: Time
    last_answer_s: float | None
    nodes: int | None
    """Those that take work. Null, as the next three, where nodes (for `requested` also pods) were never seen."""
    nodes_in_all: int | None
    allocatable: dict[str, float] | None
    requested: dict[str, float] | None
    used: dict[str, float | None]
    """Measured; null where no node tells it."""
    in_flight: dict[str, float]
    instances: int | None
    """Null, as `ready`, where pods were never seen."""
    ready: int | None
    start_s: float | None
    """Median seconds from an instance's binding to its readiness, over the last hour; null where too few are known."""
    price: float
    region: str | None
    ages_s: dict[str, float | None]
    why: str | None
    notes: list[str]


class ClusterList(Answer):
    """The fleet, by name."""

    clusters: list[ClusterRow]
    next: str | None


class RunningRow(Answer):
    """Instances of one workload in a cluster."""

    key: str
    wanted: int
    existing: int
    ready: int
    pending: int
    used: dict[str, float] | None
    """Measured: cores and bytes of one instance; null where nothing fresh is known."""


class ClusterAnswer(ClusterRow):
    """One member, with what runs there and its links."""

    running: list[RunningRow]
    links_ms: dict[str, float | None]


class LinkIn(Strict):
    """The network between two clusters or regions."""

    a: Name
    b: Name
    delay_ms: Annotated[float, Field(ge=0, le=60_000)]
    bandwidth_mbps: Annotated[float, Field(gt=0, le=1e9)] | None = None


class Network(Strict):
    """All links; both directions are alike unless the other one is given as well."""

    links: Annotated[list[LinkIn], Field(max_length=MAX_LINKS)]


class NetworkAnswer(Answer):
    """The links as they were set, and the one-way delays that follow between clusters, null where unknown."""

    links: list[LinkIn]
    clusters: list[str]
    delay_ms: list[list[float | None]]


class Maintenance(Strict):
    """Why a cluster is taken out of use, and by whom; `drain` also moves away what runs there."""

    owner: Label
    reason: Label
    drain: bool = False


class MaintenanceAnswer(Answer):
    """What was said of a cluster."""

    cluster: str
    state: Literal["cordoned", "draining", "open"]

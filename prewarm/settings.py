"""Configuration as frozen values, grouped by subject: read once, validated once, passed down explicitly.

The bounds stand beside the fields (`Annotated` with annotated-types), so that the reader of the TOML file and the HTTP
API enforce the same rules. Decision code receives these values and never looks for a file or an environment variable.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Interval, MinLen

from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S, Mode

Count = Annotated[int, Interval(ge=0, le=100_000)]
Seconds = Annotated[float, Interval(ge=0, le=86_400)]
MinuteOfDay = Annotated[int, Interval(ge=0, le=1440)]
Lasting = Annotated[float, Interval(gt=0, le=86_400)]
Days = Annotated[int, Interval(ge=1, le=3_660)]
Positive = Annotated[float, Interval(gt=0, le=1e9)]
ScorerMode = Literal["off", "shadow", "promote"]
Weight = Annotated[float, Interval(ge=0, le=100)]


@dataclass(frozen=True, slots=True)
class Window:
    """Bounds that hold on some days between two local times; `end` before `start` runs over midnight."""

    days: tuple[Annotated[int, Interval(ge=0, le=6)], ...] = (0, 1, 2, 3, 4, 5, 6)
    """Weekdays, Monday is 0; for a window over midnight, the day on which it starts."""
    start_minute: MinuteOfDay = 0
    """Minute of the local day at which it opens."""
    end_minute: MinuteOfDay = 1440
    """Minute of the local day at which it closes, itself left out."""
    zone: str = "UTC"
    """IANA time zone of the local times."""
    min: Count | None = None
    """Floor of warm instances inside the window."""
    max: Count | None = None
    """Ceiling inside the window."""


@dataclass(frozen=True, slots=True)
class FunctionPolicy:
    """How functions whose key matches `key` are sized; the last matching entry wins, field by field it is complete."""

    key: Annotated[str, MinLen(1)] = "*"
    """A key `namespace/name` or a shell pattern over keys."""
    cold_cost: Annotated[float, Interval(ge=0, le=1e6)] = COLD_COST
    """Price of one cold start."""
    idle_cost_per_gb_s: Annotated[float, Interval(ge=0, le=1e6)] = IDLE_COST_PER_GB_S
    """Price of one idle GB-second (GB of 1,000 MB)."""
    latency_goal_ms: Positive | None = None
    """Wished P99 of the wait for an instance; raises cold_cost until the share of cold calls allows it."""
    min: Count = 0
    """Never fewer warm instances than this."""
    max: Count | None = None
    """Never more than this."""
    windows: tuple[Window, ...] = ()
    """Bounds by time of day; inside a window its min and max replace the plain ones."""
    concurrency: Annotated[int, Interval(ge=1, le=10_000)] = 1
    """Calls that one instance serves at a time."""
    utilisation: Annotated[float, Interval(ge=0.01, le=1)] = 1.0
    """Share of the concurrency that sizing counts on."""
    memory_mib: Positive | None = None
    """Memory of an instance; unknown means the fleet's median, and the decision says so."""
    start_s: Seconds | None = None
    """Start-up time to plan with until enough starts were measured."""
    step_up: Count | None = None
    """Most instances added by one decision."""
    step_down: Count | None = None
    """Most instances let go by one decision."""
    down_delay_s: Seconds = 0.0
    """A fall is carried out only after it was wanted for this long."""

    def matches(self, key: str) -> bool:
        """Whether this entry speaks of `key`."""
        return fnmatch.fnmatchcase(key, self.key)


@dataclass(frozen=True, slots=True)
class Call:
    """One edge of the service graph."""

    caller: str
    callee: str
    calls_per_invocation: Annotated[float, Interval(ge=0, le=10_000)] = 1.0
    """Mean calls of the callee for each call of the caller."""
    delay_s: Seconds = 0.0
    """Time from the caller's start to the call."""
    payload_kib: Annotated[float, Interval(ge=0, le=1e9)] = 0.0


@dataclass(frozen=True, slots=True)
class Event:
    """Something that people know of beforehand: from start to end these functions need so many instances."""

    name: Annotated[str, MinLen(1)]
    function: Annotated[str, MinLen(1)]
    """A key or a shell pattern over keys."""
    start: datetime
    end: datetime
    """Both with a zone."""
    need: Annotated[int, Interval(ge=1, le=10_000)]
    sure: Annotated[float, Interval(gt=0, lt=1)] = 0.95
    """How likely it is; against the prices this decides whether instances are started for it."""
    spread: Annotated[float, Interval(ge=0, le=2)] = 0.0
    """How far off `need` may be, as the standard deviation of its logarithm (0.3: by a third)."""

    def covers(self, first: float, last: float) -> bool:
        """Whether any of the time from `first` to `last` (seconds since the epoch) lies in the event."""
        return self.start.timestamp() < last and first < self.end.timestamp()


@dataclass(frozen=True, slots=True)
class Retention:
    """How long things are kept, and at which grain."""

    minute_days: Annotated[int, Interval(ge=1, le=40)] = 2
    """Counts at minute grain, in days."""
    five_minute_days: Days = 7
    """Then at five minutes."""
    hour_days: Days = 14
    """Then by the hour."""
    late_s: Lasting = 900.0
    """Counts older than this on arrival are refused."""
    decisions_days: Days = 14
    audit_days: Days = 365


@dataclass(frozen=True, slots=True)
class Auth:
    """Bearer tokens; without any the service serves loopback only. Each is kept as its SHA-256, never as itself."""

    read_token_sha256: tuple[str, ...] = ()
    write_token_sha256: tuple[str, ...] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    token_review: str | None = None
    """A member of the fleet that is asked about tokens which are in neither list, and about their bearers' rights."""


@dataclass(frozen=True, slots=True)
class Serve:
    """The service itself."""

    listen: str = "127.0.0.1:8808"
    tick_s: Annotated[float, Interval(ge=1, le=3600)] = 60.0
    """Seconds between decisions."""
    stale_s: Lasting = 180.0
    """Without news of a function for this long its data is stale and its pool is not cut."""
    database: str = "sqlite:///state/prewarm.db"
    mode: Mode = Mode.SHADOW
    budget_gib: Positive | None = None
    """Most memory that warm instances may hold in all; the least useful are let go first."""


@dataclass(frozen=True, slots=True)
class Headroom:
    """Room that a cluster declares because its nodes autoscale: up to `nodes` more of this shape."""

    nodes: Annotated[int, Interval(ge=1, le=100_000)]
    cpu: str
    memory: str
    """Allocatable of one such node, as Kubernetes quantities."""
    start_s: Seconds = 120.0
    """From wanting a node to its being ready."""
    gpus: Count = 0


@dataclass(frozen=True, slots=True)
class ClusterPolicy:
    """What a kubeconfig does not say of a cluster; `name` is a member's id or its context's name."""

    name: Annotated[str, MinLen(1)]
    context: str | None = None
    """The context, where `name` is to be another word for it."""
    region: str | None = None
    price: Annotated[float, Interval(ge=0, le=1e6)] = 1.0
    """Price of its capacity against that of the others."""
    autoscale_headroom: Headroom | None = None
    cordoned: bool = False
    """Nothing new goes there."""


@dataclass(frozen=True, slots=True)
class Link:
    """The network between two clusters or regions, the same both ways unless the other way is given as well."""

    a: Annotated[str, MinLen(1)]
    b: Annotated[str, MinLen(1)]
    delay_ms: Annotated[float, Interval(ge=0, le=60_000)]
    """One way."""
    bandwidth_mbps: Positive | None = None


@dataclass(frozen=True, slots=True)
class FactorWeights:
    """Weight of each named factor of the placement rule; docs/placement.md says how the defaults were chosen."""

    fit: Weight = 0.5
    fragmentation: Weight = 0.5
    future_fill: Weight = 1.0
    network: Weight = 1.0
    warm: Weight = 0.5
    price: Weight = 0.5
    headroom: Weight = 0.5
    steadiness: Weight = 1.0
    risk: Weight = 1.0


@dataclass(frozen=True, slots=True)
class PlacementPolicy:
    """How workloads are placed over the fleet."""

    weights: FactorWeights = field(default_factory=FactorWeights)
    gpu_measured: bool = True
    """What needs GPUs is packed by the rule that `bench openb` measures, once a mix of work is known: `future_fill` has
    the weights of `fit`, `fragmentation` and `headroom` too."""
    outlook_s: Annotated[float, Interval(ge=1, le=86_400)] = 60.0
    """The forecast mix is looked at anew this often, and sooner where it changed by a tenth."""
    outlook_load: Annotated[float, Interval(ge=1, le=10)] = 1.3
    """Work is expected until this many times the capacity is asked for."""
    spread_temperature: Annotated[float, Interval(ge=0, le=10)] = 0.0
    """0 sends all to the best cluster while it has room; higher divides more evenly."""
    reserve_s: Lasting = 90.0
    """Room that was promised and is not seen taken is held this long."""
    member_deadline_s: Annotated[float, Interval(gt=0, le=120)] = 3.0
    """A member that does not answer within this is passed over."""
    stale_s: Lasting = 120.0
    """A member whose nodes or pods were not seen for this long gets nothing new."""
    metrics_stale_s: Lasting = 180.0
    """Older usage is not believed; requests count instead."""
    moves_per_hour: Count = 60
    """Most instances moved between clusters in an hour, new ones not counted."""
    failback_s: Lasting = 300.0
    """A cluster that came back must be well for this long before work returns to it."""
    delay_price_per_s: Annotated[float, Interval(ge=0, le=1e6)] = 3.0
    """Price of a second of delay of one call, in the unit of cold_cost; 0 keeps one shared pool for each function."""
    own_pool_at: Positive = 1.0
    """A region gets a pool of its own where it saves so many times in delay what splitting the pool costs."""
    scorer: str = "off"
    """Which learned scorer of the entry-point group prewarm.scorers is asked, such as learned; off: the rule alone."""
    scorer_mode: ScorerMode = "shadow"
    """How far it may go until somebody says otherwise: off, shadow (compared only), or promote."""
    scorer_weights: Path | None = None
    """Its weights; those that ship where nothing is given."""
    scorer_deadline_ms: Annotated[float, Interval(gt=0, le=1_000)] = 10.0
    """Later than this, the rule decides."""
    paused: bool = False
    """The kill switch: nothing is placed or moved."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the service was told."""

    serve: Serve = field(default_factory=Serve)
    retention: Retention = field(default_factory=Retention)
    auth: Auth = field(default_factory=Auth)
    function: tuple[FunctionPolicy, ...] = ()
    call: tuple[Call, ...] = ()
    event: tuple[Event, ...] = ()
    cluster: tuple[ClusterPolicy, ...] = ()
    link: tuple[Link, ...] = ()
    placement: PlacementPolicy = field(default_factory=PlacementPolicy)

    def policy_of(self, key: str) -> FunctionPolicy:
        """The last entry that matches `key`, or the defaults."""
        return next((entry for entry in reversed(self.function) if entry.matches(key)), FunctionPolicy())

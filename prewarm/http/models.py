"""The bodies of the API as pydantic models: names, units and bounds, and nothing else is let in.

Strict: a number in quotes is no number, an unknown field is a fault, NaN does not exist. Answers have models too, so
that the OpenAPI document can describe them; handlers write plain dictionaries of the same shape.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from prewarm.domain import Action, Mode
from prewarm.http.words import (
    MAX_EVENTS,
    MAX_SERIES,
    MAX_STEPS,
    MAX_VALUES,
    PRINTABLE,
    CountIn,
    DataName,
    Finite,
    Key,
    Label,
    ModelName,
    Namespace,
    Probability,
    SecondsIn,
    Share,
    Time,
    Whole,
    Zone,
)


class Strict(BaseModel):
    """What comes in: strict types, no unknown fields, no NaN."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Answer(BaseModel):
    """What goes out; fields may be added later."""

    model_config = ConfigDict(extra="allow")


class Event(Strict):
    """Calls of one function in one window of time."""

    function: Key
    at: Time
    window_s: Annotated[Whole, Field(ge=1, le=3600)] = 60
    count: Annotated[Whole, Field(ge=0, le=1_000_000_000)] | None
    concurrency_mean: Annotated[float, Field(ge=0, le=1e6)] | None = None
    duration_ms_mean: Finite | None = None


class InvocationBatch(Strict):
    """A batch of a source; the pair (source, sequence) counts once. A null count says that it is not known."""

    source: Label
    sequence: Annotated[Whole, Field(ge=0, le=2**53)]
    events: Annotated[list[Event], Field(max_length=MAX_EVENTS)]


class Rejected(Answer):
    """An event that was not taken, by its place in the batch."""

    index: int
    reason: str


class Accepted(Answer):
    """What became of a batch."""

    accepted: int
    rejected: list[Rejected]


class SeriesIn(Strict):
    """Counts of one function, one every `step_s` seconds from `start` on; null is not known."""

    id: Label
    step_s: Annotated[Whole, Field(ge=1, le=86_400)] = 60
    start: Time | None = None
    values: Annotated[list[Finite | None], Field(max_length=MAX_VALUES)]


class ForecastRequest(Strict):
    """Series in, quantiles out; nothing is kept."""

    series: Annotated[list[SeriesIn], Field(min_length=1, max_length=MAX_SERIES)]
    steps: Annotated[Whole, Field(ge=1, le=MAX_STEPS)] = 15
    quantiles: Annotated[
        list[Probability], Field(min_length=1, max_length=20, json_schema_extra={"uniqueItems": True})
    ] = [0.5, 0.9, 0.99]
    model: ModelName = "auto"
    season_steps: Annotated[Whole, Field(ge=2, le=100_000)] | None = None
    trend: Literal["add", "mul"] = "add"
    seasonal: Literal["add", "mul"] = "add"
    zone: Zone = "UTC"


class Step(Answer):
    """Demand in one step, as a distribution."""

    at: str
    mean: float
    quantiles: dict[str, float]
    p_at_least: dict[str, float]


class ForecastAnswer(Answer):
    """The forecast of one function; decisions of its minute name it by `id`."""

    id: str
    function: str
    issued_at: str
    step_s: int
    model: str
    reason: str
    data: DataName
    steps: list[Step]


class ForecastAnswers(Answer):
    """One forecast for each series, in order; a single one's fields stand at the top as well."""

    forecasts: list[ForecastAnswer]


class FunctionRow(Answer):
    """One function as the list shows it."""

    key: str
    warm: int
    needed: int
    data: DataName
    data_age_s: float | None
    last_call: str | None
    model: str
    mode: Mode
    override: dict[str, Any] | None


class FunctionList(Answer):
    """A page of functions; `next` is the cursor of the following page."""

    functions: list[FunctionRow]
    next: str | None


class DecisionAnswer(Answer):
    """One decision with everything that explains it."""

    id: str
    kind: str
    at: str
    function: str
    cluster: str | None
    mode: Mode
    applied: bool
    policy: dict[str, Any]
    inputs: dict[str, Any]
    reasons: list[dict[str, Any]]
    held: str | None


class DecisionList(Answer):
    """A page of decisions, newest first."""

    decisions: list[DecisionAnswer]
    next: str | None


class OverrideIn(Strict):
    """A person's word on one function. `expires_at` is required; null means until it is ended."""

    action: Action = Field(strict=False)
    value: Annotated[Whole, Field(ge=0, le=100_000)] | None = None
    owner: Label
    reason: Annotated[str, StringConstraints(min_length=1, max_length=1_000, pattern=PRINTABLE)]
    expires_at: Time | None


class OverrideAnswer(Answer):
    """An override as it stands."""

    function: str
    cluster: str | None
    action: Action
    value: int | None
    owner: str
    reason: str
    created_at: str
    expires_at: str | None


class OverrideList(Answer):
    """The overrides that hold now."""

    overrides: list[OverrideAnswer]
    next: str | None


class AuditEntry(Answer):
    """One change by a person."""

    at: str
    actor: str
    what: str
    name: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class AuditList(Answer):
    """Changes by people, newest first."""

    audit: list[AuditEntry]
    next: str | None


StrictMode = Annotated[Mode, Field(strict=False)]


class Modes(Strict):
    """What the service may do: by default, and by namespace; and which share a learned policy decides."""

    default: StrictMode
    namespaces: Annotated[dict[Namespace, StrictMode], Field(max_length=10_000)] = {}
    learned_share: Annotated[dict[Namespace, Share], Field(max_length=10_000)] = {}


class CallIn(Strict):
    """One edge of the service graph."""

    caller: Key
    callee: Key
    calls_per_invocation: Annotated[float, Field(ge=0, le=10_000)] = 1.0
    delay_s: Annotated[float, Field(ge=0, le=86_400)] = 0.0
    payload_kib: Annotated[float, Field(ge=0, le=1e9)] = 0.0


class Graph(Strict):
    """Who calls whom."""

    calls: Annotated[list[CallIn], Field(max_length=200_000)]


class WindowIn(Strict):
    """Bounds on some days between two local times."""

    days: Annotated[list[Annotated[Whole, Field(ge=0, le=6)]], Field(max_length=7)] = [0, 1, 2, 3, 4, 5, 6]
    start_minute: Annotated[Whole, Field(ge=0, le=1440)] = 0
    end_minute: Annotated[Whole, Field(ge=0, le=1440)] = 1440
    zone: Zone = "UTC"
    min: CountIn | None = None
    max: CountIn | None = None


class PolicyIn(Strict):
    """How a function is sized; see the configuration for what each field means."""

    key: Key | None = None
    cold_cost: Annotated[float, Field(ge=0, le=1e6)] = 0.808
    idle_cost_per_gb_s: Annotated[float, Field(ge=0, le=1e6)] = 1 / 99.69
    latency_goal_ms: Annotated[float, Field(gt=0, le=1e9)] | None = None
    min: CountIn = 0
    max: CountIn | None = None
    windows: Annotated[list[WindowIn], Field(max_length=100)] = []
    concurrency: Annotated[Whole, Field(ge=1, le=10_000)] = 1
    utilisation: Annotated[float, Field(ge=0.01, le=1)] = 1.0
    memory_mib: Annotated[float, Field(gt=0, le=1e9)] | None = None
    start_s: SecondsIn | None = None
    step_up: CountIn | None = None
    step_down: CountIn | None = None
    down_delay_s: SecondsIn = 0.0


class PolicyAnswer(Answer):
    """How a function is sized, and where that was said."""

    key: str
    source: Literal["api", "configuration"]

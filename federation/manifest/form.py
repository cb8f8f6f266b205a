"""Our own form of a workload, as POST /v1/placements and files take it.

Strict: an unknown field or a number in quotes is an InputError that names the field. Requests are Kubernetes
quantities; tolerations and requirements are spelled as in Kubernetes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from federation.manifest.nodes import architectures, requirement, toleration
from federation.manifest.podspec import GPU_RESOURCES, amount_of
from federation.placement.workload import Affinity, Callee, Caller, GpuNeed, Requirement, Spread, Workload
from federation.snapshot import GPU_WHOLE, frozen
from prewarm.domain import InputError, function_key

Count = Annotated[int, Field(ge=0, le=100_000)]
Name = Annotated[str, Field(min_length=1, max_length=253)]
Rate = Annotated[float, Field(ge=0, le=1e9)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class GpuForm(_Strict):
    """GPUs of one instance: whole ones, or thousandths of one."""

    count: Count = 0
    milli: Annotated[int, Field(ge=0, le=GPU_WHOLE)] = 0
    models: list[Name] = []


class RequirementForm(_Strict):
    """An expression on labels."""

    key: Name
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: list[str] = []


class AffinityForm(_Strict):
    """Where it may run; empty means anywhere."""

    regions: list[Name] = []
    clusters: list[Name] = []
    exclude: list[Name] = []
    cluster_labels: list[RequirementForm] = []
    node_terms: list[list[RequirementForm]] = []


class TolerationForm(_Strict):
    """A toleration as in Kubernetes."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class SpreadForm(_Strict):
    """How it is spread over clusters."""

    max_per_cluster: Annotated[int, Field(ge=1, le=100_000)] | None = None
    min_clusters: Annotated[int, Field(ge=1, le=10_000)] = 1


class CallerForm(_Strict):
    """Where calls come from."""

    calls_per_s: Rate
    region: Name | None = None
    cluster: Name | None = None


class CalleeForm(_Strict):
    """What an invocation calls."""

    key: str
    calls_per_invocation: Rate
    payload_kib: Rate = 0.0


class WorkloadForm(_Strict):
    """The body of `workload`."""

    key: str
    kind: Literal["knative", "deployment", "job"] = "deployment"
    replicas: Count
    requests: dict[str, str | int | float] = {}
    limits: dict[str, str | int | float] = {}
    gpu: GpuForm = GpuForm()
    affinity: AffinityForm = AffinityForm()
    tolerations: list[TolerationForm] = []
    architecture: list[Name] = []
    tenant: Name | None = None
    residency: list[Name] = []
    spread: SpreadForm = SpreadForm()
    priority: Annotated[int, Field(ge=-(2**31), lt=2**31)] = 0
    priority_class: Name | None = None
    callers: list[CallerForm] = []
    calls: list[CalleeForm] = []
    needs: dict[str, list[Name]] = {}
    splittable: bool = True
    ready_minimum: Count = 0
    demand_per_s: Rate | None = None


def read_form(raw: object, place: str) -> Workload:
    """The workload that the form describes; InputError naming the field and the rule."""
    try:
        form = WorkloadForm.model_validate(raw)
    except ValidationError as error:
        raise InputError(f"{place}{_first_fault(error)}") from None
    return workload_of(form, place)


def workload_of(form: WorkloadForm, place: str) -> Workload:
    """The workload of a form that was validated; InputError naming the field and the rule where it cannot be meant."""
    key = function_key(form.key, f"{place}.key")
    requests = {name: amount_of(name, raw, f"{place}.requests.{name}") for name, raw in form.requests.items()}
    needs = {kind: frozenset(names) for kind, names in form.needs.items()}
    namespace = key.partition("/")[0]
    affinity = _affinity(form.affinity, f"{place}.affinity")
    return Workload(
        key=key,
        kind=form.kind,
        replicas=form.replicas,
        requests=frozen(requests),
        limits=frozen({name: amount_of(name, raw, f"{place}.limits.{name}") for name, raw in form.limits.items()}),
        gpu=_gpu(form.gpu, requests),
        affinity=affinity,
        tolerations=tuple(
            toleration(one.model_dump(), f"{place}.tolerations[{position}]")
            for position, one in enumerate(form.tolerations)
        ),
        architecture=tuple(form.architecture) or architectures(affinity.node_terms),
        tenant=form.tenant,
        residency=tuple(form.residency),
        spread=Spread(form.spread.max_per_cluster, form.spread.min_clusters),
        priority=form.priority,
        priority_class=form.priority_class,
        callers=tuple(Caller(one.calls_per_s, one.region, one.cluster) for one in form.callers),
        calls=tuple(
            Callee(function_key(one.key, f"{place}.calls[{position}].key"), one.calls_per_invocation, one.payload_kib)
            for position, one in enumerate(form.calls)
        ),
        needs=frozen({"namespace": frozenset({namespace}), **needs}),
        splittable=form.splittable,
        ready_minimum=form.ready_minimum,
        demand_per_s=form.demand_per_s,
    )


def _gpu(form: GpuForm, requests: dict[str, int]) -> GpuNeed:
    whole = form.count or (0 if form.milli else sum(requests.get(name, 0) for name in GPU_RESOURCES))
    if whole:
        return GpuNeed(whole, GPU_WHOLE, tuple(form.models))
    return GpuNeed(0, form.milli, tuple(form.models))


def _affinity(form: AffinityForm, place: str) -> Affinity:
    return Affinity(
        regions=tuple(form.regions),
        clusters=tuple(form.clusters),
        exclude=tuple(form.exclude),
        cluster_labels=_requirements(form.cluster_labels, f"{place}.cluster_labels"),
        node_terms=tuple(
            _requirements(group, f"{place}.node_terms[{position}]") for position, group in enumerate(form.node_terms)
        ),
    )


def _requirements(forms: list[RequirementForm], place: str) -> tuple[Requirement, ...]:
    return tuple(requirement(one.model_dump(), f"{place}[{position}]") for position, one in enumerate(forms))


def _first_fault(error: ValidationError) -> str:
    first: Any = error.errors(include_url=False, include_context=False)[0]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"{where}: unknown field"
    if first["type"] == "missing":
        return f"{where}: is required"
    rule = str(first["msg"]).lower().replace("input should", "must")
    return f"{where}: {rule}, is {repr(first.get('input'))[:60]}"

"""From a Deployment, a Knative Service or a Job (or our own form) to the `Workload` that placement reads.

What Kubernetes has a field for is read from that field; what only placement asks (regions, residency, tenant, spread,
callers) is read from annotations of ours on the object itself. The number of instances is the Deployment's replicas,
the Job's parallelism, or the Service's floor; a Service that may scale to zero is placed as one instance.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from federation import labels
from federation.manifest.documents import COMPANIONS, KINDS, read_documents
from federation.manifest.fields import MOST_INSTANCES, Json, counted, listed, switched, table, text, whole
from federation.manifest.form import read_form
from federation.manifest.nodes import architectures, node_terms, preferred, tolerations
from federation.manifest.podspec import amount_of, gpu_of, limits_of, references, requests_of
from federation.manifest.scheduling import left_open, one_per_node
from federation.placement.workload import Affinity, Caller, Spread, Workload
from federation.snapshot import frozen
from prewarm.domain import InputError, function_key

AUTOSCALING = "autoscaling.knative.dev"
QUEUE_CPU_MILLI = 25
"""What Knative's queue-proxy asks for beside each instance (config-deployment, queue-sidecar-cpu-request)."""
_QUEUE = "queue.sidecar.serving.knative.dev"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_LONGEST_NAME = 253
_GROUP_LABELS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A workload and the object that it was read from; None where our own form was sent."""

    workload: Workload
    body: Json | None


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a file holds: workloads, and objects that are made wherever the workloads go."""

    manifests: tuple[Manifest, ...]
    companions: tuple[Json, ...]


def read_bundle(source: str, place: str, *, namespace: str = "default") -> Bundle:
    """The workloads and their companions of a file; InputError naming the document, the field and the rule.

    namespace: of objects that name none. What a companion provides is no longer needed of a cluster.
    """
    manifests: list[Manifest] = []
    companions: list[Json] = []
    for body, where in read_documents(source, place):
        if body.get("apiVersion") == "v1" and body.get("kind") in COMPANIONS:
            companions.append(_named(body, where, namespace))
        elif "apiVersion" not in body and ("workload" in body or "key" in body):
            manifests.append(Manifest(read_form(body.get("workload", body), where), None))
        else:
            manifests.append(read_manifest(body, where, namespace=namespace))
    twice = [key for key, count in Counter(one.workload.key for one in manifests).items() if count > 1]
    if twice:
        raise InputError(f"{place}: {twice[0]} stands in it more than once; a name is one workload, whatever its kind")
    if not manifests:
        raise InputError(f"{place}: holds nothing that can be placed; that is {_placeable()}")
    given = frozenset(_provides(one) for one in companions)
    return Bundle(tuple(_without(one, given) for one in manifests), tuple(companions))


def read_manifest(body: Json, place: str, *, namespace: str = "default") -> Manifest:
    """One object as a workload; InputError where its kind cannot be placed or a field breaks a rule."""
    kind = KINDS.get((str(body.get("apiVersion")), str(body.get("kind"))))
    if kind is None:
        raise InputError(
            f"{place}: {body.get('kind', 'an object without a kind')} ({body.get('apiVersion', 'no apiVersion')}) "
            f"cannot be placed; that is {_placeable()}"
        )
    body = _named(body, place, namespace)
    meta = body["metadata"]
    key = function_key(f"{meta['namespace']}/{meta['name']}", f"{place}.metadata")
    template, where = _template(body, place)
    pod = table(template, "spec", where)
    if not pod.get("containers"):
        raise InputError(f"{where}.spec.containers: must not be empty")
    workload = _from_pod(Workload(key, kind, _replicas(kind, body, place)), pod, f"{where}.spec")
    marks = {**table(table(template, "metadata", where), "labels", f"{where}.metadata"), **_given_labels(kind, meta)}
    workload = replace(
        workload,
        one_per_node=one_per_node(pod, marks, workload.namespace, f"{where}.spec"),
        left_open=left_open(body, pod, marks, workload.namespace, f"{where}.spec"),
    )
    if kind == "knative":
        workload = replace(workload, requests=frozen(_with_queue(workload.requests, template, where)))
    return Manifest(_annotated(workload, body, place), body)


def _given_labels(kind: str, meta: Json) -> dict[str, str]:
    """Labels that its controller puts on its pods beside those of the template."""
    names = {"job": ("job-name", "batch.kubernetes.io/job-name"), "knative": ("serving.knative.dev/service",)}
    given: dict[str, str] = dict.fromkeys(names.get(kind, ()), str(meta["name"]))
    return given


def _placeable() -> str:
    return ", ".join(f"{kind} ({version})" for version, kind in KINDS)


def _named(body: Json, place: str, namespace: str) -> Json:
    """The object with its namespace written out; a name is required, since a generated one cannot be applied."""
    meta = table(body, "metadata", place)
    if meta.get("generateName") and not meta.get("name"):
        raise InputError(f"{place}.metadata.name: is required; generateName gives a new object each time")
    name = _checked(text(meta, "name", f"{place}.metadata"), f"{place}.metadata.name")
    if body["kind"] == "Namespace":
        return {**body, "metadata": {**meta, "name": name}}
    space = text(meta, "namespace", f"{place}.metadata", default=namespace) or namespace
    _checked(space, f"{place}.metadata.namespace")
    return {**body, "metadata": {**meta, "name": name, "namespace": space}}


def _checked(name: str, place: str) -> str:
    """A name as the API server takes it; another could mean another path there (`..`)."""
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise InputError(
            f"{place}: must be at most {_LONGEST_NAME} lower-case letters, digits, '-' and '.', is {name[:80]!r}"
        )
    return name


def _template(body: Json, place: str) -> tuple[Json, str]:
    spec = table(body, "spec", place)
    return table(spec, "template", f"{place}.spec"), f"{place}.spec.template"


def _from_pod(workload: Workload, pod: Json, place: str) -> Workload:
    terms = node_terms(pod, place)
    needs: dict[str, set[str]] = defaultdict(set)
    for kind, name in references(pod, place):
        needs[f"{kind}:{workload.namespace}"].add(name)
    needs["namespace"].add(workload.namespace)
    return replace(
        workload,
        requests=frozen(requests_of(pod, place)),
        limits=frozen(limits_of(pod, place)),
        affinity=Affinity(node_terms=terms, preferred=preferred(pod, place)),
        tolerations=tolerations(pod, place),
        architecture=architectures(terms),
        priority=_priority(pod, place),
        priority_class=text(pod, "priorityClassName", place, default="") or None,
        needs=frozen({kind: frozenset(names) for kind, names in needs.items()}),
    )


def _priority(pod: Json, place: str) -> int:
    value = pod.get("priority", 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{place}.priority: must be a whole number, is {str(value)[:60]!r}")
    return value


def _replicas(kind: str, body: Json, place: str) -> int:
    spec = table(body, "spec", place)
    if kind == "deployment":
        return whole(spec, "replicas", f"{place}.spec", default=1, most=MOST_INSTANCES)
    if kind == "job":
        parallel = whole(spec, "parallelism", f"{place}.spec", default=1, most=MOST_INSTANCES)
        return min(parallel, whole(spec, "completions", f"{place}.spec", default=parallel))
    floor, most = scale_bounds(body, place)
    total = counted(_annotations(body, place), labels.REPLICAS, f"{place}.metadata.annotations", most=MOST_INSTANCES)
    wanted = total if total is not None else max(floor or 0, 1)
    if most and wanted > most:
        raise InputError(f"{place}: {wanted} instances are wanted but {AUTOSCALING}/max-scale is {most}")
    return wanted


def scale_bounds(body: Json, place: str) -> tuple[int | None, int | None]:
    """A Knative Service's own min-scale and max-scale, None where it does not say (a maximum of 0 is none)."""
    template, where = _template(body, place)
    meta = table(template, "metadata", where)
    annotations, here = table(meta, "annotations", f"{where}.metadata"), f"{where}.metadata.annotations"
    found = []
    for kebab, camel in (("min-scale", "minScale"), ("max-scale", "maxScale")):
        name = f"{AUTOSCALING}/{kebab}"
        found.append(counted(annotations, name if name in annotations else f"{AUTOSCALING}/{camel}", here))
    return found[0], found[1] or None


def _with_queue(requests: Mapping[str, int], template: Json, place: str) -> dict[str, int]:
    """Requests with those of the queue-proxy that Knative puts beside each instance."""
    annotations = table(table(template, "metadata", place), "annotations", f"{place}.metadata")
    total = Counter(requests)
    for name, usual in (("cpu", QUEUE_CPU_MILLI), ("memory", 0)):
        key = f"{_QUEUE}/{name}-resource-request"
        told = annotations.get(key)
        total[name] += usual if told is None else amount_of(name, told, f"{place}.metadata.annotations[{key}]")
    return {name: amount for name, amount in total.items() if amount}


def _annotations(body: Json, place: str) -> Json:
    return table(table(body, "metadata", place), "annotations", f"{place}.metadata")


def _annotated(workload: Workload, body: Json, place: str) -> Workload:
    """What people say to placement on the object itself."""
    said, here = _annotations(body, place), f"{place}.metadata.annotations"
    unknown = sorted(name for name in said if name.startswith(f"{labels.DOMAIN}/") and name not in labels.SPOKEN)
    if unknown:
        raise InputError(
            f"{here}[{unknown[0]}]: unknown; there are {', '.join(sorted(labels.SPOKEN - labels.WRITTEN))}"
        )
    priority = counted(said, labels.PRIORITY, here, least=-(2**31))
    return replace(
        workload,
        gpu=gpu_of(workload.requests, said, here),
        affinity=replace(
            workload.affinity,
            regions=listed(said, labels.REGIONS, here),
            clusters=listed(said, labels.CLUSTERS, here),
            exclude=listed(said, labels.EXCLUDE, here),
        ),
        residency=listed(said, labels.RESIDENCY, here),
        tenant=text(said, labels.TENANT, here, default="") or None,
        spread=Spread(
            counted(said, labels.MAX_PER_CLUSTER, here, least=1),
            counted(said, labels.MIN_CLUSTERS, here, least=1) or 1,
        ),
        priority=workload.priority if priority is None else priority,
        callers=tuple(_caller(part, here) for part in listed(said, labels.CALLERS, here)),
        splittable=not _is_gang(workload.kind, body, place),
        ready_minimum=counted(said, labels.READY_MINIMUM, here) or 0,
    )


def _caller(part: str, place: str) -> Caller:
    region, _, rate = part.partition("=")
    try:
        calls = float(rate)
    except ValueError:
        calls = -1.0
    if not region.strip() or not 0 <= calls < 1e9:
        raise InputError(f"{place}[{labels.CALLERS}]: must be region=calls_per_s, comma-separated, is {part[:60]!r}")
    return Caller(calls, region=region.strip())


def _is_gang(kind: str, body: Json, place: str) -> bool:
    """Instances that need each other: said by annotation, an indexed Job, or a pod group of a batch scheduler."""
    told = switched(_annotations(body, place), labels.GANG, f"{place}.metadata.annotations")
    if told is not None:
        return told
    if kind == "job" and table(body, "spec", place).get("completionMode") == "Indexed":
        return True
    template, where = _template(body, place)
    marks = table(table(template, "metadata", where), "labels", f"{where}.metadata")
    return any(name in marks for name in _GROUP_LABELS)


def _provides(companion: Json) -> tuple[str, str]:
    meta = companion["metadata"]
    kind = str(companion["kind"]).lower()
    return (kind if kind == "namespace" else f"{kind}:{meta['namespace']}"), meta["name"]


def _without(manifest: Manifest, given: frozenset[tuple[str, str]]) -> Manifest:
    left = {
        kind: frozenset(name for name in names if (kind, name) not in given)
        for kind, names in manifest.workload.needs.items()
    }
    needs = frozen({kind: names for kind, names in left.items() if names})
    return replace(manifest, workload=replace(manifest.workload, needs=needs))

"""What one instance asks of a node: the requests of a pod template as the scheduler counts them.

A pod needs, for each resource, the larger of what runs together for good (containers and sidecars, that is init
containers that restart always) and what each other init container needs while the sidecars before it run; then its
overhead (KEP-753, KEP-688). Where only a limit is written the API server takes it as the request, and a request for
the pod as a whole replaces the sum (KEP-2837).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from federation.labels import GPU_MILLI, GPU_MODELS
from federation.manifest.fields import Json, counted, listed, rows, table
from federation.placement.workload import GpuNeed
from federation.quantity import requested
from federation.snapshot import GPU_WHOLE
from prewarm.domain import InputError

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu")
"""Extended resources that are whole GPUs."""
_POD_LEVEL = ("cpu", "memory")


def requests_of(pod: Json, place: str) -> dict[str, int]:
    """Requests of one instance by resource, in base units (CPU in thousandths), zeros left out."""
    return _counted(pod, place, _requests)


def limits_of(pod: Json, place: str) -> dict[str, int]:
    """Limits of one instance likewise, of resources that something in it limits; the request where one is missing."""
    named: set[str] = set()

    def limits(holder: Json, here: str) -> dict[str, int]:
        told = table(table(holder, "resources", here), "limits", f"{here}.resources")
        named.update(told)
        return _requests(holder, here) | _amounts(told, f"{here}.resources.limits")

    total = _counted(pod, place, limits)
    return {name: amount for name, amount in total.items() if name in named}


def _counted(pod: Json, place: str, amounts: Callable[[Json, str], dict[str, int]]) -> dict[str, int]:
    together: Counter[str] = Counter()
    for container, where in rows(pod, "containers", place):
        together.update(amounts(container, where))
    largest: Counter[str] = Counter()
    sidecars: Counter[str] = Counter()
    for container, where in rows(pod, "initContainers", place):
        own = amounts(container, where)
        if container.get("restartPolicy") == "Always":
            sidecars.update(own)
        else:
            largest |= Counter(own) + sidecars
    total = (together + sidecars) | largest
    whole = amounts(pod, place)
    total.update({name: whole[name] - total[name] for name in _POD_LEVEL if name in whole})
    total.update(_amounts(table(pod, "overhead", place), f"{place}.overhead"))
    return {name: amount for name, amount in sorted(total.items()) if amount}


def _requests(holder: Json, place: str) -> dict[str, int]:
    resources = table(holder, "resources", place)
    limits = _amounts(table(resources, "limits", f"{place}.resources"), f"{place}.resources.limits")
    asked = _amounts(table(resources, "requests", f"{place}.resources"), f"{place}.resources.requests")
    return limits | asked


def _amounts(quantities: Json, place: str) -> dict[str, int]:
    return {name: amount_of(name, value, f"{place}.{name}") for name, value in quantities.items()}


def amount_of(name: str, value: object, place: str) -> int:
    """A request in base units, rounded up; InputError where it is no quantity or negative."""
    try:
        return requested(name, value)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def gpu_of(requests: Mapping[str, int], annotations: Json, place: str) -> GpuNeed:
    """GPUs of one instance: whole ones from its requests, or a share of one from the annotations."""
    models = listed(annotations, GPU_MODELS, place)
    whole = sum(requests.get(name, 0) for name in GPU_RESOURCES)
    milli = counted(annotations, GPU_MILLI, place, least=1)
    if milli is None:
        return GpuNeed(whole, GPU_WHOLE, models) if whole else GpuNeed()
    if whole or milli > GPU_WHOLE:
        raise InputError(f"{place}[{GPU_MILLI}]: must be at most {GPU_WHOLE}, and stand without whole GPUs in requests")
    return GpuNeed(0, milli, models)


def references(pod: Json, place: str) -> Iterable[tuple[str, str]]:
    """What must exist in the namespace before a pod can start, as (kind in lower case, name); optional ones are not."""
    for group in ("containers", "initContainers"):
        for container, where in rows(pod, group, place):
            yield from _container_references(container, where)
    for volume, where in rows(pod, "volumes", place):
        yield from _volume_references(volume, where)
        for source, inner in rows(table(volume, "projected", where), "sources", f"{where}.projected"):
            yield from _named(table(source, "configMap", inner), "configmap", "name")
            yield from _named(table(source, "secret", inner), "secret", "name")
    for pull, _ in rows(pod, "imagePullSecrets", place):
        yield from _named(pull, "secret", "name")
    yield from _named(pod, "serviceaccount", "serviceAccountName")


def _container_references(container: Json, place: str) -> Iterable[tuple[str, str]]:
    for variable, where in rows(container, "env", place):
        source = table(variable, "valueFrom", where)
        yield from _named(table(source, "configMapKeyRef", where), "configmap", "name")
        yield from _named(table(source, "secretKeyRef", where), "secret", "name")
    for source, where in rows(container, "envFrom", place):
        yield from _named(table(source, "configMapRef", where), "configmap", "name")
        yield from _named(table(source, "secretRef", where), "secret", "name")


def _volume_references(volume: Json, place: str) -> Iterable[tuple[str, str]]:
    yield from _named(table(volume, "configMap", place), "configmap", "name")
    yield from _named(table(volume, "secret", place), "secret", "secretName")
    yield from _named(table(volume, "persistentVolumeClaim", place), "persistentvolumeclaim", "claimName")
    yield from _named(table(table(volume, "csi", place), "nodePublishSecretRef", place), "secret", "name")


_GIVEN = {("serviceaccount", "default"), ("configmap", "kube-root-ca.crt")}  # every namespace is born with them


def _named(source: Json, kind: str, field: str) -> Iterable[tuple[str, str]]:
    name = source.get(field)
    if isinstance(name, str) and name and source.get("optional") is not True and (kind, name) not in _GIVEN:
        yield kind, name

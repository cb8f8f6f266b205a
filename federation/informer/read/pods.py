"""What is kept of a Pod: where it is bound, what it takes from there, whose instance it is, and how it is doing.

A pod takes what the scheduler counts (kubernetes/component-helpers, PodRequests): the sum over containers and sidecars
(init containers that restart always), or what any init container needs together with the sidecars started before it,
whichever is more; then the overhead. Requests of the pod as a whole replace the sum, and a resize under way counts with
the larger figure. A pod that has ended takes nothing; one that is being deleted still does.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from federation.informer.read.owner import workload_of
from federation.informer.read.shape import Raw, part, parts, text
from federation.informer.read.start import Start, read_start, true_conditions
from federation.quantity import QuantityError, requested

Amounts = tuple[tuple[str, int], ...]
_SLOT = "pods"
_ENDED_PHASES = ("Succeeded", "Failed")


class Stage(IntEnum):
    """Whether a pod waits for a node, has one, or has ended."""

    PENDING = 0
    BOUND = 1
    ENDED = 2


class PodFacts(NamedTuple):
    """amounts: what it takes of `node`, its slot included. readable: whether every request could be read.

    start: how it began, of a ready pod that tells it.
    """

    stage: Stage
    node: str | None
    amounts: Amounts
    workload: str | None
    ready: bool = False
    terminating: bool = False
    readable: bool = True
    start: Start | None = None


def read_pod(raw: Raw) -> PodFacts:
    """The facts of one Pod object."""
    spec, status, meta = part(raw, "spec"), part(raw, "status"), part(raw, "metadata")
    node, workload = _shared(text(spec, "nodeName")), _shared(workload_of(meta))
    if status.get("phase") in _ENDED_PHASES:
        return PodFacts(Stage.ENDED, node, (), workload)
    stage = Stage.PENDING if node is None else Stage.BOUND
    terminating = meta.get("deletionTimestamp") is not None
    holding = true_conditions(status)
    ready = not terminating and "Ready" in holding
    try:
        amounts, readable = pod_requests(spec, status), True
    except QuantityError:
        amounts, readable = _interned(((_SLOT, 1),)), False
    start = read_start(meta, status, holding) if ready else None
    return PodFacts(stage, node, amounts, workload, ready, terminating, readable, start)


def pod_requests(spec: Raw, status: Raw) -> Amounts:
    """What the scheduler counts for a pod, by resource, with its slot. QuantityError for what cannot be read."""
    live = {str(one.get("name")): one for one in parts(status, "containerStatuses")}
    total: dict[str, int] = {}
    for container in parts(spec, "containers"):
        _add(total, _current(container, live))
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in parts(spec, "initContainers"):
        needs = _requests(part(container, "resources"))
        if container.get("restartPolicy") == "Always":
            _add(total, needs)
            _add(sidecars, needs)
            needs = sidecars
        else:
            _add(needs, sidecars)
        _raise_to(starting, needs)
    _raise_to(total, starting)
    total.update(_requests(part(spec, "resources")))
    _add(total, _amounts(part(spec, "overhead")))
    total[_SLOT] = 1
    return _interned(tuple(sorted((name, amount) for name, amount in total.items() if amount)))


def _current(container: Raw, live: dict[str, Raw]) -> dict[str, int]:
    """With a resize under way the node still holds the larger of what is asked, allocated and in force."""
    needs = _requests(part(container, "resources"))
    state = live.get(str(container.get("name")))
    if state is not None and ("allocatedResources" in state or "resources" in state):
        _raise_to(needs, _amounts(part(state, "allocatedResources")))
        _raise_to(needs, _requests(part(state, "resources")))
    return needs


def _requests(resources: Raw) -> dict[str, int]:
    return _amounts(part(resources, "requests"))


def _amounts(raw: Raw) -> dict[str, int]:
    return {name: requested(name, value) for name, value in raw.items()}


def _add(total: dict[str, int], more: dict[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], least: dict[str, int]) -> None:
    for name, amount in least.items():
        if amount > total.get(name, 0):
            total[name] = amount


def _shared(name: str | None) -> str | None:
    """Pods of one node or workload share one text."""
    return None if name is None else intern(name)


@lru_cache(maxsize=16_384)
def _interned(amounts: Amounts) -> Amounts:
    """Pods of one template share one tuple."""
    return amounts

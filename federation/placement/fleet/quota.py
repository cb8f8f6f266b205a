"""How many further instances the quotas of a namespace allow, by the names that a ResourceQuota knows.

Every quota of the namespace must allow an instance. Of what a quota limits, what an instance uses of it is known here:
its requests, its limits (where none is given, a limit is at least the request), pods, and one object of its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from federation.placement.fleet.room import LARGE
from federation.placement.workload import Workload
from federation.snapshot import Cluster, Quota

_OBJECTS = {
    "deployment": "count/deployments.apps",
    "job": "count/jobs.batch",
    "knative": "count/services.serving.knative.dev",
    "service": "count/services.serving.knative.dev",
    "statefulset": "count/statefulsets.apps",
}
_PLAIN = ("cpu", "memory", "ephemeral-storage")


def quota_room(cluster: Cluster, workload: Workload, in_flight: Mapping[str, int]) -> int:
    """Further instances that quotas allow in one cluster, LARGE where none speaks of it.

    in_flight: by quota name, what other workloads of this namespace were promised and do not use yet.
    """
    relevant = [quota for quota in cluster.quotas if quota.namespace == workload.namespace]
    if not relevant:
        return LARGE
    use = usage(workload.requests, workload.limits)
    room = min(_room(quota, use, in_flight) for quota in relevant)
    return 0 if workload.key not in cluster.running and _no_object_left(relevant, workload) else room


def usage(requests: Mapping[str, int], limits: Mapping[str, int] | None = None) -> dict[str, int]:
    """What one instance uses, by the names of quotas."""
    use = {"pods": 1, "count/pods": 1}
    for name, amount in requests.items():
        use[f"requests.{name}"] = amount
        if name in _PLAIN:
            use[name] = amount
            use[f"limits.{name}"] = amount
    return use | {f"limits.{name}": amount for name, amount in (limits or {}).items()}


def _room(quota: Quota, use: Mapping[str, int], in_flight: Mapping[str, int]) -> int:
    limited: Iterable[str] = (name for name in quota.hard if use.get(name, 0) > 0)
    room = [(quota.hard[name] - quota.used.get(name, 0) - in_flight.get(name, 0)) // use[name] for name in limited]
    return max(0, min(room, default=LARGE))


def _no_object_left(quotas: Iterable[Quota], workload: Workload) -> bool:
    name = _OBJECTS.get(workload.kind.lower(), "")
    return any(name in quota.hard and quota.used.get(name, 0) >= quota.hard[name] for quota in quotas)

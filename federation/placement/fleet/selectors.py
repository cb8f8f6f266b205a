"""Labels, taints and tolerations with exactly the meaning that Kubernetes gives them.

A cluster's own scheduler has the last word on where a pod may go, so a reading that differs in a corner (an absent
label under NotIn, an empty key under Exists) would promise room that is none. The rules are those of the
kube-scheduler: labels.Requirement.Matches, and Toleration.ToleratesTaint.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from federation.placement.workload import Requirement, Toleration
from federation.snapshot import Taint

_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64 = 1 << 63
_REPELS = ("NoSchedule", "NoExecute")


def satisfies(labels: Mapping[str, str], requirement: Requirement) -> bool:
    """Whether the labels meet one expression; NotIn and DoesNotExist hold for an absent label."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(value, requirement)
    return False


def satisfies_all(labels: Mapping[str, str], group: Iterable[Requirement]) -> bool:
    """Whether every expression of a group holds."""
    return all(satisfies(labels, requirement) for requirement in group)


def satisfies_any(labels: Mapping[str, str], terms: tuple[tuple[Requirement, ...], ...]) -> bool:
    """Whether one of the groups holds as a whole; no groups ask for nothing, an empty group matches nothing."""
    return not terms or any(group and satisfies_all(labels, group) for group in terms)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration accepts one taint; an empty key or effect stands for every one."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.key != "" and toleration.value == taint.value


def repelling(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first taint that keeps a new pod away; PreferNoSchedule only makes a node less liked."""
    return next((taint for taint in taints if taint.effect in _REPELS and not _tolerated(taint, tolerations)), None)


def disliked(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> bool:
    """Whether a PreferNoSchedule taint is there that nothing tolerates."""
    return any(taint.effect == "PreferNoSchedule" and not _tolerated(taint, tolerations) for taint in taints)


def _tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def _compares(value: str | None, requirement: Requirement) -> bool:
    """Gt and Lt compare whole 64-bit numbers; anything else matches nothing."""
    if value is None or len(requirement.values) != 1:
        return False
    label, bound = _whole(value), _whole(requirement.values[0])
    if label is None or bound is None:
        return False
    return label > bound if requirement.operator == "Gt" else label < bound


def _whole(text: str) -> int | None:
    number = int(text) if len(text) <= 20 and _INTEGER.fullmatch(text) else None
    return number if number is not None and -_INT64 <= number < _INT64 else None

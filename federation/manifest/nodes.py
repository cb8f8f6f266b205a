"""Which nodes an instance accepts: nodeSelector, node affinity and tolerations of a pod template.

The selector is merged into every group of the required affinity, since both must hold. A group without expressions
matches no node (that is Kubernetes' rule), so it is dropped; the architecture of the image follows where every group
names it.
"""

from __future__ import annotations

from federation.manifest.fields import Json, rows, table, text, texts, whole
from federation.placement.workload import Requirement, Toleration
from federation.snapshot import ARCH_LABEL
from prewarm.domain import InputError

Group = tuple[Requirement, ...]

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
"""What a requirement on a label may say."""
_ARCH_LABELS = (ARCH_LABEL, "beta.kubernetes.io/arch")


def node_terms(pod: Json, place: str) -> tuple[Group, ...]:
    """Groups of which one must hold on a node's labels; none where any node will do."""
    selector = tuple(
        Requirement(key, "In", (text(table(pod, "nodeSelector", place), key, f"{place}.nodeSelector", default=""),))
        for key in sorted(table(pod, "nodeSelector", place))
    )
    affinity, here = _node_affinity(pod, place)
    required = table(affinity, "requiredDuringSchedulingIgnoredDuringExecution", here)
    if not required:
        return (selector,) if selector else ()
    here = f"{here}.requiredDuringSchedulingIgnoredDuringExecution"
    groups = [_group(term, where) for term, where in rows(required, "nodeSelectorTerms", here)]
    groups = [group for group in groups if group]
    if not groups:
        raise InputError(f"{here}.nodeSelectorTerms: no term has an expression, so no node can match")
    return tuple(selector + group for group in groups)


def preferred(pod: Json, place: str) -> tuple[tuple[int, Group], ...]:
    """Groups that are liked, with their weights 1 to 100."""
    affinity, here = _node_affinity(pod, place)
    name = "preferredDuringSchedulingIgnoredDuringExecution"
    found = []
    for term, where in rows(affinity, name, here):
        weight = whole(term, "weight", where, default=1, least=1)
        group = _group(table(term, "preference", where), f"{where}.preference")
        if group:
            found.append((min(weight, 100), group))
    return tuple(found)


def tolerations(pod: Json, place: str) -> tuple[Toleration, ...]:
    """The taints that are accepted."""
    return tuple(toleration(one, where) for one, where in rows(pod, "tolerations", place))


def toleration(one: Json, place: str) -> Toleration:
    """One toleration in Kubernetes' own words."""
    operator = text(one, "operator", place, default="Equal")
    if operator not in ("Equal", "Exists"):
        raise InputError(f"{place}.operator: must be Equal or Exists, is {operator!r}")
    key, value, effect = (text(one, name, place, default="") for name in ("key", "value", "effect"))
    if not key and operator == "Equal":
        raise InputError(f"{place}.operator: must be Exists where the key is empty")
    return Toleration(key, operator, value, effect)


def architectures(groups: tuple[Group, ...]) -> tuple[str, ...]:
    """What the groups allow as architecture, sorted; empty where one of them does not say."""
    allowed: set[str] = set()
    for group in groups:
        named = [set(one.values) for one in group if one.key in _ARCH_LABELS and one.operator == "In"]
        if not named:
            return ()
        allowed |= set.intersection(*named)
    return tuple(sorted(allowed))


def _node_affinity(pod: Json, place: str) -> tuple[Json, str]:
    affinity = table(pod, "affinity", place)
    return table(affinity, "nodeAffinity", f"{place}.affinity"), f"{place}.affinity.nodeAffinity"


def _group(term: Json, place: str) -> Group:
    if term.get("matchFields"):
        raise InputError(f"{place}.matchFields: is not understood; name nodes by a label (matchExpressions)")
    return tuple(requirement(one, where) for one, where in rows(term, "matchExpressions", place))


def requirement(one: Json, place: str) -> Requirement:
    """One expression on a label."""
    key, operator = text(one, "key", place), text(one, "operator", place)
    values = texts(one, "values", place)
    if operator not in OPERATORS:
        raise InputError(f"{place}.operator: must be one of {', '.join(OPERATORS)}, is {operator!r}")
    if operator in ("In", "NotIn") and not values:
        raise InputError(f"{place}.values: must not be empty with {operator}")
    if operator in ("Gt", "Lt") and not (len(values) == 1 and values[0].lstrip("-").isdecimal()):
        raise InputError(f"{place}.values: must be one whole number with {operator}")
    return Requirement(key, operator, values)

"""What a pod template asks of a scheduler beyond resources and the taints and labels of nodes.

That a node takes one instance only (ports of the host, instances that keep each other apart) is counted with. What
depends on other pods, or on objects that placement does not see, is left to each cluster and said in the answer. A node
by name is refused: it is one node of one cluster, and no scheduler looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from federation.manifest.fields import Json, rows, table, text, texts
from federation.manifest.nodes import requirement
from federation.placement.fleet.selectors import satisfies_all
from federation.snapshot import HOSTNAME_LABEL
from prewarm.domain import InputError

OS_LABEL = "kubernetes.io/os"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_USUAL_SCHEDULER = "default-scheduler"


def one_per_node(pod: Json, labels: Mapping[str, str], namespace: str, place: str) -> str | None:
    """Why a node takes one instance only, in the manifest's own words; None where it takes as many as fit."""
    ports = sorted(_host_ports(pod, place))
    if ports:
        return f"hostPort {', '.join(map(str, ports))}"
    for term, where in _pod_terms(pod, "podAntiAffinity", place):
        if text(term, "topologyKey", where, default="") == HOSTNAME_LABEL and _selects(term, labels, namespace, where):
            return f"podAntiAffinity over {HOSTNAME_LABEL}"
    return None


def left_open(body: Json, pod: Json, labels: Mapping[str, str], namespace: str, place: str) -> tuple[str, ...]:
    """What may keep instances from running that placement does not judge, a sentence each.

    InputError where a node is named.
    """
    if pod.get("nodeName"):
        raise InputError(f"{place}.nodeName: names a node of one cluster; use nodeSelector {HOSTNAME_LABEL}")
    return (*_waiting(body, pod, place), *_unseen(pod, labels, namespace, place))


def _waiting(body: Json, pod: Json, place: str) -> Iterator[str]:
    """What holds its pods back until somebody lifts it."""
    spec = table(body, "spec", "spec")
    if spec.get("paused") is True or spec.get("suspend") is True:
        yield f"{'paused' if spec.get('paused') is True else 'suspend'} is true: no instance starts while it is"
    gates = [text(gate, "name", where) for gate, where in rows(pod, "schedulingGates", place)]
    if gates:
        yield f"no instance starts before somebody lifts its schedulingGates ({', '.join(gates)})"


def _unseen(pod: Json, labels: Mapping[str, str], namespace: str, place: str) -> Iterator[str]:
    """What depends on pods and objects that are not looked at."""
    for kind in ("podAffinity", "podAntiAffinity"):
        for term, where in _pod_terms(pod, kind, place):
            key = text(term, "topologyKey", where, default="")
            apart = kind == "podAntiAffinity" and key == HOSTNAME_LABEL
            if not (apart and _selects(term, labels, namespace, where)):
                yield f"{kind} over {key} is left to each cluster's scheduler"
    for rule, where in rows(pod, "topologySpreadConstraints", place):
        if text(rule, "whenUnsatisfiable", where, default="DoNotSchedule") == "DoNotSchedule":
            key = text(rule, "topologyKey", where, default="")
            yield f"topologySpreadConstraints over {key} are left to each cluster's scheduler"
    scheduler = text(pod, "schedulerName", place, default="")
    if scheduler not in ("", _USUAL_SCHEDULER):
        yield f"schedulerName {scheduler}: whether it runs there, and by which rules, is not known"
    system = text(table(pod, "os", place), "name", f"{place}.os", default="linux")
    if system != "linux" and OS_LABEL not in table(pod, "nodeSelector", place):
        yield f"os {system}: no node is chosen by it; use nodeSelector {OS_LABEL}"
    runtime = text(pod, "runtimeClassName", place, default="")
    if runtime:
        yield f"runtimeClassName {runtime}: whether it exists there is not known"
    if rows(pod, "resourceClaims", place):
        yield "resourceClaims: whether devices for them are free is not known"


def _host_ports(pod: Json, place: str) -> Iterator[int]:
    """Ports of the node; with hostNetwork the API server makes every port one of the node."""
    shared = pod.get("hostNetwork") is True
    for group in ("containers", "initContainers"):
        for container, where in rows(pod, group, place):
            if group == "containers" or container.get("restartPolicy") == "Always":
                for port, _ in rows(container, "ports", where):
                    number = port.get("containerPort") if shared else port.get("hostPort")
                    if isinstance(number, int) and number:
                        yield number


def _pod_terms(pod: Json, kind: str, place: str) -> list[tuple[Json, str]]:
    """The required terms of a rule on other pods."""
    affinity = table(pod, "affinity", place)
    return rows(table(affinity, kind, f"{place}.affinity"), _REQUIRED, f"{place}.affinity.{kind}")


def _selects(term: Json, labels: Mapping[str, str], namespace: str, place: str) -> bool:
    """Whether a term speaks of the workload's own instances; no selector selects none, an empty one all."""
    selector = term.get("labelSelector")
    if selector is None:
        return False
    names = texts(term, "namespaces", place)
    here = namespace in names if names else term.get("namespaceSelector") is None
    selector, where = table(term, "labelSelector", place), f"{place}.labelSelector"
    wanted = table(selector, "matchLabels", where)
    rules = [requirement(one, at) for one, at in rows(selector, "matchExpressions", where)]
    own = all(labels.get(name) == value for name, value in wanted.items()) and satisfies_all(labels, rules)
    return own and (here or term.get("namespaceSelector") == {})

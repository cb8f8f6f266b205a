"""Names of objects by kind and namespace, as `Cluster.present` tells them.

Every namespace that exists has an entry for every kind that is watched, even an empty one: nothing there and not
looked at are different things.
"""

from __future__ import annotations

from collections.abc import Mapping

from federation.snapshot import frozen

CLUSTER_WIDE = frozenset({"namespace", "priorityclass"})
"""Kinds that are in no namespace."""


class Names:
    """Names of one kind, by namespace ("" for kinds without)."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}
        self._frozen: dict[str, frozenset[str]] = {}

    def changed(self, key: str, _: bool | None, after: bool | None) -> None:
        """An object appeared or went."""
        namespace, name = key.rsplit("/", 1) if "/" in key else ("", key)
        names = self._names.setdefault(namespace, set())
        if after:
            names.add(name)
        else:
            names.discard(name)
        if not names:
            del self._names[namespace]
        self._frozen.pop(namespace, None)

    def of(self, namespace: str) -> frozenset[str]:
        """The names in one namespace."""
        if namespace not in self._frozen:
            self._frozen[namespace] = frozenset(self._names.get(namespace, ()))
        return self._frozen[namespace]

    @property
    def namespaces(self) -> frozenset[str]:
        """Where there are any."""
        return frozenset(self._names)


def present(kinds: Mapping[str, Names]) -> Mapping[str, frozenset[str]] | None:
    """By "kind" for what is in no namespace, "kind:namespace" for the rest; None where nothing is watched."""
    if not kinds:
        return None
    found = {kind: names.of("") for kind, names in kinds.items() if kind in CLUSTER_WIDE}
    namespaces = frozenset().union(*(names.namespaces for names in kinds.values()), found.get("namespace", ()))
    namespaces = namespaces.difference({""})
    for kind, names in kinds.items():
        if kind not in CLUSTER_WIDE:
            found.update({f"{kind}:{namespace}": names.of(namespace) for namespace in namespaces})
    return frozen(found)

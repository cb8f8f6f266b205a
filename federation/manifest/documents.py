"""The documents of a YAML (or JSON) file, as plain JSON values, each with the place that complaints name.

The file is not trusted: only plain values are made, timestamps stay texts (an annotation may look like a date), and
what aliases would unfold to is bounded before it is copied.
"""

from __future__ import annotations

from typing import Any

import yaml

from federation.manifest.fields import rows
from prewarm.domain import InputError

Json = dict[str, Any]

KINDS = {
    ("apps/v1", "Deployment"): "deployment",
    ("serving.knative.dev/v1", "Service"): "knative",
    ("batch/v1", "Job"): "job",
}
"""What can be placed, and the word for it in our own form."""
COMPANIONS = frozenset({"Namespace", "ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim", "Service"})
"""Kinds of v1 that may stand in the same file: they are made in every cluster that the workloads go to."""
_MOST_VALUES = 200_000
_MOST_DEPTH = 100


class _Loader(yaml.SafeLoader):
    """Safe, and without timestamps."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_documents(text: str, place: str) -> tuple[tuple[Json, str], ...]:
    """Every object of the file with its place, lists unfolded; InputError naming the document and the rule."""
    found: list[tuple[Json, str]] = []
    try:
        for position, raw in enumerate(yaml.load_all(text, Loader=_Loader)):
            if raw is None:
                continue
            found += _unfold(_Copy(f"{place}: document {position + 1}").value(raw), f"{place}: document {position + 1}")
    except yaml.YAMLError as error:
        raise InputError(f"{place}: is not YAML: {' '.join(str(error).split())[:200]}") from None
    except RecursionError:
        raise InputError(f"{place}: is nested too deeply") from None
    if not found:
        raise InputError(f"{place}: holds no object")
    return tuple(found)


def _unfold(body: object, place: str) -> list[tuple[Json, str]]:
    if not isinstance(body, dict):
        raise InputError(f"{place}: must be an object, is {str(body)[:60]!r}")
    if body.get("apiVersion") == "v1" and body.get("kind") == "List":
        return [one for item, where in rows(body, "items", place) for one in _unfold(item, where)]
    return [(body, place)]


class _Copy:
    """A deep copy in plain JSON values, bounded in number and depth, aliases counted each time."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._left = _MOST_VALUES

    def value(self, raw: object, depth: int = 0) -> object:
        """The copy of one value."""
        self._left -= 1
        if self._left < 0 or depth > _MOST_DEPTH:
            raise InputError(f"{self._place}: unfolds to more than {_MOST_VALUES} values or {_MOST_DEPTH} levels")
        if isinstance(raw, dict):
            return {self._key(key): self.value(inner, depth + 1) for key, inner in raw.items()}
        if isinstance(raw, list):
            return [self.value(inner, depth + 1) for inner in raw]
        if raw is None or isinstance(raw, str | bool | int | float):
            return raw
        raise InputError(f"{self._place}: holds a value that JSON has no word for: {str(raw)[:60]!r}")

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise InputError(f"{self._place}: names of fields must be texts, one is {str(key)[:60]!r}")
        return key

"""The inverse: a manifest and a placement's shares become the object for one cluster.

Numbers that mean the whole fleet (replicas, floor and ceiling of a Service, parallelism and completions of a Job) are
divided so that the parts sum to the whole; everything else stays as it was written, plus our label and the workload's
key. What a server adds (uid, status, managedFields, ...) is left out, so an exported object can be placed as well.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from federation import labels
from federation.manifest.documents import KINDS
from federation.manifest.fields import Json, table
from federation.manifest.read import AUTOSCALING, scale_bounds
from prewarm.domain import InputError

_OURS_TO_SET = ("name", "namespace", "labels", "annotations", "finalizers")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def object_for(body: Json, replicas: Mapping[str, int], cluster: str) -> Json | None:
    """The object for `cluster`, given the instances in every cluster; None where it gets none."""
    if not replicas.get(cluster):
        return None
    kind = KINDS[str(body["apiVersion"]), str(body["kind"])]
    held = {name: count for name, count in sorted(replicas.items()) if count}
    spec: Json = dict(body["spec"])
    if kind == "deployment":
        spec["replicas"] = held[cluster]
    elif kind == "job":
        spec |= _job_numbers(spec, held, cluster)
    else:
        spec["template"] = _bounded_template(body, held, cluster)
    return marked({**body, "spec": spec})


def marked(body: Json, **annotations: str) -> Json:
    """The object as we apply it: only what is ours to set, with our label and these further annotations.

    Fields that are null go: some servers take them for empty values, which would then be ours.
    """
    body = _without_null(body)
    meta = body["metadata"]
    kept = {name: meta[name] for name in _OURS_TO_SET if meta.get(name)}
    notes = {name: text for name, text in (meta.get("annotations") or {}).items() if name != _LAST_APPLIED}
    if (str(body["apiVersion"]), str(body["kind"])) in KINDS:
        notes[labels.WORKLOAD] = f"{meta['namespace']}/{meta['name']}"
    kept["labels"] = {**(meta.get("labels") or {}), labels.MANAGED_BY: labels.FIELD_MANAGER}
    kept["annotations"] = {**{name: text for name, text in notes.items() if name != labels.APPLIED}, **annotations}
    made = {**{name: value for name, value in _encoded(body).items() if name != "status"}, "metadata": kept}
    if body["kind"] != "Secret":  # a digest would help to guess its values
        kept["annotations"][labels.APPLIED] = _digest(made)
    elif not kept["annotations"]:
        del kept["annotations"]
    return made


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(inner) for name, inner in value.items() if inner is not None}
    return [_without_null(inner) for inner in value] if isinstance(value, list) else value


def _digest(body: Json) -> str:
    text = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _encoded(body: Json) -> Json:
    """A Secret with its `stringData` as `data`, as the server keeps it, so that it compares; anything else as it is."""
    if body["kind"] != "Secret" or not body.get("stringData"):
        return body
    told = {name: base64.b64encode(text.encode()).decode() for name, text in body["stringData"].items()}
    rest = {name: value for name, value in body.items() if name != "stringData"}
    return {**rest, "data": {**(body.get("data") or {}), **told}}


def divide(total: int, weights: Sequence[int], least: Sequence[int]) -> list[int]:
    """`total` in whole parts in proportion to `weights`, none under `least`, by largest remainder; ties to the first.

    InputError where the least already sum to more.
    """
    spare = total - sum(least)
    if spare < 0:
        raise InputError(f"{total} cannot be divided: the parts need {sum(least)} at least")
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    parts = [max(part, floor) for part, floor in zip(parts, least, strict=True)]
    order = sorted(range(len(weights)), key=lambda one: (-(total * weights[one] % whole), one))
    while sum(parts) > total:  # floors took more than their part: the largest gives way
        parts[max((one for one in range(len(parts)) if parts[one] > least[one]), key=lambda one: parts[one])] -= 1
    for one in (order * (1 + total))[: total - sum(parts)]:
        parts[one] += 1
    return parts


def _job_numbers(spec: Json, held: Mapping[str, int], cluster: str) -> Json:
    """Parallelism is the share; completions, where they are counted, are divided in its proportion."""
    if len(held) == 1:
        return {}
    numbers: Json = {"parallelism": held[cluster]}
    if spec.get("completions") is not None:
        counts = list(held.values())
        numbers["completions"] = divide(spec["completions"], counts, counts)[list(held).index(cluster)]
    return numbers


def _bounded_template(body: Json, held: Mapping[str, int], cluster: str) -> Json:
    template: Json = dict(body["spec"]["template"])
    floor, most = scale_bounds(body, "manifest")
    meta: dict[str, Any] = dict(table(template, "metadata", "manifest.spec.template"))
    notes = {
        name: value
        for name, value in (meta.get("annotations") or {}).items()
        if name not in (f"{AUTOSCALING}/minScale", f"{AUTOSCALING}/maxScale")
    }
    counts = list(held.values())
    if floor or labels.REPLICAS in (body["metadata"].get("annotations") or {}):
        notes[f"{AUTOSCALING}/min-scale"] = str(held[cluster])
    if most:
        part = divide(max(most, sum(counts)), counts, counts)[list(held).index(cluster)]
        notes[f"{AUTOSCALING}/max-scale"] = str(part)
    if notes:
        meta["annotations"] = notes
    if meta:
        template["metadata"] = meta
    return template

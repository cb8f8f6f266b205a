"""Manifests as people write them, built from the smallest one."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def container(name: str = "app", **fields: object) -> Json:
    """A container; `cpu` and `memory` become its requests."""
    requests = {key: fields.pop(key) for key in ("cpu", "memory") if key in fields}
    body: Json = {"name": name, "image": f"registry.example/{name}:1", **fields}
    return body | ({"resources": {"requests": requests}} if requests else {})


def deployment(
    name: str = "checkout",
    replicas: int | None = 3,
    *,
    pod: Json | None = None,
    annotations: Json | None = None,
    namespace: str | None = "shop",
) -> Json:
    """A Deployment of one container that asks for 250m and 256Mi."""
    meta: Json = {"name": name, "labels": {"app": name}}
    meta |= {"namespace": namespace} if namespace else {}
    meta |= {"annotations": annotations} if annotations else {}
    spec: Json = {"selector": {"matchLabels": {"app": name}}}
    spec |= {} if replicas is None else {"replicas": replicas}
    spec["template"] = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container(cpu="250m", memory="256Mi")], **(pod or {})},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def service(bounds: Json | None = None, *, annotations: Json | None = None, template: Json | None = None) -> Json:
    """A Knative Service; `bounds` are autoscaling annotations of its template without their prefix."""
    notes = {f"autoscaling.knative.dev/{key}": value for key, value in (bounds or {}).items()} | (template or {})
    meta: Json = {"name": "checkout", "namespace": "shop"} | ({"annotations": annotations} if annotations else {})
    return {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "metadata": meta,
        "spec": {
            "template": {
                **({"metadata": {"annotations": notes}} if notes else {}),
                "spec": {"containers": [container("user-container", cpu="250m", memory="256Mi")]},
            }
        },
    }


def job(spec: Json | None = None, *, annotations: Json | None = None, labels: Json | None = None) -> Json:
    """A Job of one container."""
    meta: Json = {"name": "report", "namespace": "shop"} | ({"annotations": annotations} if annotations else {})
    template: Json = {"spec": {"restartPolicy": "Never", "containers": [container(cpu="1", memory="1Gi")]}}
    template |= {"metadata": {"labels": labels}} if labels else {}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {**(spec or {}), "template": template}}

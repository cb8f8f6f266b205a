"""The metrics API of one cluster: metrics-server as a process, known to the API server by a name that leads to us."""

from __future__ import annotations

from tests.cluster.real.admin import Kubectl
from tests.cluster.real.manifests import Json


def register_usage(kubectl: Kubectl, port: int) -> None:
    """Tell the API server that metrics.k8s.io is served on a port of this machine."""
    kubectl.apply([_service(port), _api_service(port)])


def _service(port: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "metrics-server", "namespace": "kube-system"},
        "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
    }


def _api_service(port: int) -> Json:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"name": "metrics-server", "namespace": "kube-system", "port": port},
        },
    }

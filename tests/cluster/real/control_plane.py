"""The command lines of Kubernetes' own programs, as they were seen to work as plain processes on loopback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from tests.cluster.real.identity import ISSUER, Identity
from tests.cluster.real.manifests import READY_DELAY
from tests.cluster.real.ports import HeldPort
from tests.cluster.real.programs import Programs

_FRONT_PROXY = (
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
)


def api_server(
    programs: Programs, identity: Identity, *, etcd: str, port: HeldPort, tokens: Path, extra: Sequence[str]
) -> list[str]:
    """An API server with RBAC, token file, client certificates, service-account tokens and a front proxy's trust."""
    keys = identity.folder
    return [
        str(programs["kube-apiserver"]),
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--permit-port-sharing",
        f"--cert-dir={keys}",
        f"--tls-cert-file={keys / 'serving.crt'}",
        f"--tls-private-key-file={keys / 'serving.key'}",
        f"--client-ca-file={identity.ca_file}",
        f"--token-auth-file={tokens}",
        f"--service-account-key-file={keys / 'sa.pub'}",
        f"--service-account-signing-key-file={keys / 'sa.key'}",
        f"--service-account-issuer={ISSUER}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--disable-admission-plugins=ServiceAccount",
        "--shutdown-watch-termination-grace-period=2s",
        f"--requestheader-client-ca-file={keys / 'front-ca.crt'}",
        f"--proxy-client-cert-file={keys / 'front-client.crt'}",
        f"--proxy-client-key-file={keys / 'front-client.key'}",
        *_FRONT_PROXY,
        *extra,
    ]


def controller_manager(programs: Programs, kubeconfig: Path, *, keys: Path, port: HeldPort) -> list[str]:
    """All default controllers, without leader election; autoscalers look every 2 s."""
    return [
        str(programs["kube-controller-manager"]),
        f"--kubeconfig={kubeconfig}",
        f"--service-account-private-key-file={keys / 'sa.key'}",
        f"--root-ca-file={keys / 'ca.crt'}",
        "--leader-elect=false",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--horizontal-pod-autoscaler-sync-period=2s",
        *_secure(keys.parent / "controller-manager", port),
    ]


def scheduler(
    programs: Programs, kubeconfig: Path, *, folder: Path, port: HeldPort, extenders: Sequence[Mapping[str, object]]
) -> list[str]:
    """The scheduler, with `extenders` as KubeSchedulerConfiguration has them."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 200, "burst": 400},
        "leaderElection": {"leaderElect": False},
        "extenders": [dict(extender) for extender in extenders],
    }
    config = folder / "scheduler.yaml"
    config.write_text(yaml.safe_dump(document))
    return [str(programs["kube-scheduler"]), f"--config={config}", *_secure(folder / "scheduler", port)]


def kwok(programs: Programs, kubeconfig: Path, *, folder: Path, ready_delay_ms: int, usage_port: int) -> list[str]:
    """Nodes and pods that behave; a pod is Ready after `ready_delay_ms` or what its annotation READY_DELAY says.

    `usage_port` serves the nodes' resource metrics, 0 for none.
    """
    stages = [_delayed(stage, ready_delay_ms) for stage in _documents(programs, "kwok-stages", "pod", "fast")]
    more: list[str] = []
    if usage_port:
        stages += [*_documents(programs, "kwok-metrics", "resource"), *_documents(programs, "kwok-metrics", "usage")]
        more = [f"--node-port={usage_port}", f"--server-address=127.0.0.1:{usage_port}"]
    config = folder / "kwok.yaml"
    config.write_text(yaml.safe_dump_all(stages, sort_keys=False))
    return [
        str(programs["kwok"]),
        f"--kubeconfig={kubeconfig}",
        f"--config={config}",
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40",
        "--cidr=10.244.0.1/16",
        "--node-ip=127.0.0.1",
        *more,
    ]


def metrics_server(programs: Programs, kubeconfig: Path, *, folder: Path, port: HeldPort) -> list[str]:
    """metrics-server against kwok's resource metrics; it knows pods after about half a minute."""
    flags = [
        f"--{name}={kubeconfig}" for name in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    ]
    return [
        str(programs["metrics-server"]),
        *flags,
        "--kubelet-use-node-status-port",
        "--kubelet-preferred-address-types=InternalIP",
        "--metric-resolution=10s",
        "--kubelet-request-timeout=5s",
        "--deprecated-kubelet-completely-insecure",
        *_secure(folder / "metrics-server", port),
    ]


def _secure(folder: Path, port: HeldPort) -> list[str]:
    return ["--bind-address=127.0.0.1", f"--secure-port={port}", "--permit-port-sharing", f"--cert-dir={folder}"]


def _documents(programs: Programs, *parts: str) -> list[dict[str, object]]:
    return [
        document
        for path in programs.manifests(*parts)
        for document in yaml.safe_load_all(path.read_text())
        if document is not None
    ]


def _delayed(stage: dict[str, object], ready_delay_ms: int) -> dict[str, object]:
    spec = stage["spec"]
    assert isinstance(spec, dict)
    if stage["metadata"] == {"name": "pod-ready"}:
        source = {"expressionFrom": f'.metadata.annotations["{READY_DELAY}"]'}
        spec["delay"] = {"durationMilliseconds": ready_delay_ms, "durationFrom": source}
    return stage

"""The cluster that the service itself runs in, by its pod's own account, without any kubeconfig.

The account's token is renewed by the kubelet in place, so it is read again like any other token file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from federation.kubeconfig.listing import Member, specify
from federation.kubeconfig.login import Endpoint, Login, Pem
from federation.kubeconfig.names import POD
from prewarm.domain import InputError

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes puts the files of a pod's account."""


def in_cluster(environ: Mapping[str, str], account: Path = ACCOUNT) -> Member:
    """The member `in-cluster`. InputError where this is no pod, or one without an account; reads a small file."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise InputError("in-cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; not in a pod")
    token, authority = account / "token", account / "ca.crt"
    for file in (token, authority):
        if not file.is_file():
            raise InputError(f"in-cluster: {file} is missing")
    server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    way, who = Endpoint(server, ca=Pem(f"certificate-authority {authority}", path=authority)), Login(token_file=token)
    return Member(specify(POD, POD, POD, way=way, who=who, namespace=_namespace(account)), way, who)


def _namespace(account: Path) -> str:
    try:
        return (account / "namespace").read_text().strip() or "default"
    except OSError:
        return "default"

"""Kubeconfig files for clusters of the harness: one context a cluster, everything embedded."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.real.identity import ClientPair


@dataclass(frozen=True, slots=True)
class Entry:
    """One context: where it leads and as whom. `credential`: token, certificate, or the user as written."""

    context: str
    server: str
    ca_pem: bytes
    credential: str | ClientPair | dict[str, Any]
    namespace: str = "default"


def write_kubeconfig(path: Path, entries: Iterable[Entry]) -> Path:
    """One file with all the contexts; the first is the current one."""
    todo = list(entries)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": todo[0].context,
        "clusters": [
            {"name": one.context, "cluster": {"server": one.server, "certificate-authority-data": _b64(one.ca_pem)}}
            for one in todo
        ],
        "users": [{"name": one.context, "user": _user(one.credential)} for one in todo],
        "contexts": [
            {
                "name": one.context,
                "context": {"cluster": one.context, "user": one.context, "namespace": one.namespace},
            }
            for one in todo
        ],
    }
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    path.chmod(0o600)
    return path


def _user(credential: str | ClientPair | dict[str, Any]) -> dict[str, Any]:
    if isinstance(credential, str):
        return {"token": credential}
    if isinstance(credential, ClientPair):
        return {
            "client-certificate-data": _b64(credential.certificate),
            "client-key-data": _b64(credential.key),
        }
    return credential


def _b64(content: bytes) -> str:
    return base64.b64encode(content).decode()

"""Users with few rights: service accounts bound to a cluster role of their own, with tokens of any lifetime."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.cluster.real.cluster import Cluster
from tests.cluster.real.manifests import Json


@dataclass(frozen=True, slots=True)
class Account:
    """A service account of one cluster that may do what its rules say there."""

    cluster: Cluster
    namespace: str
    name: str
    uid: str

    def token(self, *, valid_s: float = 3600.0) -> str:
        """A token that the API server refuses after `valid_s` (up to 10 s later where it was just used)."""
        identity = self.cluster.identity
        return identity.account_token(self.namespace, self.name, self.uid, now=time.time(), valid_s=valid_s)


def rule(resources: Sequence[str], verbs: Sequence[str], *, group: str = "") -> Json:
    """One rule of a role."""
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def make_account(cluster: Cluster, key: str, rules: Sequence[Json], *, everywhere: bool = True) -> Account:
    """A service account `namespace/name` with these rights, in all namespaces or only in its own."""
    namespace, _, name = key.partition("/")
    kind = "ClusterRole" if everywhere else "Role"
    where = {} if everywhere else {"namespace": namespace}
    group = "rbac.authorization.k8s.io"
    role = {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": f"{namespace}-{name}", **where},
        "rules": list(rules),
    }
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": f"{kind}Binding",
        "metadata": {"name": f"{namespace}-{name}", **where},
        "roleRef": {"apiGroup": group, "kind": kind, "name": f"{namespace}-{name}"},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": name}],
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": namespace, "name": name}}
    cluster.kubectl.apply([account, role, binding])
    found = cluster.admin.call("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}")
    return Account(cluster, namespace, name, found["metadata"]["uid"])

"""One real cluster: etcd, an API server, and where pods are to run, controllers, scheduler and kwok.

Started in the order of dependence and stopped in the reverse; every part can be paused, killed and started again by a
test while the others go on. A port, a certificate and the data outlive a restart, as they do in a cluster's life.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.real import control_plane
from tests.cluster.real.admin import Admin, Kubectl
from tests.cluster.real.etcd import Etcd
from tests.cluster.real.identity import Identity
from tests.cluster.real.kubeconfig import Entry, write_kubeconfig
from tests.cluster.real.manifests import Json, NodeShape, nodes
from tests.cluster.real.ports import HeldPort
from tests.cluster.real.process import Process, ProcessError
from tests.cluster.real.programs import CONTROL_PLANE, FULL, Programs
from tests.cluster.real.usage import register_usage

START_S = 120.0
"""How long any one part may take to come up; a few seconds on an idle machine."""
_NOBODY_TENDS_NODES = ("--disable-admission-plugins=TaintNodesByCondition",)


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """What a cluster is to be. Without `pods_run` it is a bare API server, to which nodes may be written all the same.

    usage: metrics-server, with what pods' annotations say that they use. ready_delay_ms: a pod's start-up time unless
    its annotation says otherwise. api_flags: further flags of the API server. extenders: of the scheduler.
    """

    name: str
    region: str | None = None
    nodes: tuple[NodeShape, ...] = (NodeShape(),)
    pods_run: bool = True
    usage: bool = False
    ready_delay_ms: int = 0
    api_flags: tuple[str, ...] = ()
    extenders: tuple[Mapping[str, object], ...] = ()


class Cluster:
    """A cluster of processes under one folder; `kubectl` and `admin` see it as its administrator does.

    Parts by attribute: etcd, api_server, and in `parts` what else runs (controller-manager, scheduler, kwok,
    metrics-server), each a Process.
    """

    def __init__(self, plan: ClusterPlan, folder: Path, programs: Programs) -> None:
        """Lay out keys, ports and command lines; nothing runs yet. AbsentError where a program is missing."""
        programs.require(*(FULL if plan.pods_run else CONTROL_PLANE))
        self.plan, self.name, self.folder = plan, plan.name, folder
        self._programs = programs
        self._ports = [HeldPort() for _ in range(6)]
        self.identity = Identity(folder / "keys")
        self.token = secrets.token_hex(16)
        self._tokens = folder / "keys" / "tokens.csv"
        self.server = f"https://127.0.0.1:{self._ports[2]}"
        self.admin = Admin(self.server, self.token, self.identity.ca_file)
        self.kubeconfig = write_kubeconfig(folder / "kubeconfig", [self.entry()])
        self.kubectl = Kubectl(programs["kubectl"], self.kubeconfig, self.name)
        self.etcd = Etcd(programs["etcd"], folder, ports=(self._ports[0], self._ports[1]))
        self.write_tokens({})
        self.api_server = Process("kube-apiserver", self._api_command(), folder=folder)
        self.parts = {part.name: part for part in self._parts()}

    def entry(self, *, context: str | None = None, server: str | None = None) -> Entry:
        """The administrator's context for a kubeconfig file; `server` leads through a proxy in front."""
        return Entry(context or self.name, server or self.server, self.identity.ca_pem, self.token)

    def start(self) -> None:
        """Start everything that does not run, in order, and wait until nodes are Ready. ProcessError."""
        self.start_etcd()
        self.start_api_server()
        for part in self.parts.values():
            if not part.alive:
                part.start()
        if self.plan.nodes and not self._has_nodes():
            self.kubectl.apply(self._node_manifests())
        if self.plan.pods_run:
            self.parts["kwok"].wait_until(self._nodes_ready, deadline_s=START_S, what="running all nodes")
        if self.plan.usage:
            register_usage(self.kubectl, self._ports[5].number)

    def start_etcd(self) -> None:
        """Start or resume etcd and wait until it serves."""
        _run(self.etcd)
        self.etcd.wait_until(self.etcd.healthy, deadline_s=START_S)

    def start_api_server(self) -> None:
        """Start or resume the API server and wait until it is ready."""
        _run(self.api_server)
        self.api_server.wait_until(self.admin.answers, deadline_s=START_S)

    def restart_api_server(self) -> None:
        """SIGKILL it and wait until the new one is ready: watches break, the watch cache is empty, data is kept."""
        self.api_server.kill()
        self.start_api_server()

    def write_tokens(self, users: Mapping[str, tuple[str, str]]) -> None:
        """token -> (user, group), besides the administrator's own; holds from the next start of the API server on."""
        rows = {self.token: ("admin", "system:masters"), **users}
        lines = [f'{token},{user},{user},"{group}"\n' for token, (user, group) in rows.items()]
        self._tokens.write_text("".join(lines))

    def repair(self) -> None:
        """Resume what is paused and start what is dead, so that the next test finds the cluster whole."""
        for part in self.parts.values():
            _run(part)
        self.start()

    def close(self) -> None:
        """Stop everything in order and let go of the ports; the data stays for whoever owns the folder."""
        with ExitStack() as ends:
            for port in self._ports:
                ends.callback(port.close)
            for part in (self.etcd, self.api_server, *self.parts.values()):
                ends.callback(part.stop)

    def _api_command(self) -> list[str]:
        return control_plane.api_server(
            self._programs,
            self.identity,
            etcd=self.etcd.url,
            port=self._ports[2],
            tokens=self._tokens,
            extra=(*self.plan.api_flags, *(() if self.plan.pods_run else _NOBODY_TENDS_NODES)),
        )

    def _parts(self) -> list[Process]:
        if not self.plan.pods_run:
            return []
        usage = _borrowed_port() if self.plan.usage else 0
        keys, config, folder = self.identity.folder, self.kubeconfig, self.folder
        commands = {
            "kube-controller-manager": control_plane.controller_manager(
                self._programs, config, keys=keys, port=self._ports[3]
            ),
            "kube-scheduler": control_plane.scheduler(
                self._programs, config, folder=folder, port=self._ports[4], extenders=self.plan.extenders
            ),
            "kwok": control_plane.kwok(
                self._programs, config, folder=folder, ready_delay_ms=self.plan.ready_delay_ms, usage_port=usage
            ),
        }
        if self.plan.usage:
            commands["metrics-server"] = control_plane.metrics_server(
                self._programs, config, folder=folder, port=self._ports[5]
            )
        return [Process(name, command, folder=folder) for name, command in commands.items()]

    def _node_manifests(self) -> list[Json]:
        plan = self.plan
        return [node for shape in plan.nodes for node in nodes(shape, region=plan.region, alive=not plan.pods_run)]

    def _has_nodes(self) -> bool:
        return bool(self.admin.call("GET", "/api/v1/nodes?limit=1")["items"])

    def _nodes_ready(self) -> bool:
        found: list[Json] = self.admin.call("GET", "/api/v1/nodes")["items"]
        return bool(found) and all(_node_ready(node) for node in found)


def wait_for(holds: Callable[[], bool], *, deadline_s: float = 30.0, what: str) -> float:
    """Seconds until `holds()` was true. ProcessError naming `what` after the deadline."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > deadline_s:
            raise ProcessError(f"not {what} after {deadline_s:.0f} s")
        time.sleep(0.05)
    return time.monotonic() - began


def _run(part: Process) -> None:
    if part.alive:
        part.resume()
    else:
        part.start()


def _node_ready(node: Json) -> bool:
    conditions = {one["type"]: one["status"] for one in node["status"].get("conditions", ())}
    not_ready = any(taint["key"] == "node.kubernetes.io/not-ready" for taint in node["spec"].get("taints", ()))
    return conditions.get("Ready") == "True" and not not_ready


def _borrowed_port() -> int:
    """A port for kwok, which cannot share one: free now."""
    port = HeldPort()
    port.close()
    return port.number

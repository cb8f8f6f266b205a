"""Pods made, changed and removed all the time, in a process of its own, so that it neither waits for nor weighs on us.

Works without controllers too: pods are bound to a node when they are made, said to be Ready by a write to their status,
and removed without a grace period.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import pod_spec

NAMESPACE = "churn"
_PODS = (50, 70)
"""Their number stays between these once it was reached, so that what we hold neither grows nor shrinks."""
_WORKLOADS = 20


@dataclass(frozen=True, slots=True)
class Target:
    """One API server and its administrator's token; `nodes` are those that pods are bound to."""

    server: str
    token: str
    ca_file: Path
    nodes: tuple[str, ...]


@contextmanager
def churning(fleet: Fleet, *, changes_per_s: float) -> Iterator[Callable[[], int]]:
    """So many changes a second in every cluster while the block runs; the namespace must exist. Gives their number."""
    targets = [
        Target(one.server, one.token, one.identity.ca_file, tuple(_names(one.kubectl.items("nodes")))) for one in fleet
    ]
    spawning = multiprocessing.get_context("spawn")
    stop, done = spawning.Event(), spawning.Value("q", 0)
    worker = spawning.Process(target=_churn_all, args=(targets, changes_per_s, stop, done), name="churn")
    worker.start()
    try:
        yield lambda: int(done.value)
    finally:
        stop.set()
        worker.join()


def _names(items: list[dict[str, Any]]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def _churn_all(targets: list[Target], changes_per_s: float, stop: Event, done: Synchronized[int]) -> None:
    threads = [
        threading.Thread(target=_Churn(target, seed).run, args=(changes_per_s, stop, done), name=target.server)
        for seed, target in enumerate(targets)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class _Churn:
    """One cluster's changes, over one connection that is opened anew whenever the server went away."""

    def __init__(self, target: Target, seed: int) -> None:
        self._target = target
        self._rng = random.Random(seed)
        self._tls = ssl.create_default_context(cafile=str(target.ca_file))
        self._connection: http.client.HTTPSConnection | None = None
        self._alive: list[str] = []
        self._made = 0

    def run(self, changes_per_s: float, stop: Event, done: Synchronized[int]) -> None:
        """Until told to stop; a paused server makes one change late and never all of them at once."""
        while not stop.is_set():
            due = time.monotonic() + self._rng.expovariate(changes_per_s)
            with suppress(OSError, http.client.HTTPException):
                self._change()
                with done.get_lock():
                    done.value += 1
            stop.wait(max(0.0, due - time.monotonic()))

    def _change(self) -> None:
        dice, (least, most) = self._rng.random(), _PODS
        if len(self._alive) >= most or (dice < 0.35 and len(self._alive) >= least):
            name = self._alive.pop(self._rng.randrange(len(self._alive)))
            self._send("DELETE", f"{_pods()}/{name}?gracePeriodSeconds=0")
        elif dice > 0.7 and self._alive:
            name = self._rng.choice(self._alive)
            ready = {"type": "Ready", "status": self._rng.choice(("True", "False"))}
            patch = {"status": {"phase": "Running", "conditions": [ready]}}
            self._send("PATCH", f"{_pods()}/{name}/status", patch)
        else:
            self._made += 1
            name = f"p{self._made}"
            self._send("POST", _pods(), self._pod(name))
            self._alive.append(name)

    def _pod(self, name: str) -> dict[str, Any]:
        app = f"app-{self._rng.randrange(_WORKLOADS)}"
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": app, "uid": f"uid-of-{app}", "controller": True}
        meta = {"name": name, "namespace": NAMESPACE, "labels": {"app": app}, "ownerReferences": [owner]}
        cpu = f"{self._rng.choice((10, 50, 100))}m"
        spec = pod_spec({"cpu": cpu, "memory": "16Mi"}) | {"nodeName": self._rng.choice(self._target.nodes)}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}

    def _send(self, method: str, path: str, body: object = None) -> None:
        content = "application/strategic-merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._target.token}", "Content-Type": content}
        if self._connection is None:
            place = urlsplit(self._target.server)
            self._connection = http.client.HTTPSConnection(
                place.hostname or "", place.port, context=self._tls, timeout=5.0
            )
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            self._connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise


def _pods() -> str:
    return f"/api/v1/namespaces/{NAMESPACE}/pods"

"""The world of `prewarm bench failover` (W4): one-replica apps on clusters that bind, start, lose and drain instances.

What happens to an instance is a few moments: ordered, bound to a node, ready, told to stop, gone. A cluster that is
lost takes its instances with it at once and keeps its manifests, so what it was told to hold starts again when it is
back. A deleted instance serves on for a grace period (as a preStop hook lets it) while the router learns of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from federation.placement.workload import Workload
from federation.snapshot import Ages, Cluster, Links, MemberState, NodeClass, Nodes, Running, Snapshot, frozen
from prewarm.domain import IntArray
from prewarm.sim.startup import LogNormalStart

ROOM = {"a": 20, "b": 10, "c": 5}
APPS = 15
LOST_S, BACK_S = 60.0, 660.0
DETECT_S = 9.0
"""A member counts as lost after three calls of three seconds went unanswered."""
SEEN_S = 3.0
"""A member that is back answers its next call."""
GRACE_S = 10.0
CPU_MILLI, MEMORY = 1_000, 1 << 30
START = LogNormalStart.of_mean_sd(2.3, 1.15)
NEVER = math.inf


@dataclass(slots=True)
class Instance:
    """One instance of an app; moments in seconds, NEVER where they did not come."""

    app: int
    cluster: str
    ordered: float
    ready: float = NEVER
    stopped: float = NEVER
    gone: float = NEVER

    @property
    def there(self) -> bool:
        """Whether it still counts among a cluster's pods."""
        return self.stopped == NEVER and self.gone == NEVER

    def holds(self, now: float) -> bool:
        """Whether it takes room on a node."""
        return self.ready != NEVER and self.gone > now


@dataclass(slots=True)
class World:
    """The clusters and what runs on them; `told` is what each was told to hold, by app."""

    rng: np.random.Generator
    told: dict[str, IntArray] = field(default_factory=lambda: {name: np.zeros(APPS, dtype=np.int64) for name in ROOM})
    instances: list[Instance] = field(default_factory=list)
    most_over: int = 0
    """Most instances at once that were asked of clusters beyond their room."""

    def begin(self) -> None:
        """All apps run in a, ready since before the start."""
        self.told["a"][:] = 1
        self.instances = [Instance(app, "a", ordered=-60.0, ready=-30.0) for app in range(APPS)]

    def lost(self, now: float) -> bool:
        """Whether a is away."""
        return LOST_S <= now < BACK_S

    def tell(self, app: int, wanted: Mapping[str, int], now: float) -> None:
        """Hand new numbers to the clusters that answer; the others get them when they are back."""
        for cluster, count in wanted.items():
            if cluster == "a" and self.lost(now):
                continue
            self.told[cluster][app] = count

    def advance(self, now: float) -> None:
        """Bring pods in line with what was told, and bind what has room."""
        if self.lost(now):
            for one in self.instances:
                if one.cluster == "a" and one.gone > LOST_S:
                    one.gone = LOST_S
        for cluster, counts in self.told.items():
            if cluster == "a" and self.lost(now):
                continue
            self._reconcile(cluster, counts, now)
            self._bind(cluster, now)
        asked = {name: int(counts.sum()) for name, counts in self.told.items() if not (name == "a" and self.lost(now))}
        self.most_over = max(self.most_over, sum(max(0, count - ROOM[name]) for name, count in asked.items()))

    def snapshot(self, now: float) -> Snapshot:
        """What the members' watches show: a is dark from its detection until its first answer."""
        seen_dark = LOST_S + DETECT_S <= now < BACK_S + SEEN_S
        return Snapshot(now, tuple(self._cluster(name, now, dark=name == "a" and seen_dark) for name in ROOM), _links())

    def running(self, app: int, now: float) -> dict[str, Running]:
        """Instances of one app by cluster."""
        found = {cluster: self._here(app, cluster, now) for cluster in ROOM}
        return {cluster: one for cluster, one in found.items() if one is not None}

    def _here(self, app: int, cluster: str, now: float) -> Running | None:
        here = [one for one in self.instances if one.app == app and one.cluster == cluster and one.there]
        told = int(self.told[cluster][app])
        if not here and not told:
            return None
        ready, pending = sum(one.ready <= now for one in here), sum(one.ready == NEVER for one in here)
        return Running(told, len(here), ready, pending)

    def _reconcile(self, cluster: str, counts: IntArray, now: float) -> None:
        for app in range(APPS):
            here = [one for one in self.instances if one.app == app and one.cluster == cluster and one.there]
            for one in here[int(counts[app]) :]:
                one.stopped = now
                one.gone = now + GRACE_S if one.ready <= now else now
            for _ in range(int(counts[app]) - len(here)):
                self.instances.append(Instance(app, cluster, ordered=now))

    def _bind(self, cluster: str, now: float) -> None:
        used = sum(one.holds(now) for one in self.instances if one.cluster == cluster)
        for one in self.instances:
            if one.cluster == cluster and one.there and one.ready == NEVER and used < ROOM[cluster]:
                one.ready = now + float(START.draw(self.rng, 1)[0])
                used += 1

    def _cluster(self, name: str, now: float, *, dark: bool) -> Cluster:
        since = LOST_S + DETECT_S if dark else (BACK_S + SEEN_S if name == "a" and now >= BACK_S else 0.0)
        running = {key_of(app): self._here(app, name, now) for app in range(APPS)}
        seen = min(now, LOST_S) if dark else now
        used = sum(one.holds(now) for one in self.instances if one.cluster == name)
        return Cluster(
            name=name,
            context="simulated",
            state=MemberState.DARK if dark else MemberState.READY,
            since=since,
            nodes=_node(ROOM[name], used),
            running=frozen({key: one for key, one in running.items() if one is not None}),
            ages=Ages(answer=seen, nodes=seen, pods=seen),
            present={"namespace": frozenset({"shop"})},
        )


def key_of(app: int) -> str:
    """The name of an app."""
    return f"shop/app-{app:02d}"


def workload_of(app: int) -> Workload:
    """An app as placement is asked about it."""
    return Workload(
        key_of(app),
        "deployment",
        replicas=1,
        requests=frozen({"cpu": CPU_MILLI, "memory": MEMORY}),
        architecture=("amd64",),
        ready_minimum=1,
    )


def _node(room: int, used: int) -> Nodes:
    """All of a cluster's room on one node, so that what fits is the room that the protocol names."""
    whole = np.array([[room * CPU_MILLI, 2 * room * MEMORY, 110]], dtype=np.int64)
    return Nodes(
        resources=("cpu", "memory", "pods"),
        classes=(NodeClass((("kubernetes.io/arch", "amd64"), ("kubernetes.io/os", "linux"))),),
        class_of=np.zeros(1, dtype=np.int32),
        count=np.ones(1, dtype=np.int32),
        allocatable=whole,
        requested=np.array([[used * CPU_MILLI, used * MEMORY, used]], dtype=np.int64),
        used=np.full((1, 2), np.nan),
        gpu_free=np.zeros((1, 0), dtype=np.int16),
        schedulable=np.ones(1, dtype=np.bool_),
        names=(("node-1",),),
    )


def _links() -> Links:
    delay = np.full((len(ROOM), len(ROOM)), 10.0)
    np.fill_diagonal(delay, 1.0)
    return Links(tuple(ROOM), delay, np.full(delay.shape, np.nan))

"""Episodes of the service's own world, each from a seed: a fleet, a service graph, and who asks to be placed when.

Made up, not measured: fleets of 2 to 32 clusters of four kinds, so that a rule that is good on one of them alone can be
told from one that is good on all. Everything is drawn beforehand and nothing depends on what is decided, so two
policies meet the same events.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from federation.placement.workload import Caller, Workload
from federation.snapshot import BASE_RESOURCES, Ages, Cluster, Links, MemberState, NodeClass, Nodes
from gnn.fleet.telemetry import telling, told_clusters, told_links, told_workload
from prewarm.domain import FloatArray
from prewarm.settings import Call

START = 1_000_000.0
GIB = 1 << 30
LEAST_CLUSTERS, MOST_CLUSTERS = 2, 32
LEAST_NODES, MOST_NODES = 2, 24
"""Of a cluster, drawn by the logarithm."""
BUSY, IDLE_BUSY, IDLE = (0.1, 0.6), (0.0, 0.05), 0.15
"""What others have taken of a cluster, drawn within; of fleets that are as good as empty; and the share of these."""
ALIKE, WITHIN = 0.3, 0.1
"""Share of fleets whose clusters all have as many nodes of one shape, and of those whose workloads are all about alike;
these are drawn from such a part of what workloads may be.
"""
MOST_INSTANCES = 150
QUESTIONS = 40
"""Events of an episode."""
CHANGED, LOOKED_AT = 0.2, 0.2
"""Shares of the events that are changes of what runs, and second looks at it without a change, as the service takes."""
_SHAPES = ((4_000, 16), (8_000, 32), (16_000, 64), (32_000, 128))
"""Thousandths of cores and GiB of a node."""
_AMD = NodeClass(labels=(("kubernetes.io/arch", "amd64"), ("kubernetes.io/os", "linux")))


@dataclass(frozen=True, slots=True)
class Kind:
    """What fleets of a kind have in common. asked: what all workloads together ask for, as a share of free room, drawn
    within. spread: of the logarithm of prices. across_ms: delay across the whole map, drawn within.
    """

    asked: tuple[float, float]
    spread: float
    across_ms: tuple[float, float]


KINDS: dict[str, Kind] = {
    "plain": Kind((0.3, 0.7), 0.25, (40.0, 150.0)),
    "tight": Kind((1.4, 2.0), 0.25, (40.0, 150.0)),
    "dear": Kind((0.3, 0.8), 0.6, (10.0, 60.0)),
    "far": Kind((0.3, 0.8), 0.1, (120.0, 300.0)),
}


@dataclass(frozen=True, slots=True)
class Event:
    """A workload that is to be placed, new or changed. gone: keys of those that ended before it."""

    workload: Workload
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode as it is told; clusters are sorted by name, with what others have taken of their nodes already."""

    kind: str
    clusters: tuple[Cluster, ...]
    links: Links
    calls: tuple[Call, ...]
    events: tuple[Event, ...]


def draw(seed: int, kind: str | None = None) -> Episode:
    """The episode of a seed; the kinds take turns where none is given."""
    rng = np.random.default_rng([seed, 11])
    name = kind or tuple(KINDS)[seed % len(KINDS)]
    like = KINDS[name]
    clusters, links = _fleet(like, rng)
    workloads, calls = _workloads(tuple(sorted({one.region or "" for one in clusters})), rng)
    wanted = _resized(workloads, clusters, float(rng.uniform(*like.asked)))
    events, how = _events(wanted, rng), telling(seed, tuple(KINDS).index(name))
    said = tuple(Event(told_workload(one.workload, how), one.gone) for one in events)
    return Episode(name, told_clusters(clusters, how), told_links(links, how), calls if how.heard else (), said)


# --- the fleet


def _fleet(like: Kind, rng: np.random.Generator) -> tuple[tuple[Cluster, ...], Links]:
    many = round(LEAST_CLUSTERS * (MOST_CLUSTERS / LEAST_CLUSTERS) ** rng.random())
    regions = int(rng.integers(1, min(many, 8) + 1))
    across = float(rng.uniform(*like.across_ms))
    centre = rng.random((regions, 2))
    region_of = np.concatenate([np.arange(regions), rng.integers(0, regions, many - regions)])
    place = centre[region_of] + 0.02 * rng.standard_normal((many, 2))
    names = tuple(f"c{number:02d}" for number in range(many))
    apart = np.linalg.norm(place[:, None] - place[None, :], axis=2)
    delay = 0.5 + across * apart / math.sqrt(2.0)
    delay = np.where(np.triu(rng.random((many, many)) < 0.03, 1), np.nan, delay)
    delay = np.where(np.isnan(delay.T), np.nan, delay)
    prices = np.exp(like.spread * rng.standard_normal(many) - like.spread**2 / 2)
    same = _sizes(rng) if rng.random() < ALIKE else None
    busy = rng.uniform(*(IDLE_BUSY if rng.random() < IDLE else BUSY), many)
    clusters = [
        _cluster(names[i], f"r{region_of[i]}", (float(prices[i]), float(busy[i])), same or _sizes(rng), rng)
        for i in range(many)
    ]
    return tuple(clusters), Links(names, delay, np.full((many, many), 1_000.0))


def _sizes(rng: np.random.Generator) -> list[tuple[int, int]]:
    """Cores and GiB of a cluster's nodes, of two shapes at most."""
    shapes = rng.integers(0, len(_SHAPES), 2)
    nodes = round(LEAST_NODES * (MOST_NODES / LEAST_NODES) ** rng.random())
    return [_SHAPES[shapes[int(rng.random() < 0.3)]] for _ in range(nodes)]


def _cluster(
    name: str, region: str, price_busy: tuple[float, float], rows: list[tuple[int, int]], rng: np.random.Generator
) -> Cluster:
    price, busy = price_busy
    nodes = len(rows)
    allocatable = np.array([(cpu, gib * GIB, 110) for cpu, gib in rows], np.int64)
    taken = rng.beta(4 * busy + 1e-3, 4 * (1 - busy), (nodes, 1)) * rng.uniform(0.8, 1.0, (nodes, 2))
    requested = np.column_stack([(allocatable[:, :2] * taken).astype(np.int64), rng.integers(0, 20, nodes)])
    whole = Nodes(
        resources=BASE_RESOURCES,
        classes=(_AMD,),
        class_of=np.zeros(nodes, np.int32),
        count=np.ones(nodes, np.int32),
        allocatable=allocatable,
        requested=requested,
        used=np.full((nodes, 2), np.nan),
        gpu_free=np.zeros((nodes, 0), np.int16),
        schedulable=np.ones(nodes, np.bool_),
    )
    state = MemberState.SLOW if rng.random() < 0.05 else MemberState.READY
    ages = Ages(START, START, START, START, START)
    return Cluster(name, "simulated", state, START, whole, region, price, ages=ages)


# --- the work


@dataclass(frozen=True, slots=True)
class _Usual:
    """Where in what they may be, 0 to 1, the workloads of a fleet are: calls, cores and memory (3,), and how far about
    that.
    """

    centre: FloatArray
    width: float

    def draw(self, which: int, rng: np.random.Generator) -> float:
        """One of them, 0 to 1."""
        low = self.centre[which] * (1.0 - self.width)
        return float(low + self.width * rng.random())


_CALLS, _CORES, _MEMORY = range(3)


def _workloads(regions: tuple[str, ...], rng: np.random.Generator) -> tuple[list[Workload], tuple[Call, ...]]:
    """As many as there are events; the first of each tree is called from outside, the others by one before them."""
    usual = _Usual(rng.random(3), WITHIN if rng.random() < ALIKE else 1.0)
    made: list[Workload] = []
    calls: list[Call] = []
    while len(made) < QUESTIONS:
        tree = int(min(1 + rng.geometric(0.5), QUESTIONS - len(made), 6))
        first = len(made)
        for number in range(tree):
            key = f"shop/f{first + number:02d}"
            if number == 0:
                made.append(_entry(key, regions, usual, rng))
                continue
            caller = made[first + int(rng.integers(0, number))]
            per_call = float(np.exp(rng.uniform(math.log(0.3), math.log(3.0))))
            payload = float(np.exp(rng.uniform(0.0, math.log(200.0))))
            calls.append(Call(caller.key, key, per_call, payload_kib=payload))
            made.append(_inner(key, (caller.demand_per_s or 0.0) * per_call, usual, rng))
    return made, tuple(calls)


def _entry(key: str, regions: tuple[str, ...], usual: _Usual, rng: np.random.Generator) -> Workload:
    rate = 0.1 * 10_000.0 ** usual.draw(_CALLS, rng)
    mix = rng.dirichlet(np.full(len(regions), 0.5))
    callers = tuple(
        Caller(rate * float(part), region) for region, part in zip(regions, mix, strict=True) if part > 0.02
    )
    return replace(_inner(key, rate, usual, rng), callers=callers)


def _inner(key: str, rate: float, usual: _Usual, rng: np.random.Generator) -> Workload:
    cpu = int(50 * 80.0 ** usual.draw(_CORES, rng))
    memory = int(cpu / 1_000 * GIB * 0.5 * 16.0 ** usual.draw(_MEMORY, rng))
    replicas = int(np.clip(round(12.0 ** float(rng.random()) * (1.0 + rate) ** 0.1), 1, 16))
    return Workload(key, "Deployment", replicas, requests={"cpu": cpu, "memory": memory}, demand_per_s=rate)


def _resized(workloads: list[Workload], clusters: tuple[Cluster, ...], asked: float) -> list[Workload]:
    """The same with other numbers of instances, so that half of all workloads at a time ask for this share of room."""
    free: FloatArray = sum((one.nodes.free[:, :2].sum(axis=0) for one in clusters), np.zeros(2))
    sizes = np.array([[one.requests["cpu"], one.requests["memory"]] for one in workloads], np.float64)
    count = np.array([one.replicas for one in workloads], np.float64)
    share = float(((sizes * count[:, None]).sum(axis=0) / 2 / free).max())
    more = np.clip(np.rint(count * asked / share), 1, MOST_INSTANCES).astype(int)
    return [replace(one, replicas=number) for one, number in zip(workloads, more.tolist(), strict=True)]


def _events(workloads: list[Workload], rng: np.random.Generator) -> tuple[Event, ...]:
    """Arrivals in order, between them changes of what runs and second looks at it; each lives half an episode or so."""
    events: list[Event] = []
    ends: dict[str, int] = {}
    present: dict[str, Workload] = {}
    waiting = list(workloads)
    for turn in range(QUESTIONS + 1):
        gone = tuple(key for key, end in ends.items() if end <= turn and key in present)
        for key in gone:
            del present[key]
        drawn = rng.random()
        if present and drawn < CHANGED + LOOKED_AT:
            key = sorted(present)[int(rng.integers(len(present)))]
            one = _changed(present[key], rng) if drawn < CHANGED else present[key]
        else:
            one = waiting.pop(0)
            ends[one.key] = turn + 1 + int(rng.exponential(QUESTIONS / 2))
        present[one.key] = one
        events.append(Event(one, gone))
    return tuple(events)


def _changed(workload: Workload, rng: np.random.Generator) -> Workload:
    """More or fewer instances and calls, from elsewhere than before."""
    factor = float(np.exp(rng.uniform(-0.7, 0.7)))
    rate = (workload.demand_per_s or 0.0) * factor
    callers = workload.callers
    if callers:
        mix = rng.dirichlet(np.full(len(callers), 1.0))
        callers = tuple(Caller(rate * float(part), one.region) for one, part in zip(callers, mix, strict=True))
    replicas = max(1, round(workload.replicas * factor))
    return replace(workload, replicas=replicas, demand_per_s=rate, callers=callers)

"""What is told of a drawn fleet: the habits in which real fleets differ, each drawn once for all its clusters.

Real fleets differ in what they tell more than in what they are: one has no metrics-server, another no declared links,
prices or regions, and nobody says who calls. A policy that only ever saw one habit of telling cannot be asked where
another is the custom, and its guard would rightly cry out. Two kinds of habits: those that change nothing of what an
answer is worth nor of what the rule decides (use under what is requested, start-up times, quotas where nothing is
placed, wide bandwidths, zones), and those without which less can be known: callers, links, regions, prices. Between the
two are nodes that take none of the work here, which hardly matter to the rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from federation.placement.workload import Workload
from federation.snapshot import (
    BASE_RESOURCES,
    CPU,
    GPU_WHOLE,
    MEMORY,
    PODS,
    Ages,
    Cluster,
    Headroom,
    Links,
    NodeClass,
    Nodes,
    Quota,
    Running,
    Taint,
    frozen,
)
from prewarm.domain import FloatArray, IntArray

_STREAM = 13
RESTRICTED, ELASTIC, ACCELERATED = 0.5, 0.5, 0.5
"""Shares of clusters with a quota, with declared headroom and with a node of GPUs, where fleets have any."""
MOST_NODES = 5
OLDEST_ANSWER_S, OLDEST_S = 10.0, 60.0
"""How old a member's last answer is at most, and its nodes, pods, quotas and use."""
MEDIAN_START_S, START_SIGMA, LONGEST_START_S = 2.5, 0.7, 60.0
"""Start-up times are log-normal over clusters; the mean is 3.2 s, as public cold starts have it."""
_OTHERS = "others"
RESIDENTS = "others/all"
_GIB = 1 << 30
_CONTROL_SHAPES = ((2_000, 4), (4_000, 16), (8_000, 32))
"""Thousandths of cores and GiB of a control-plane node."""
_CONTROL = Taint("node-role.kubernetes.io/control-plane", "", "NoSchedule")
_FOR_GPUS = Taint("nvidia.com/gpu", "present", "NoSchedule")
_ZONE_LABEL = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Habits:
    """Which of it a fleet tells or has. The defaults are the shares of fleets that do.

    elastic: headroom of nodes that come when needed. measured: use of nodes. timed: how long starts take. restricted:
    quotas. guarded: nodes of the control plane. accelerated: nodes with GPUs, for those who need them. zoned: nodes of
    several zones. peopled: what else runs there, as workloads. linked: delays between clusters; wired: bandwidths as
    well. placed: regions. priced: prices. heard: who calls, and how often.
    """

    elastic: float = 0.15
    measured: float = 0.5
    timed: float = 0.5
    restricted: float = 0.4
    guarded: float = 0.5
    accelerated: float = 0.25
    zoned: float = 0.5
    peopled: float = 0.7
    wired: float = 0.5
    linked: float = 0.9
    placed: float = 0.9
    priced: float = 0.9
    heard: float = 0.9


@dataclass(frozen=True, slots=True)
class Telling:
    """The habits of one fleet, and the rest of their stream."""

    has: frozenset[str]
    rng: np.random.Generator

    @property
    def heard(self) -> bool:
        """Whether callers are known; without regions nobody could say where they are."""
        return "heard" in self.has and "placed" in self.has


def telling(seed: int, kind: int) -> Telling:
    """How the fleet of a seed and a kind (its number) tells."""
    rng = np.random.default_rng([seed, _STREAM, kind])
    shares = Habits()
    drawn = {one.name: bool(rng.random() < getattr(shares, one.name)) for one in fields(Habits)}
    return Telling(frozenset(name for name, has in drawn.items() if has), rng)


def told_clusters(clusters: tuple[Cluster, ...], how: Telling) -> tuple[Cluster, ...]:
    """The clusters as their fleet tells of them. Every number is drawn, told or not, so that habits do not disturb each
    other.
    """
    ages_s = how.rng.uniform(0.0, (OLDEST_ANSWER_S, OLDEST_S, OLDEST_S, OLDEST_S, OLDEST_S))
    return tuple(_told(one, how, ages_s) for one in clusters)


def told_links(links: Links, how: Telling) -> Links:
    """The network as far as somebody declared it."""
    delay, bandwidth = links.delay_ms, links.bandwidth_mbps
    if not {"linked", "wired"} <= how.has:
        bandwidth = np.full_like(bandwidth, np.nan)
    if "linked" not in how.has:
        delay = np.where(np.eye(len(delay), dtype=bool), 0.0, np.nan)
    return replace(links, delay_ms=delay, bandwidth_mbps=bandwidth)


def told_workload(workload: Workload, how: Telling) -> Workload:
    """What its manifest says: demand and callers only where somebody counts them."""
    return workload if how.heard else replace(workload, demand_per_s=None, callers=())


def open_nodes(nodes: Nodes) -> FloatArray:
    """Which rows take workloads here, 1 or 0, (g,): nothing of this world tolerates a taint."""
    untainted = np.array([not one.taints for one in nodes.classes])[nodes.class_of]
    rows: FloatArray = (untainted & nodes.schedulable).astype(np.float64)
    return rows


def _told(one: Cluster, how: Telling, ages_s: FloatArray) -> Cluster:
    rng = how.rng
    nodes = _zoned(one.nodes, rng.integers(0, rng.integers(2, 4), len(one.nodes)), zoned="zoned" in how.has)
    nodes = _guarded(
        nodes, int(rng.integers(0, len(_CONTROL_SHAPES))), rng.uniform(0.1, 0.5), guarded="guarded" in how.has
    )
    gpus, chosen = int(2 ** rng.integers(0, 4)), bool(rng.random() < ACCELERATED)
    nodes = _accelerated(nodes, gpus, float(rng.random()), accelerated=chosen and "accelerated" in how.has)
    share = rng.uniform(0.2, 0.9, (len(one.nodes) + 2, 1))[: len(nodes)]
    start_s = min(math.exp(math.log(MEDIAN_START_S) + START_SIGMA * rng.standard_normal()), LONGEST_START_S)
    quotas, restricted = (_quota(rng),), bool(rng.random() < RESTRICTED)
    residents = _residents(nodes, rng)
    headroom, elastic = _headroom(one.nodes, rng), bool(rng.random() < ELASTIC)
    stamps = (one.since - ages_s * rng.uniform(0.5, 1.0, len(ages_s))).tolist()
    answer, of_nodes, of_pods, of_quotas, of_use = stamps
    ages = Ages(answer, of_nodes, of_pods, of_quotas, of_use if "measured" in how.has else None)
    if "measured" in how.has:
        nodes = replace(nodes, used=nodes.requested[:, [CPU, MEMORY]] * share)
    return replace(
        one,
        nodes=nodes,
        ages=ages,
        start_s=start_s if "timed" in how.has else None,
        running=frozen({RESIDENTS: residents} if residents is not None and "peopled" in how.has else {}),
        headroom=headroom if elastic and "elastic" in how.has else None,
        quotas=quotas if restricted and "restricted" in how.has else (),
        region=one.region if "placed" in how.has else None,
        price=one.price if "priced" in how.has else 1.0,
    )


def _zoned(nodes: Nodes, zone: IntArray, *, zoned: bool) -> Nodes:
    """Nodes of one class, spread over zones."""
    if not zoned:
        return nodes
    names, class_of = np.unique(zone, return_inverse=True)
    labels = nodes.classes[0].labels
    classes = tuple(NodeClass(tuple(sorted((*labels, (_ZONE_LABEL, f"z{number}"))))) for number in names.tolist())
    return replace(nodes, classes=classes, class_of=class_of.astype(np.int32))


def _guarded(nodes: Nodes, shape: int, busy: float, *, guarded: bool) -> Nodes:
    """With a node of the control plane as the last row."""
    if not guarded:
        return nodes
    cpu, gib = _CONTROL_SHAPES[shape]
    row = np.array([cpu, gib * _GIB, 110], np.int64)
    tainted = NodeClass(nodes.classes[0].labels, (_CONTROL,))
    more = replace(nodes, classes=(*nodes.classes, tainted))
    return _longer(more, len(nodes.classes), row, (row * busy).astype(np.int64))


def _accelerated(nodes: Nodes, gpus: int, busy: float, *, accelerated: bool) -> Nodes:
    """With a node of GPUs as the last row, some of which are taken."""
    if not accelerated:
        return nodes
    row = np.array([12_000 * gpus, 96 * gpus * _GIB, 110], np.int64)
    more = replace(nodes, classes=(*nodes.classes, NodeClass(nodes.classes[0].labels, (_FOR_GPUS,))))
    longer = _longer(more, len(nodes.classes), row, (row * busy).astype(np.int64))
    free = np.zeros((len(longer), gpus), np.int16)
    free[-1, : gpus - int(gpus * busy)] = GPU_WHOLE
    return replace(longer, gpu_free=free)


def with_node(nodes: Nodes, declared: Headroom) -> Nodes:
    """With one node more, of the declared shape and of the first class."""
    row = np.array([declared.allocatable[name] for name in BASE_RESOURCES], np.int64)
    return _longer(nodes, 0, row, np.zeros_like(row))


def _longer(nodes: Nodes, of_class: int, allocatable: IntArray, requested: IntArray) -> Nodes:
    """With one node more, whose use nobody knows."""
    return replace(
        nodes,
        class_of=np.append(nodes.class_of, np.int32(of_class)),
        count=np.append(nodes.count, np.int32(1)),
        allocatable=np.concatenate([nodes.allocatable, allocatable[None, :]]),
        requested=np.concatenate([nodes.requested, requested[None, :]]),
        used=np.concatenate([nodes.used, np.full((1, 2), np.nan)]),
        gpu_free=np.concatenate([nodes.gpu_free, np.zeros((1, nodes.gpu_free.shape[1]), nodes.gpu_free.dtype)]),
        schedulable=np.append(nodes.schedulable, np.True_),
    )


def _residents(nodes: Nodes, rng: np.random.Generator) -> Running | None:
    """Of the pods that were there before, those that belong to somebody's workloads."""
    number = int(open_nodes(nodes) @ nodes.requested[:, PODS] * rng.random())
    return Running(number, number, number) if number else None


def _headroom(nodes: Nodes, rng: np.random.Generator) -> Headroom:
    """Some more nodes like the first one."""
    allocatable = dict(zip(BASE_RESOURCES, nodes.allocatable[0].tolist(), strict=True))
    return Headroom(int(rng.integers(1, MOST_NODES + 1)), frozen(allocatable), float(rng.uniform(30.0, 180.0)))


def _quota(rng: np.random.Generator) -> Quota:
    hard = int(rng.integers(10, 200)) * 1_000
    return Quota(_OTHERS, "team", frozen({"requests.cpu": hard}), frozen({"requests.cpu": int(hard * rng.random())}))

"""The fleet in metrics: who answers, how old what is known of it is, what is placed, and what stands in the way.

What the snapshot says is read when somebody scrapes, so nothing is kept twice. A datum that was never seen has no
sample: an age of zero would be a lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from federation.desk.desk import FleetDesk
from federation.snapshot import CPU, MEMORY, Cluster, MemberState

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1)
_MILLI = 1_000
Accidents = Callable[[], Mapping[str, int]]


class DeskMetrics:
    """What a desk counts as it decides."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.seconds = Histogram(
            "prewarm_placement_seconds", "Time of a placement decision", buckets=_SECONDS, registry=registry
        )
        self.decided = Counter(
            "prewarm_placements", "Placement decisions by what they found", ["result"], registry=registry
        )

    def saw(self, placed: int, unplaced: int, seconds: float) -> None:
        """One decision."""
        self.seconds.observe(seconds)
        self.decided.labels("all" if not unplaced else "part" if placed else "nothing").inc()


class FleetCollector(Collector):
    """The desk's fleet at the moment of a scrape. `accidents`: errors of ours that a part survived, by part."""

    def __init__(self, desk: FleetDesk, accidents: Accidents = dict) -> None:
        self._desk = desk
        self._accidents = accidents

    def describe(self) -> list[Metric]:
        """Nothing is asked of the fleet when this is registered."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All families."""
        clusters = self._desk.view.snapshot(self._desk.now()).clusters
        yield _states(clusters)
        yield _ages(clusters, self._desk.now())
        yield _amounts(clusters)
        yield _instances(clusters)
        yield _starts(clusters)
        placed = GaugeMetricFamily("prewarm_placed_workloads", "Workloads that are kept placed", labels=["as"])
        troubled = len(self._desk.troubles.keys() & self._desk.placed.keys())
        placed.add_metric(["wanted"], len(self._desk.placed) - troubled)
        placed.add_metric(["not_wanted"], troubled)
        yield placed
        accidents = GaugeMetricFamily("prewarm_fleet_accidents", "Errors of ours that a part survived", labels=["part"])
        for part, count in self._accidents().items():
            accidents.add_metric([part], count)
        yield accidents


def _starts(clusters: tuple[Cluster, ...]) -> Metric:
    family = GaugeMetricFamily("prewarm_cluster_start_seconds", "Median start of an instance", labels=["cluster"])
    for cluster in clusters:
        if cluster.start_s is not None:
            family.add_metric([cluster.name], cluster.start_s)
    return family


def _states(clusters: tuple[Cluster, ...]) -> Metric:
    family = GaugeMetricFamily("prewarm_cluster_state", "1 for the state of a member", labels=["cluster", "state"])
    for one in clusters:
        for state in MemberState:
            family.add_metric([one.name, state], float(one.state is state))
    return family


def _ages(clusters: tuple[Cluster, ...], now: float) -> Metric:
    family = GaugeMetricFamily(
        "prewarm_cluster_data_age_seconds", "Age of what is known of a member", labels=["cluster", "datum"]
    )
    for one in clusters:
        for datum, age in one.ages.at(now).items():
            if age is not None:
                family.add_metric([one.name, datum], age)
    return family


def _amounts(clusters: tuple[Cluster, ...]) -> Metric:
    family = GaugeMetricFamily(
        "prewarm_cluster_resources", "Cores and bytes of nodes that take work", labels=["cluster", "resource", "amount"]
    )
    for one in clusters:
        if one.ages.nodes is None or one.ages.pods is None:
            continue
        nodes = one.nodes
        for amount, column in (("allocatable", nodes.allocatable), ("requested", nodes.requested)):
            total = nodes.total(column)
            for place, scale in ((CPU, _MILLI), (MEMORY, 1)):
                name = nodes.resources[place]
                family.add_metric([one.name, name, amount], total[name] / scale)
    return family


def _instances(clusters: tuple[Cluster, ...]) -> Metric:
    family = GaugeMetricFamily("prewarm_cluster_instances", "Instances of workloads", labels=["cluster", "as"])
    for one in (each for each in clusters if each.ages.pods is not None):
        family.add_metric([one.name, "existing"], sum(each.existing for each in one.running.values()))
        family.add_metric([one.name, "ready"], sum(each.ready for each in one.running.values()))
        family.add_metric([one.name, "pending"], sum(each.pending for each in one.running.values()))
    return family

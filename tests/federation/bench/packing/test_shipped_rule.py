"""The rule that the service ships is the one that `bench openb` measures: same offers, same gains, same choices.

A small openb: its most frequent shapes of pods with their counts, and kinds of nodes of its list. The benchmark's
compiled rule runs to some load; the service's pipeline then sees that state as clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from federation.bench.packing.fleet import Fleet, run_course
from federation.bench.packing.ours import Foreseen, room_now
from federation.bench.packing.trace import Arrivals, Trace
from federation.nodes.change import gain
from federation.nodes.fill import FutureFill
from federation.nodes.foresee import Question, decline_of, foresee, sampled
from federation.nodes.fragment import Unfragmented
from federation.nodes.judging import new_memo, packed, place_all
from federation.nodes.mix import COUNT, CPU, MILLI, Mix
from federation.nodes.offers import STRETCHES
from federation.nodes.outlook import Outlook, Wanted, mix_of, outlook_of
from federation.nodes.rows import Rows
from federation.placement.answer import Placement
from federation.placement.packing.changes import Changes
from federation.placement.packing.weights import packing_policy
from federation.placement.pipeline import place
from federation.placement.terms import Terms
from federation.placement.workload import GpuNeed, Workload
from federation.snapshot import GPU_WHOLE, Ages, Cluster, MemberState, NodeClass, Nodes, Snapshot, frozen
from prewarm.domain import FloatArray, IntArray
from prewarm.settings import PlacementPolicy

MIB = 1 << 20
MODELS = ("G2", "P100", "T4")
PODS = (
    (3_152, 5_600, GpuNeed(0, 810), 1040),
    (11_300, 49_152, GpuNeed(1, 1000), 853),
    (11_400, 48_128, GpuNeed(1, 1000, ("G2",)), 535),
    (3_152, 5_600, GpuNeed(1, 1000), 470),
    (11_908, 47_104, GpuNeed(0, 470), 391),
    (12_500, 57_344, GpuNeed(), 366),
    (8_000, 30_517, GpuNeed(0, 470), 358),
    (32_000, 49_152, GpuNeed(), 284),
    (18_708, 64_512, GpuNeed(1, 1000, ("P100", "T4")), 252),
    (4_000, 15_258, GpuNeed(0, 160), 180),
    (88_000, 327_680, GpuNeed(8, 1000), 196),
)
NODES = ((96_000, 786_432, 0, 8), (64_000, 262_144, 1, 2), (96_000, 393_216, 2, 4), (96_000, 786_432, 0, 8))
CLUSTERS = 4
NOW = 1_000_000.0


def work(count: float = 1.0) -> list[Wanted]:
    """The pods as the service knows them: a shape each, `count` times the list's number."""
    found = []
    for cpu, mib, need, number in PODS:
        there = round(count * number)
        found.append(Wanted({"cpu": cpu, "memory": mib * MIB}, need, there, there))
    return found


def trace_of(nodes: int) -> Trace:
    """A fleet of these kinds of nodes."""
    machines = np.array([NODES[at % len(NODES)] for at in range(nodes)], dtype=np.int64)
    gpus = np.where(np.arange(8)[None, :] < machines[:, 3:], GPU_WHOLE, 0).astype(np.int64)
    mix = mix_of(work(), MODELS)
    return Trace(machines, gpus, mix, np.arange(len(mix.shapes)))


def half_full(trace: Trace, share: float, seed: int) -> Fleet:
    """The state of a run of the measured rule when pods worth `share` of the GPUs have come."""
    rng = np.random.default_rng(seed)
    number = int(share * trace.capacity / float(trace.mix.probability @ trace.mix.demand))
    shapes = rng.choice(len(trace.mix.shapes), number, p=trace.mix.probability)
    rule = Foreseen(trace.mix, number / share * 1.3)
    return run_course(trace, Arrivals(shapes, rng.permutation(len(trace.nodes))), rule).fleet


def nodes_of(fleet: Fleet, chosen: IntArray) -> Nodes:
    """Some nodes as a cluster shows them; what is free is what they have."""
    free = fleet.nodes[chosen]
    allocatable = np.column_stack([free[:, 0], free[:, 1] * MIB, np.full(len(chosen), 110)])
    classes = tuple(NodeClass((("nvidia.com/gpu.product", name),)) for name in MODELS)
    return Nodes(
        resources=("cpu", "memory", "pods"),
        classes=classes,
        class_of=free[:, 2].astype(np.int32),
        count=np.ones(len(chosen), dtype=np.int32),
        allocatable=allocatable,
        requested=np.zeros_like(allocatable),
        used=np.full((len(chosen), 2), np.nan),
        gpu_free=-np.sort(-fleet.gpus[chosen], axis=1).astype(np.int16),
        schedulable=np.ones(len(chosen), dtype=np.bool_),
    )


@dataclass
class Service:
    """The service's pipeline over the nodes of a run, dealt out to clusters that are alike in all but their nodes."""

    fleet: Fleet
    outlook: Outlook

    def __post_init__(self) -> None:
        self.parts = [np.arange(at, len(self.fleet.nodes), CLUSTERS) for at in range(CLUSTERS)]
        self.fragmentation = Changes(Unfragmented(self.outlook.mix))
        self.future_fill = Changes(FutureFill(self.outlook.mix, self.outlook.offers))

    def snapshot(self) -> Snapshot:
        """The nodes as they are now."""
        ages = Ages(NOW, NOW, NOW, NOW, NOW)
        clusters = tuple(
            Cluster(f"c{at}", "test", MemberState.READY, 0.0, nodes_of(self.fleet, part), ages=ages)
            for at, part in enumerate(self.parts)
        )
        return Snapshot(NOW, clusters)

    def ask(self, pod: int) -> Placement:
        """Where one such pod goes, by the default policy."""
        cpu, mib, need, _ = PODS[pod]
        asked = Workload("shop/pod", "Deployment", 1, frozen({"cpu": cpu, "memory": mib * MIB}), need)
        policy = packing_policy(PlacementPolicy(), need, foreseen=True)
        terms = Terms(policy=policy, fragmentation=self.fragmentation, future_fill=self.future_fill)
        return place(self.snapshot(), asked, terms=terms, now=NOW)


def row_of(mix: Mix, pod: int) -> int:
    """The row of a mix that a pod is."""
    cpu, mib, need, _ = PODS[pod]
    milli = GPU_WHOLE if need.count else need.milli
    allowed = [not need.models or name in need.models for name in MODELS]
    same = (mix.shapes == [cpu, mib, need.count or int(milli > 0), milli]).all(axis=1)
    return int(np.flatnonzero(same & (mix.allowed[:, :-1] == allowed).all(axis=1))[0])


def measured(fleet: Fleet, rule: Foreseen, pod: int, parts: list[IntArray]) -> FloatArray:
    """The best score of the measured rule in each cluster, (C,)."""
    row = row_of(rule.mix, pod)
    rule.judge(fleet, row, np.arange(len(fleet.nodes)))
    return np.array([fleet.score[row, part].max() for part in parts])


def both(share: float, seed: int, *, foreseen: bool) -> tuple[Service, Foreseen]:
    """The two sides over one state, with the mix and the number of arrivals that the service found."""
    trace = trace_of(48)
    fleet = half_full(trace, share, seed)
    nodes = [nodes_of(fleet, np.arange(len(fleet.nodes)))]
    outlook = outlook_of(work(0.02), nodes, load=1.3)
    assert outlook is not None
    decline = None
    if foreseen:
        falling = np.linspace(48.0, 1.0, STRETCHES)[None, :] ** np.linspace(0.4, 1.6, len(outlook.mix.shapes))[:, None]
        decline = decline_of(falling)
        outlook = outlook.foreseeing(decline)
    rule = Foreseen(outlook.mix, outlook.arrivals, decline)
    rule.begin(fleet, 0)
    return Service(fleet, outlook), rule


@pytest.mark.parametrize("foreseen", [False, True])
def test_both_draw_the_same_offers(foreseen: bool) -> None:
    service, rule = both(0.5, 1, foreseen=foreseen)
    assert rule.offers is not None
    assert np.array_equal(service.outlook.offers.table, rule.offers.table)
    assert np.array_equal(service.outlook.offers.spans, rule.offers.spans)
    assert service.outlook.offers.keeping == rule.offers.keeping
    assert rule.offers.keeping.price > 0
    free = room_now(service.fleet, rule.mix)
    assert np.array_equal(free.room, service.outlook.free.room)
    assert (free.nodes, free.cpu, free.gpu) == (service.outlook.free.nodes, service.outlook.free.cpu, free.gpu)


@pytest.mark.parametrize(("share", "seed"), [(0.2, 1), (0.6, 2), (0.95, 3)])
def test_every_cluster_is_worth_what_the_measured_rule_says_and_they_rank_alike(share: float, seed: int) -> None:
    service, rule = both(share, seed, foreseen=True)
    apart = 0
    for pod in range(len(PODS)):
        scores = measured(service.fleet, rule, pod, service.parts)
        placement = service.ask(pod)
        found = {one.cluster: next(f.value for f in one.factors if f.name == "future_fill") for one in placement.scores}
        right = {f"c{at}": score for at, score in enumerate(scores.tolist()) if np.isfinite(score)}
        assert set(found) == set(right)
        for name, score in right.items():
            assert found[name] == pytest.approx(1.0 / (1.0 + np.exp(-score / 1000.0)), abs=1e-12)
        if PODS[pod][2] != GpuNeed():
            ranked = [right[one.cluster] for one in placement.scores]
            assert (np.diff(ranked) < 1e-4).all()  # the record's scores are rounded to nine digits
            apart += max(ranked, default=0.0) - min(ranked, default=0.0) > 1.0
    assert apart >= 2


def test_a_run_of_choices_is_the_same() -> None:
    service, rule = both(0.4, 5, foreseen=True)
    fleet, rng = service.fleet, np.random.default_rng(0)
    same = 0
    for pod in rng.choice(len(PODS), 100).tolist():
        row = row_of(rule.mix, pod)
        rule.judge(fleet, row, np.arange(len(fleet.nodes)))
        node = rule.choose(fleet, row)
        best = np.sort([fleet.score[row, part].max() for part in service.parts])
        if PODS[pod][2] != GpuNeed() and np.isfinite(best[-1]) and best[-1] - best[-2] > 1e-6:
            first = service.ask(pod).scores[0].cluster
            assert node in service.parts[int(first[1:])]
            same += 1
        if node >= 0:
            fleet.place(row, node)
    assert same >= 40


def test_what_is_foreseen_with_is_the_rule_of_the_service() -> None:
    service, rule = both(0.6, 4, foreseen=True)
    nodes, gpus, mix = service.fleet.nodes.copy(), service.fleet.gpus.copy(), rule.mix
    rows = Rows(nodes[:, 0].copy(), nodes[:, 1].copy(), nodes[:, 2], gpus.copy())
    measure = FutureFill(mix, service.outlook.offers)
    arrivals = np.random.default_rng(1).choice(len(mix.shapes), 30, p=mix.probability)
    taken = 0
    for shape in arrivals.tolist():
        gains, device = gain(rows, mix.table[shape], measure)
        if not np.isnan(gains).all():
            node = np.array([np.nanargmax(gains)])
            rows.put(int(node[0]), rows.take(node).after(mix.table[shape], device[node]))
            taken += int(mix.demand[shape])
    offers, least = packed(measure.offers), int(mix.shapes[mix.shapes[:, COUNT] > 0, CPU].min())
    assert place_all((nodes, gpus), mix.table, arrivals, offers, least, new_memo(12)) == taken > 0
    assert np.array_equal(nodes[:, 0], rows.cpu)
    assert np.array_equal(gpus, rows.gpu)


def test_foresight_is_repeatable_and_room_only_falls() -> None:
    trace = trace_of(40)
    rows = Rows(trace.nodes[:, 0], trace.nodes[:, 1], trace.nodes[:, 2], trace.gpus)
    sample = sampled(rows, np.ones(40), 4)
    question = Question(sample, trace.mix, 60.0)
    found = foresee(question)
    assert found.shape == (len(trace.mix.shapes), STRETCHES)
    assert (found[:, 0] == 1.0).all()
    assert (np.diff(found, axis=1) <= 0).all()
    assert found[trace.mix.shapes[:, MILLI] == 1000, -1].max() < 0.3
    assert np.array_equal(found, foresee(question))


def test_without_arrivals_or_nodes_room_stays() -> None:
    trace = trace_of(8)
    rows = Rows(trace.nodes[:, 0], trace.nodes[:, 1], trace.nodes[:, 2], trace.gpus)
    assert (foresee(Question(rows, trace.mix, 0.0)) == 1.0).all()
    assert (foresee(Question(rows.take(np.zeros(0, dtype=np.int64)), trace.mix, 50.0)) == 1.0).all()


def test_a_sample_has_every_kind_in_its_share() -> None:
    trace = trace_of(40)
    rows = Rows(trace.nodes[:, 0], trace.nodes[:, 1], trace.nodes[:, 2], trace.gpus)
    sample = sampled(rows.take(np.arange(4)), np.full(4, 25.0), 20)
    assert np.bincount(sample.model).tolist() == [10, 5, 5]
    assert len(sampled(rows, np.ones(40), 76)) == 40
    assert len(sampled(rows, np.zeros(40), 76)) == 0


def test_only_work_for_gpus_is_weighed_by_the_measured_rule() -> None:
    policy = PlacementPolicy()
    assert packing_policy(policy, GpuNeed(0, 500), foreseen=False) is policy
    assert packing_policy(policy, GpuNeed(), foreseen=True) is policy
    for need in (GpuNeed(2, 1000), GpuNeed(0, 500)):
        weights = packing_policy(policy, need, foreseen=True).weights
        assert weights == replace(policy.weights, fit=0.0, fragmentation=0.0, headroom=0.0, future_fill=2.5)
    priced = replace(policy, weights=replace(policy.weights, price=3.0, fit=0.0))
    assert packing_policy(priced, GpuNeed(1, 1000), foreseen=True).weights == replace(
        priced.weights, fragmentation=0.0, headroom=0.0, future_fill=2.0
    )
    off = replace(policy, gpu_measured=False)
    assert packing_policy(off, GpuNeed(1, 1000), foreseen=True) is off

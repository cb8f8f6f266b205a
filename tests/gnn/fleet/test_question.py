"""A question of the service becomes an observation: whole, about the right rows, and the same however it came about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.pipeline import place
from federation.placement.scorer import FACTORS, Declined, Question, Weighing
from federation.placement.terms import Terms
from federation.placement.workload import Callee, Caller, Workload
from federation.snapshot import Snapshot
from gnn.fleet.question import question_observation
from gnn.graph.build import GraphBuilder
from gnn.graph.features import column
from gnn.observation import Observation
from prewarm.settings import Call
from tests.federation.building import NOW, Wiring, cluster, fleet
from tests.gnn.fleets import key, some_fleet

CART = Workload(
    "shop/cart",
    "Deployment",
    4,
    requests={"cpu": 500, "memory": 1 << 30},
    callers=(Caller(6.0, region="eu"), Caller(2.0, cluster="c")),
    calls=(Callee("shop/pay", 2.0, 8.0), Callee("shop/nowhere", 1.0)),
)


class Asked:
    """A scorer that remembers what it was asked and leaves the rule to decide."""

    def __init__(self) -> None:
        self.question: Question | None = None

    def weigh(self, question: Question) -> Weighing | Declined:
        """Never."""
        self.question = question
        return Declined("only looking")


def asked(snapshot: Snapshot, workload: Workload) -> Question:
    """The question that the pipeline asks."""
    scorer = Asked()
    place(snapshot, workload, terms=Terms(scorer=scorer), now=snapshot.at)
    assert scorer.question is not None
    return scorer.question


def shop(*, cart: bool = True) -> Snapshot:
    """Three clusters: `pay` runs in b, `cart` (if at all) in a, `web` calls it, and `far` has nothing to do with it."""
    a, b, c = (cluster(name, region=at) for name, at in (("a", "eu"), ("b", "eu"), ("c", "us")))
    a = a.nodes(2, cpu="8", memory="16Gi").runs("shop/far", 3)
    b = b.nodes(2, cpu="8", memory="16Gi").runs("shop/pay", 2).runs("shop/web", 1)
    c = c.nodes(1, cpu="4", memory="8Gi")
    if cart:
        a = a.runs("shop/cart", 2)
    calls = (Call("shop/web", "shop/cart", 1.0), Call("shop/web", "shop/far", 1.0))
    return fleet(a, b, c, wiring=Wiring({("a", "b"): 10.0, ("a", "c"): 80.0, ("b", "c"): 90.0}, calls=calls))


def functions(seen: Observation, relation: str) -> set[tuple[int, int]]:
    """The ends of a relation's edges."""
    return set(map(tuple, seen[f"ends/{relation}"].T.tolist()))


@pytest.mark.parametrize("there", [True, False])
def test_the_workload_is_first_with_what_it_says_and_its_neighbours_after_it(there: bool) -> None:
    seen = question_observation(asked(shop(cart=there), CART), GraphBuilder())
    node = seen["node/function"]
    assert len(node) == 3  # cart, pay, web; not far
    assert seen["ask/function"].tolist() == [0]
    assert node[0, 0] == pytest.approx(np.log1p(8.0) / np.log1p(10_000.0))  # its callers' calls
    assert node[0, 1] == 0.0  # so its demand is known
    assert functions(seen, "calls") == {(0, 1), (2, 0)}
    assert functions(seen, "runs_on") == {(1, 1), (2, 1)} | ({(0, 0)} if there else set())
    regions = {row: round(8 * float(told[1])) for (_, row), told in zip(
        seen["ends/called_from"].T.tolist(), seen["values/called_from"], strict=True)}  # fmt: skip
    assert regions == {0: 6, 1: 2}


def test_every_cluster_in_question_has_its_values_and_its_room() -> None:
    question = asked(shop(), CART)
    seen = question_observation(question, GraphBuilder())
    assert seen["ask/pairs"].tolist() == [[0, 0, 0], [0, 1, 2]]
    assert seen["ask/values"] == pytest.approx(question.values.astype(np.float32))
    assert np.expm1(seen["ask/room"]) == pytest.approx(question.room, rel=1e-5)
    assert functions(seen, "may_run_on") == {(0, 0), (0, 1), (0, 2)}


def test_only_clusters_that_passed_are_in_question() -> None:
    question = asked(shop(), replace(CART, affinity=replace(CART.affinity, exclude=("b",))))
    seen = question_observation(question, GraphBuilder())
    assert question.clusters == ("a", "c")
    assert seen["ask/pairs"][1].tolist() == [0, 2]
    assert len(seen["node/cluster"]) == 3  # the graph is whole


def test_how_many_are_wanted_is_seen() -> None:
    few, more = (question_observation(asked(shop(), replace(CART, replicas=n)), GraphBuilder()) for n in (1, 40))
    changed = np.flatnonzero(few["node/function"][0] != more["node/function"][0])
    assert len(changed) == 1
    assert changed[0] == column("function", "wanted") + 6  # six features before it are flagged


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1_000))
def test_a_builder_that_is_kept_says_what_a_new_one_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kept = GraphBuilder()
    before = some_fleet(4, 6, rng)
    changed = some_fleet(4, 6, rng)
    after = replace(before, clusters=(before.clusters[0], *changed.clusters[1:]), at=before.at + 1)
    for snapshot, number in ((before, 0), (after, 1), (after, 2)):
        workload = Workload(key(number), "Deployment", 3, requests={"cpu": 100}, callers=(Caller(1.0, "region-1"),))
        names = tuple(one.name for one in snapshot.clusters)
        question = Question(snapshot, workload, names[1:], rng.random((3, len(FACTORS))), np.arange(3.0), snapshot.at)
        one, other = question_observation(question, kept), question_observation(question, GraphBuilder())
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_what_was_built_is_not_written_over() -> None:
    builder, snapshot = GraphBuilder(), shop()
    first = question_observation(asked(snapshot, CART), builder)
    copies = {name: array.copy() for name, array in first.items()}
    question_observation(asked(snapshot, replace(CART, replicas=40)), builder)
    assert all(np.array_equal(first[name], copies[name]) for name in first)
    assert snapshot.at == NOW

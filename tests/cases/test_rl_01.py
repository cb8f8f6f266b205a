"""A latency that is missing, a price without end, a memory beyond belief: known as such, and no number goes bad."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from federation.placement.scorer import Declined
from federation.placement.workload import Caller
from gnn.forms import Rule
from gnn.graph.build import GraphBuilder
from gnn.graph.features import HELD_AT, TABLE, column
from gnn.graph.functions import Facts
from gnn.graph.value import Graph
from gnn.observation import Ask, observe
from gnn.replay import Transition
from gnn.shape import EncoderShape, NetworkShape
from tests.federation.building import Wiring, cluster, fleet

torch = pytest.importorskip("torch", reason="the learn extra is not installed")

from gnn.ddpg import Settings  # noqa: E402
from tests.gnn.toys import graph_learner  # noqa: E402

FACTS = Facts(1.0, 500.0, 2.0**28, callers=(Caller(1.0, cluster="a"),))
SMALL = EncoderShape(hidden=16, heads=2, layers=1)
INF, GB8 = float("inf"), "8000000000"
LATENCY: list[list[float]] = [[10, float("nan"), 30], [10, 20, 30], [10, 20, 30], [10, 20, 30]]
PRICE: list[list[float]] = [[1, 1, 1], [1, INF, 1], [1, 1, 1], [1, 1, 1]]
MEMORY = [[GB8, GB8, GB8], [GB8, GB8, GB8], [GB8, "1e30", GB8], [GB8, GB8, GB8]]


def _graph(number: int) -> Graph:
    """Clusters a, b and c as the case has them; latencies are those from a."""
    names, rows = ("a", "b", "c"), zip(PRICE[number], MEMORY[number], strict=True)
    builders = [
        cluster(name, price=price).nodes(1, cpu="4", memory=memory)
        for name, (price, memory) in zip(names, rows, strict=True)
    ]
    delays = {("a", name): delay for name, delay in zip(names, LATENCY[number], strict=True) if name != "a"}
    return GraphBuilder().build(fleet(*builders, wiring=Wiring(delays)), {"shop/cart": FACTS})


def _delay_to_b(graph: Graph) -> list[float]:
    """From its callers, and the flag of the unknown."""
    may = graph.edges["may_run_on"]
    delay: list[float] = may.values[may.ends[1] == 1, :2][0].tolist()
    return delay


def _observation(graph: Graph) -> dict[str, NDArray[Any]]:
    pairs = np.stack([np.zeros(3, np.int64), np.arange(3)])
    return observe(graph, Ask(np.array([0]), pairs, np.full((3, 2), 0.5), np.ones(3)))


def test_what_was_replaced_is_flagged_and_counted_by_field() -> None:
    usual = _graph(3)
    missing, endless, vast = (_graph(number) for number in range(3))
    at = sum(1 + one.flagged for one in TABLE["cluster"][: column("cluster", "price")])
    assert endless.nodes["cluster"][1, at : at + 2].tolist() == [0.0, 1.0]
    assert endless.standins["cluster.price"] == 1
    assert "cluster.price" not in usual.standins
    assert 1.0 < vast.nodes["cluster"][1, column("cluster", "memory")] <= HELD_AT
    assert missing.standins["link.delay"] == usual.standins["link.delay"] + 2  # both ways
    assert _delay_to_b(usual)[1] == 0.0
    assert _delay_to_b(missing) == [0.0, 1.0]


def test_actions_weights_and_losses_stay_finite() -> None:
    agent = graph_learner(Settings(batch=4), NetworkShape(Rule((1.0, 1.0)), encoder=SMALL))
    seen = [_observation(_graph(number)) for number in range(4)]
    for before, after in zip(seen, [*seen[1:], seen[0]], strict=True):
        action = agent.explore(before)
        assert not isinstance(action, Declined)
        assert np.isfinite(action).all()
        assert np.abs(action).max() <= 1.0
        assert agent.remember(Transition(before, action, 1.0, 0.0, after, False))
    for _ in range(100):
        losses = agent.update()
        assert losses is not None
        assert np.isfinite([losses.critic, losses.value, losses.actor or 0.0]).all()
    weights = [*agent.actor.parameters(), *agent.critics.parameters()]
    assert all(bool(torch.isfinite(one).all()) for one in weights)


@pytest.mark.parametrize("bad", [float("nan"), INF])
def test_whatever_slips_through_is_declined_with_the_reason_and_spoils_nothing_after_it(bad: float) -> None:
    agent = graph_learner(Settings(batch=4), NetworkShape(Rule((1.0, 1.0)), encoder=SMALL))
    seen = _observation(_graph(3))
    broken = {**seen, "node/cluster": seen["node/cluster"] + np.float32(bad)}
    answer = agent.act(broken)
    assert isinstance(answer, Declined)
    assert "node/cluster is not finite" in answer.why
    assert agent.refused == {answer.why: 1}
    action = agent.act(seen)
    assert not isinstance(action, Declined)
    assert np.isfinite(action).all()

"""Encoders: any size, any order, every node type, nothing that waits for data to take its shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="the learn extra is not installed")

from gnn.encoder import make_encoder, mean_by, tensors  # noqa: E402
from gnn.forms import Form, Rule, width_of  # noqa: E402
from gnn.graph.value import NODE_TYPES  # noqa: E402
from gnn.networks import Actor, Critic  # noqa: E402
from gnn.observation import Ask, batch, observe  # noqa: E402
from gnn.shape import EncoderShape, Kind, NetworkShape  # noqa: E402
from tests.gnn.fleets import FACTORS, reordered, some_ask, some_graph, some_observation  # noqa: E402

RULE = Rule((1.0,) * FACTORS)
KINDS = pytest.mark.parametrize("kind", list(Kind))


def encoder(kind: Kind, seed: int = 0) -> Any:
    """An encoder with random weights, single-threaded as in service and training."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    return make_encoder(EncoderShape(kind))


def embed(module: Any, observation: Any) -> dict[str, np.ndarray]:
    """Embeddings by node type as arrays."""
    with torch.no_grad():
        return {kind: one.numpy() for kind, one in module(tensors(observation)).items()}


@KINDS
@given(seed=st.integers(0, 9_999), clusters=st.integers(1, 9), functions=st.integers(1, 9))
@settings(deadline=None, max_examples=15)
def test_another_order_of_nodes_gives_the_same_embeddings_in_that_order(
    kind: Kind, seed: int, clusters: int, functions: int
) -> None:
    rng = np.random.default_rng(seed)
    graph = some_graph(clusters, functions, rng)
    order = {node_type: rng.permutation(len(graph.names[node_type])) for node_type in NODE_TYPES}
    mixed = reordered(graph, order, rng)
    ask = some_ask(graph, rng)
    module = encoder(kind)
    plain, other = embed(module, observe(graph, ask)), embed(module, observe(mixed, ask))
    for node_type in NODE_TYPES:
        assert np.allclose(plain[node_type][order[node_type]], other[node_type], atol=1e-4)


@pytest.mark.parametrize("form", list(Form))
def test_the_action_follows_the_clusters_and_the_value_does_not_care(form: Form) -> None:
    rng = np.random.default_rng(3)
    graph = some_graph(6, 4, rng)
    ask = some_ask(graph, rng)
    order = {kind: np.arange(len(graph.names[kind])) for kind in NODE_TYPES} | {"cluster": rng.permutation(6)}
    place = np.argsort(order["cluster"])
    moved = Ask(ask.functions, np.stack([ask.pairs[0], place[ask.pairs[1]]]), ask.values, ask.room)
    torch.manual_seed(1)
    shape = NetworkShape(RULE, form)
    actor, critic = Actor(shape), Critic(shape)
    one, other = tensors(observe(graph, ask)), tensors(observe(reordered(graph, order, rng), moved))
    with torch.no_grad():
        assert torch.allclose(actor(one), actor(other), atol=1e-5)  # pairs are asked in the same order
        assert torch.allclose(critic(one, actor(one)), critic(other, actor(other)), atol=1e-5)


@KINDS
@pytest.mark.parametrize(("clusters", "functions"), [(1, 1), (2, 1), (300, 2), (1, 40)])
def test_every_node_type_comes_out_finite_whatever_goes_in(kind: Kind, clusters: int, functions: int) -> None:
    observation = some_observation(7, clusters, functions)
    for relation in ("calls", "runs_on", "link", "part_of", "called_from"):  # nothing knows anything of anything
        observation[f"ends/{relation}"] = observation[f"ends/{relation}"][:, :0]
        observation[f"values/{relation}"] = observation[f"values/{relation}"][:0]
    out = embed(encoder(kind), observation)
    assert set(out) == set(NODE_TYPES)
    for node_type in NODE_TYPES:
        assert out[node_type].shape == (len(observation[f"node/{node_type}"]), 32)
        assert np.isfinite(out[node_type]).all()


@KINDS
def test_graphs_of_a_batch_do_not_see_each_other(kind: Kind) -> None:
    alone = [some_observation(seed, clusters, functions) for seed, (clusters, functions) in enumerate([(2, 3), (7, 1)])]
    module = encoder(kind)
    together = embed(module, batch(alone))
    for node_type in NODE_TYPES:
        parts = np.concatenate([embed(module, one)[node_type] for one in alone])
        assert np.allclose(together[node_type], parts, atol=1e-5)


def test_the_graph_reaches_a_cluster_from_its_neighbours_only_with_attention() -> None:
    observation = some_observation(11, 5, 5)
    changed = dict(observation)
    changed["node/pool"] = observation["node/pool"] + np.float32(0.5)
    assert _felt(observation, changed) == {Kind.ATTENTION: True, Kind.DEEPSETS: True, Kind.ALONE: False}
    changed = dict(observation)
    changed["values/link"] = observation["values/link"] + np.float32(0.5)
    assert _felt(observation, changed) == {Kind.ATTENTION: True, Kind.DEEPSETS: False, Kind.ALONE: False}


def _felt(one: Any, other: Any) -> dict[Kind, bool]:
    """Which encoders give clusters another embedding."""
    out = {}
    for kind in Kind:
        mine, theirs = (embed(encoder(kind), seen)["cluster"] for seen in (one, other))
        out[kind] = not np.allclose(mine, theirs, atol=1e-6)
    return out


@KINDS
def test_all_weights_are_there_from_the_start_and_small(kind: Kind) -> None:
    actor = Actor(NetworkShape(RULE, Form.WEIGHTS, EncoderShape(kind)))
    weights = actor.state_dict()
    assert not any(isinstance(one, torch.nn.parameter.UninitializedParameter) for one in weights.values())
    assert sum(one.numel() * 4 for one in weights.values()) < 2_000_000
    other = Actor(NetworkShape(RULE, Form.WEIGHTS, EncoderShape(kind)))
    other.load_state_dict(weights)  # no forward pass in between


@pytest.mark.parametrize("form", list(Form))
def test_an_untrained_actor_is_close_to_the_rule(form: Form) -> None:
    torch.manual_seed(0)
    observation = some_observation(2, 4, 5, asks=3)
    with torch.no_grad():
        action = Actor(NetworkShape(RULE, form))(tensors(observation)).numpy()
    assert action.shape == ((3 if form is Form.WEIGHTS else 12), width_of(form, FACTORS))
    assert np.abs(action).max() < 0.05


@pytest.mark.parametrize("form", list(Form))
def test_every_weight_of_actor_and_critic_learns(form: Form) -> None:
    torch.manual_seed(0)
    shape = NetworkShape(RULE, form)
    actor, critic = Actor(shape), Critic(shape)
    torch.nn.init.normal_(actor.last.weight)
    given = tensors(batch([some_observation(seed, 4, 5) for seed in range(4)]))
    critic(given, actor(given)).sum().backward()
    unread = ("encoder.rounds.1.", ".pool.", ".region.", ".score")
    for module in (actor, critic):
        dead = [name for name, one in module.named_parameters() if one.grad is None or not one.grad.any()]
        assert all(name.startswith("encoder.") and any(part in name for part in unread) for name in dead), dead


def test_mean_of_nothing_is_zero() -> None:
    rows = torch.tensor([[1.0, 3.0], [3.0, 5.0]])
    assert mean_by(rows, torch.tensor([2, 2]), 3).tolist() == [[0.0, 0.0], [0.0, 0.0], [2.0, 4.0]]

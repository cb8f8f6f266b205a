"""Clusters without an edge and a fleet without functions: a finite score for every cluster, in the order given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gnn.forms import Form, Rule, scores_of
from gnn.graph.features import width
from gnn.graph.value import NODE_TYPES, RELATIONS
from gnn.shape import EncoderShape, Kind, NetworkShape

torch = pytest.importorskip("torch", reason="the learn extra is not installed")

from gnn.encoder import make_encoder, tensors  # noqa: E402
from gnn.networks import Actor  # noqa: E402

RULE = Rule((1.0, 1.0))


def _graph(clusters: list[list[float]], functions: list[list[float]], runs_on: list[list[int]]) -> dict[str, Any]:
    """A graph of the case; its two numbers stand in the first columns of each node."""
    seen: dict[str, NDArray[Any]] = {}
    for kind, rows in (("cluster", clusters), ("function", functions), ("pool", []), ("region", [])):
        seen[f"node/{kind}"] = np.zeros((len(rows), width(kind)), np.float32)
        if rows:
            seen[f"node/{kind}"][:, :2] = rows
    for name, _, _ in RELATIONS:
        ends = np.array(runs_on if name == "runs_on" else [[], []], np.int64)
        seen[f"ends/{name}"] = ends
        seen[f"values/{name}"] = np.full((ends.shape[1], width(name)), 0.5, np.float32)
    return seen


def _asked(seen: dict[str, Any]) -> dict[str, Any]:
    """Of the first function (one that nobody knows where there is none), over all clusters in their order."""
    if not len(seen["node/function"]):
        seen["node/function"] = np.zeros((1, width("function")), np.float32)
    many = len(seen["node/cluster"])
    return {
        **seen,
        "ask/function": np.array([0]),
        "ask/pairs": np.stack([np.zeros(many, np.int64), np.arange(many)]),
        "ask/values": seen["node/cluster"][:, :2],
        "ask/room": np.ones(many, np.float32),
    }


THREE = _graph([[0.2, 0.5], [0.9, 0.1], [0.4, 0.4]], [[1.0, 0.3]], [[0], [1]])
ONE = _graph([[0.2, 0.5]], [], [[], []])


def _scores(form: Form, kind: Kind, seen: dict[str, Any]) -> np.ndarray:
    torch.manual_seed(0)
    actor = Actor(NetworkShape(RULE, form, EncoderShape(kind)))
    torch.nn.init.normal_(actor.last.weight)
    with torch.no_grad():
        action = actor(tensors(seen)).numpy()
    rule = np.array(RULE.weights)
    scores: np.ndarray = scores_of(form, action, pairs=seen["ask/pairs"][0], values=seen["ask/values"], rule=rule)
    return scores


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("form", list(Form))
def test_every_cluster_has_a_finite_score(form: Form, kind: Kind) -> None:
    for seen, clusters in ((_asked(dict(THREE)), 3), (_asked(dict(ONE)), 1)):
        scores = _scores(form, kind, seen)
        assert scores.shape == (clusters,)
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("form", list(Form))
def test_scores_follow_the_order_of_the_clusters(form: Form) -> None:
    plain = _scores(form, Kind.ATTENTION, _asked(dict(THREE)))
    turned = _graph([[0.4, 0.4], [0.2, 0.5], [0.9, 0.1]], [[1.0, 0.3]], [[0], [2]])
    assert np.allclose(_scores(form, Kind.ATTENTION, _asked(turned)), plain[[2, 0, 1]], atol=1e-5)


@pytest.mark.parametrize("kind", list(Kind))
def test_every_node_type_comes_out_with_a_row_for_every_node(kind: Kind) -> None:
    for seen in (THREE, ONE):
        with torch.no_grad():
            out = make_encoder(EncoderShape(kind))(tensors(seen))
        assert set(out) == set(NODE_TYPES)
        for node_type in NODE_TYPES:
            assert len(out[node_type]) == len(seen[f"node/{node_type}"])
            assert bool(torch.isfinite(out[node_type]).all())

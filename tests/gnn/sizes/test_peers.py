"""The peers read any number of clusters, alike in any order, and in numpy as in torch."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the learn extra is not installed")

import torch

from gnn.sizes.peers.sets import HIDDEN, NAMES, WIDTH, features, peer, scores
from gnn.sizes.peers.train import SIZE, Sets, SetsEnv
from gnn.sizes.play import play, question
from gnn.sizes.world import draw_world
from tests.gnn.sizes.builders import chain, line, offer


def test_numpy_and_torch_agree() -> None:
    torch.manual_seed(0)
    network = Sets()
    weights = {name: one.detach().numpy() for name, one in network.state_dict().items()}
    rows = np.random.default_rng(0).random((SIZE, WIDTH), np.float32)
    with torch.no_grad():
        wanted = network.forward_actor(torch.from_numpy(rows.reshape(1, -1)))[0].numpy()
    np.testing.assert_allclose(scores(weights, rows), wanted, atol=1e-5)
    assert weights["first.weight"].shape == (HIDDEN, WIDTH)


def test_the_order_of_clusters_says_nothing() -> None:
    weights = {name: one.detach().numpy() for name, one in Sets().state_dict().items()}
    rng = np.random.default_rng(1)
    rows, order = rng.random((9, WIDTH), np.float32), rng.permutation(9)
    np.testing.assert_allclose(scores(weights, rows[order]), scores(weights, rows)[order], atol=1e-5)


def test_features_of_a_case_by_hand() -> None:
    world = line([10, 10], [chain([4, 1], ingress=1)])
    rows = features(question(offer(world, free=[3, 10]), np.array([-1, -1])))
    assert rows[0] == pytest.approx([0.1, 0.1, 0.3, 0.0, 0.6, 3 / 40, 0.8, 0.25])
    assert rows[1] == pytest.approx([1 / 500, 1 / 500, 1.0, 1.0, 1.0, 0.25, 0.8, 0.25])


def test_the_environment_pays_delay_and_forbids_full_clusters() -> None:
    env = SetsEnv(20_000)
    env.reset()
    asked = env.question
    _, reward, _, _, _ = env.step(asked.offer.request.ingress)
    assert reward == pytest.approx(-1 / 500)
    env.question = question(offer(env.world, free=[0, 0, 0, 0]), np.full(len(env.world.requests[0].units), -1))
    assert env.step(0)[1] == -1.0


@pytest.mark.parametrize("kind", sorted(NAMES))
def test_trained_peers_place_whole_requests(kind: str) -> None:
    run = play(draw_world(8, 520), peer(kind))
    assert run.accepted.sum() > 80
    assert run.ratio >= 1.0

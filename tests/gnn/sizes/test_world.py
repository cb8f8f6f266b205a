"""The generator keeps to the protocol: delays, room, trees, and nothing that follows from another seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.sizes.world import EVALUATION_SEEDS, SIZES, delays, draw_world, expected_need, latency_ms, split_room
from gnn.train.seeds import EVALUATION, TRAINING_FROM, VALIDATION
from tests.gnn.sizes.builders import chain, line, star


@pytest.mark.parametrize("size", SIZES)
def test_a_world_is_as_the_protocol_says(size: int) -> None:
    world = draw_world(size, 7)
    between = world.delay_ms[np.triu_indices(size, 1)]
    assert between.min() == pytest.approx(1.0)
    assert between.max() == pytest.approx(500.0)
    assert (np.diag(world.delay_ms) == 1.0).all()
    assert (world.delay_ms == world.delay_ms.T).all()
    assert int(world.room.sum()) == expected_need(100) == 1650
    assert world.room.max() / world.room.min() < 3.6  # shares 0.5-1.5, whole units
    assert len(world.requests) == 100


def test_requests_have_the_marginals_of_the_protocol() -> None:
    requests = [request for seed in range(40) for request in draw_world(8, seed).requests]
    services = np.array([len(request.units) for request in requests])
    units = np.concatenate([request.units for request in requests])
    ingress = np.array([request.ingress for request in requests])
    for values, least, most in ((services, 3, 8), (units, 1, 5), (ingress, 0, 7)):
        share = np.bincount(values, minlength=most + 1)[least : most + 1] / len(values)
        assert values.min() == least
        assert values.max() == most
        np.testing.assert_allclose(share, 1 / (most - least + 1), atol=0.02)
    assert np.mean([request.need for request in requests]) == pytest.approx(16.5, abs=0.3)
    for request in requests:
        assert request.parent[0] == -1
        assert (request.parent[1:] < np.arange(1, len(request.parent))).all()


def test_worlds_follow_from_size_and_seed_alone() -> None:
    first, again, other = draw_world(16, 3), draw_world(16, 3), draw_world(16, 4)
    assert (first.delay_ms == again.delay_ms).all()
    assert (first.room == again.room).all()
    assert all((a.units == b.units).all() for a, b in zip(first.requests, again.requests, strict=True))
    assert not (first.delay_ms == other.delay_ms).all()


def test_no_seed_has_two_purposes() -> None:
    assert set(EVALUATION_SEEDS) <= set(EVALUATION)
    assert not set(EVALUATION) & set(VALIDATION)
    assert max(VALIDATION) < TRAINING_FROM


@given(st.lists(st.floats(0.5, 1.5), min_size=1, max_size=40), st.integers(0, 2000))
def test_room_is_split_exactly_and_within_one_unit(shares: list[float], total: int) -> None:
    weight = np.array(shares)
    room = split_room(weight, total)
    assert int(room.sum()) == total
    assert (np.abs(room - total * weight / weight.sum()) < 1.0).all()


def test_delays_of_three_points_in_a_row() -> None:
    found = delays(np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]]))
    np.testing.assert_allclose(found, [[1.0, 1.0, 500.0], [1.0, 1.0, 250.5], [500.0, 250.5, 1.0]])


def test_latency_is_the_ingress_and_every_edge() -> None:
    world = line([9, 9, 9], [chain([1, 1, 1])])
    places = np.array([1, 1, 2])
    assert latency_ms(chain([1, 1, 1], ingress=0), places, world.delay_ms) == pytest.approx(50 + 1 + 50)
    assert latency_ms(star([1, 1, 1], ingress=2), places, world.delay_ms) == pytest.approx(50 + 1 + 50)
    assert latency_ms(chain([1, 1], ingress=0), np.array([2, 0]), world.delay_ms) == pytest.approx(200.0)

"""The clairvoyant's requests: three ways that must not contradict each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.sizes.measure.bound import by_program, by_random_orders, by_sum, clairvoyant, packs
from gnn.sizes.play import OneByOne, Optimal, play
from gnn.sizes.rules.plain import cheapest_link
from gnn.sizes.world import World, draw_world
from tests.gnn.sizes.builders import chain, line

needs = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), min_size=1, max_size=4)


def small(units: list[list[int]], room: list[int]) -> World:
    return line(room, [chain(one) for one in units])


def by_trying(world: World) -> int:
    """Every subset of the requests, every way to place its services."""
    for many in range(len(world.requests), 0, -1):
        for chosen in itertools.combinations(world.requests, many):
            units = [int(size) for request in chosen for size in request.units]
            for places in itertools.product(range(len(world.room)), repeat=len(units)):
                taken = np.bincount(places, weights=units, minlength=len(world.room))
                if (taken <= world.room).all():
                    return many
    return 0


@given(needs, st.lists(st.integers(0, 6), min_size=2, max_size=2))
@settings(max_examples=25, deadline=None)
def test_the_program_is_exact_and_the_sum_is_no_less(units: list[list[int]], room: list[int]) -> None:
    world = small(units, room)
    exact = by_trying(world)
    assert by_program(world, 10.0) == exact
    assert by_sum(world) >= exact
    assert by_random_orders(world, np.random.default_rng(0), orders=5) <= exact


def test_packing_proves_the_sum() -> None:
    found = clairvoyant(draw_world(128, 3))
    assert found.how == "packing"
    assert found.proven
    assert found.accepted == by_sum(draw_world(128, 3))


def test_where_the_sum_cannot_be_packed_the_program_decides() -> None:
    world = small([[3, 3], [3, 3]], [4, 4, 4])
    assert by_sum(world) == 2
    assert not packs(world.room, np.array([3, 3, 3, 3]))
    found = clairvoyant(world)
    assert (found.accepted, found.how) == (1, "program")


@pytest.mark.parametrize("seed", [503, 504])
def test_nobody_accepts_more(seed: int) -> None:
    world = draw_world(16, seed)
    most = clairvoyant(world).accepted
    for policy in (Optimal(), OneByOne("cheapest link", cheapest_link)):
        assert int(play(world, policy).accepted.sum()) <= most

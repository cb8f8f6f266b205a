"""The exact optimum against every placement there is, and its bound against the optimum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.sizes.optimum.branch import Problem, bound, solve, unplaced
from gnn.sizes.world import Request, draw_world, latency_ms
from prewarm.domain import IntArray
from tests.gnn.sizes.builders import chain, line, star


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Up to four clusters with little room and up to five services, some of them placed."""
    clusters = draw(st.integers(1, 4))
    many = draw(st.integers(1, 5))
    parent = np.array([-1, *(draw(st.integers(0, row - 1)) for row in range(1, many))])
    units = np.array(draw(st.lists(st.integers(1, 5), min_size=many, max_size=many)))
    free = np.array(draw(st.lists(st.integers(0, 9), min_size=clusters, max_size=clusters)))
    delay = np.array(draw(st.lists(st.integers(1, 500), min_size=clusters**2, max_size=clusters**2)), np.float64)
    delay = delay.reshape(clusters, clusters)
    delay[np.diag_indices(clusters)] = 1.0
    placed = np.array(draw(st.lists(st.integers(-1, clusters - 1), min_size=many, max_size=many)))
    placed[draw(st.integers(0, many)) :] = -1
    return Problem(Request(parent, units, draw(st.integers(0, clusters - 1))), delay, free, placed)


def kept(problem: Problem, places: IntArray) -> bool:
    taken = np.bincount(places, weights=problem.request.units, minlength=len(problem.free))
    held = problem.placed >= 0
    return bool((taken <= problem.free).all() and (places[held] == problem.placed[held]).all())


def by_trying(problem: Problem) -> float:
    every = itertools.product(range(len(problem.free)), repeat=len(problem.placed))
    fitting = (np.array(places) for places in every if kept(problem, np.array(places)))
    return min((latency_ms(problem.request, places, problem.delay_ms) for places in fitting), default=np.inf)


@given(problems())
@settings(max_examples=200, deadline=None)
def test_it_is_the_least_of_all_placements(problem: Problem) -> None:
    best, least = solve(problem), by_trying(problem)
    if best is None:
        assert least == np.inf
        return
    assert best.latency_ms == pytest.approx(least)
    assert kept(problem, best.placed)
    assert latency_ms(problem.request, best.placed, problem.delay_ms) == pytest.approx(least)


@given(problems())
@settings(max_examples=100, deadline=None)
def test_the_bound_is_never_above(problem: Problem) -> None:
    assert bound(problem, problem.allowed)[0] <= by_trying(problem) + 1e-9


@given(problems(), st.floats(0.0, 600.0))
@settings(max_examples=60, deadline=None)
def test_a_limit_finds_the_optimum_or_says_that_there_is_none(problem: Problem, most_ms: float) -> None:
    best, limited = solve(problem), solve(problem, most_ms)
    if best is None or best.latency_ms > most_ms:
        assert limited is None
    else:
        assert limited is not None
        assert limited.latency_ms == pytest.approx(best.latency_ms)


def test_everything_stays_together_where_it_fits() -> None:
    world = line([20, 20, 20], [chain([5, 5, 5], ingress=1)])
    best = solve(unplaced(world.requests[0], world.delay_ms, world.room))
    assert best is not None
    assert best.placed.tolist() == [1, 1, 1]
    assert best.latency_ms == 3.0


def test_two_children_that_want_the_same_hole_are_told_apart() -> None:
    """The program over the tree alone would put both beside the first; one has to go on to the far cluster."""
    world = line([4, 3, 9], [star([4, 3, 3], ingress=0)])
    problem = unplaced(world.requests[0], world.delay_ms, world.room)
    assert bound(problem, problem.allowed)[0] == 1 + 50 + 50
    best = solve(problem)
    assert best is not None
    assert best.latency_ms == pytest.approx(1 + 50 + 100)
    assert best.nodes > 1


def test_a_price_moves_the_part_that_would_leave_a_hole() -> None:
    world = line([6, 5], [chain([2, 3], ingress=0)])
    price = np.zeros((2, 6))
    price[0, 5] = 60.0
    problem = unplaced(world.requests[0], world.delay_ms, world.room)
    best = solve(Problem(problem.request, problem.delay_ms, problem.free, problem.placed, price))
    assert best is not None
    assert best.latency_ms == pytest.approx(51.0)
    assert best.placed.tolist() != [0, 0]


def test_it_is_quick_enough_with_128_clusters() -> None:
    world = draw_world(128, 1)
    free = np.minimum(world.room, np.random.default_rng(0).integers(0, 7, 128))
    found = [solve(unplaced(request, world.delay_ms, free)) for request in world.requests[:20]]
    assert max(best.nodes for best in found if best is not None) < 2_000

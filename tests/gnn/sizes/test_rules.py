"""Plain rules do what their names say; factors are what the definitions say; prices of holes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.sizes.optimum.branch import Problem, solve
from gnn.sizes.play import Question, play, question
from gnn.sizes.rules.factors import FACTORS, SPAN_MS, factors, looked_ahead
from gnn.sizes.rules.holes import Holes, scarcity
from gnn.sizes.rules.plain import (
    cheapest_link,
    least_allocated,
    most_allocated,
    most_room,
    nearest,
    plain_rules,
    spread,
)
from gnn.sizes.rules.weighted import LOOK_AHEAD, Settings, admitting, tuned, weighted
from gnn.sizes.world import draw_world
from tests.gnn.sizes.builders import PRICED, chain, line, offer, star

NO_HOLES = Holes((), 0.0)


def asked(free: list[int], placed: list[int], ingress: int = 0) -> Question:
    """The second service of a chain of three, two units each, in clusters with room for ten."""
    world = line([10] * len(free), [chain([2, 2, 2], ingress)])
    return question(offer(world, free=free), np.array(placed))


@pytest.mark.parametrize(
    ("rule", "cluster"),
    [(nearest, 0), (cheapest_link, 2), (most_room, 3), (least_allocated, 3), (most_allocated, 1), (spread, 3)],
)
def test_each_plain_rule_has_its_own_answer(rule: object, cluster: int) -> None:
    # two units of the first service are already in cluster 2
    assert callable(rule)
    assert rule(asked([6, 2, 7, 9], [2, -1, -1])) == cluster


def test_the_random_rule_repeats_itself() -> None:
    world = draw_world(8, 505)
    first, again = (play(world, plain_rules(3)[0]).latency_ms for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_scarcity_is_the_share_of_room_in_holes() -> None:
    assert scarcity(np.array([4, 1, 15])) == pytest.approx(0.25)
    assert scarcity(np.array([0, 0])) == 0.0


def test_holes_cost_what_is_listed_and_filling_them_pays() -> None:
    price = Holes((8.0, 4.0), 0.0).price(np.array([2, 7]), 5)
    assert price[0].tolist()[:3] == [0.0, 4.0, -4.0]
    assert price[1].tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 4.0]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=6), st.integers(0, 12))
def test_prices_of_two_steps_add_up(free: list[int], taken: int) -> None:
    holes, room = Holes((5.0, 9.0, 2.0), 0.0), np.array(free)
    first = min(taken, int(room[0]))
    after = room.copy()
    after[0] -= first
    once = holes.price(room, 12)[0, room[0]]
    twice = holes.price(room, 12)[0, first] + holes.price(after, 12)[0, room[0] - first]
    assert once == pytest.approx(twice)


def test_factors_of_a_case_by_hand() -> None:
    found = dict(zip(FACTORS, factors(asked([2, 0, 8], [2, -1, -1]), NO_HOLES).T, strict=True))
    # candidates are clusters 0 and 2; the caller is in 2, where both services to come fit
    assert found["near"] == pytest.approx([1 - 99 / SPAN_MS, 1.0])
    assert found["below"] == pytest.approx([1 - 99 / SPAN_MS, 1.0])
    assert found["rest"] == pytest.approx([1 - 99 / SPAN_MS, 1.0])
    assert found["holes"] == pytest.approx([1.0, 1.0])
    assert found["room"] == pytest.approx([0.0, 0.4])
    assert found["whole"] == pytest.approx([0.5, 1.0])
    assert found["total"] == pytest.approx([10 / (10 + 198), 1.0])
    assert found["doubt"] == pytest.approx([0.0, 0.0])


def test_the_look_ahead_is_never_above_the_best_completion_and_the_rest_never_below() -> None:
    rng = np.random.default_rng(3)
    for seed in range(510, 516):
        world = draw_world(12, seed)
        free = np.minimum(world.room, rng.integers(0, 8, 12))
        one = question(offer(world, seed - 510, free=free.tolist()), np.full(len(world.requests[seed - 510].units), -1))
        ahead, _ = looked_ahead(one, NO_HOLES)
        for cluster in one.candidates.tolist():
            placed = one.placed.copy()
            placed[0] = cluster
            best = solve(Problem(one.offer.request, world.delay_ms, one.free, placed))
            link = world.delay_ms[one.above, cluster]
            if best is not None:
                assert link + ahead[0, cluster] <= best.latency_ms + 1e-9


def test_looking_ahead_beats_the_cheapest_link() -> None:
    worlds = [draw_world(16, seed) for seed in range(520, 524)]
    ahead = [play(world, weighted(Settings(dict(LOOK_AHEAD)), "ahead")).ratio for world in worlds]
    greedy = [play(world, plain_rules(0)[-1]).ratio for world in worlds]
    assert np.mean(ahead) < np.mean(greedy) - 0.1


def test_pricing_holes_leaves_fewer() -> None:
    world = draw_world(64, 507)
    runs = [play(world, policy) for policy in (weighted(Settings(dict(LOOK_AHEAD)), ""), weighted(PRICED, ""))]
    assert runs[1].accepted.sum() > runs[0].accepted.sum()


def test_the_tuned_rule_is_read_from_its_file() -> None:
    settings = tuned()
    assert len(settings.rule.weights) == len(FACTORS)
    assert settings.rule.weights[-2:] == (0.0, 0.0)  # for the learner only
    run = play(draw_world(8, 508), admitting(settings, "tuned"))
    assert run.ratio < 1.1


def test_a_star_is_seen_as_far_as_its_leaves() -> None:
    world = line([3, 9], [star([3, 4, 4])])
    one = question(offer(world), np.full(3, -1))
    ahead, _ = looked_ahead(one, NO_HOLES)
    assert ahead[0].tolist() == [100.0, np.inf] or ahead[0, 0] == pytest.approx(100.0)

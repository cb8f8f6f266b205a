"""Runs, their ratio, and admission."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.sizes.admission import Admitting, known_values, need_law, values, worth_it
from gnn.sizes.play import OneByOne, Optimal, Played, play, question, take
from gnn.sizes.rules.plain import cheapest_link, plain_rules
from gnn.sizes.world import draw_world
from prewarm.domain import IntArray, PrewarmError
from tests.gnn.sizes.builders import chain, line, offer, star


def test_the_optimum_of_each_request_has_ratio_one_on_its_own_path() -> None:
    run = play(draw_world(8, 501), Optimal())
    np.testing.assert_allclose(run.latency_ms[run.accepted], run.optimum_ms[run.accepted])
    assert run.ratio == pytest.approx(1.0)


@pytest.mark.parametrize("policy", plain_rules(0), ids=lambda policy: str(policy.name))
def test_nobody_is_below_the_optimum_or_over_the_room(policy: OneByOne) -> None:
    run = play(draw_world(16, 502), policy)
    assert (run.latency_ms[run.accepted] >= run.optimum_ms[run.accepted] - 1e-9).all()
    assert 80 < run.accepted.sum() <= 100


def test_the_ratio_is_that_of_the_means() -> None:
    nan = np.nan
    run = Played(np.array([True, False, True]), np.array([4.0, nan, 300.0]), np.array([2.0, nan, 200.0]))
    assert run.ratio == pytest.approx(304 / 202)


def test_requests_hold_their_room_to_the_end() -> None:
    world = line([5, 5], [chain([5]), chain([3, 2]), chain([1])])
    run = play(world, OneByOne("cheapest link", cheapest_link))
    assert run.accepted.tolist() == [True, True, False]
    assert run.latency_ms[:2].tolist() == [1.0, 51.0]


def test_a_request_that_finds_no_room_halfway_takes_none() -> None:
    world = line([5, 2], [chain([3, 3]), chain([5])])
    assert play(world, OneByOne("cheapest link", cheapest_link)).accepted.tolist() == [False, True]


def test_a_question_knows_the_room_that_its_own_request_took() -> None:
    world = line([6, 9], [star([4, 3, 2])])
    asked = question(offer(world), np.array([0, -1, -1]))
    assert asked.free.tolist() == [2, 9]
    assert (asked.service, asked.above) == (1, 0)
    assert asked.candidates.tolist() == [1]


def test_a_policy_that_overfills_is_stopped() -> None:
    with pytest.raises(PrewarmError, match="cluster 0 has 1 units less"):
        take(np.array([5, 5]), chain([3, 3]), np.array([0, 0]))


def test_the_law_of_need_is_that_of_the_generator() -> None:
    law = need_law()
    need = np.array([request.need for seed in range(60) for request in draw_world(4, seed).requests])
    assert law.sum() == pytest.approx(1.0)
    assert law @ np.arange(len(law)) == pytest.approx(16.5)
    np.testing.assert_allclose(np.bincount(need, minlength=len(law)) / len(need), law, atol=0.01)


def best_by_trying(needs: tuple[int, ...], law: list[float], room: int) -> float:
    """The most that an online decision can expect over all sequences: the recursion of the definition, by hand."""
    if not needs:
        return 0.0
    later = needs[1:]
    total = 0.0
    for need, chance in enumerate(law):
        no = best_by_trying(later, law, room)
        yes = 1.0 + best_by_trying(later, law, room - need) if need <= room else -1.0
        total += chance * max(no, yes)
    return total


@given(st.lists(st.integers(1, 4), min_size=2, max_size=3), st.integers(0, 8), st.integers(1, 4))
@settings(deadline=None)
def test_values_are_the_best_that_can_be_expected(weights: list[int], room: int, requests: int) -> None:
    law = [0.0, *(weight / sum(weights) for weight in weights)]
    found = values(np.array(law), requests, room)
    assert found[requests, room] == pytest.approx(best_by_trying((0,) * requests, law, room))


def test_a_large_request_is_declined_only_when_room_is_short() -> None:
    world = line([1000, 650], [chain([5, 5, 5, 5, 5, 5, 5, 5])] * 50)
    many = offer(world, 0, free=[1000, 650])
    few = offer(world, 0, free=[400, 350])
    assert worth_it(many, known_values(), 0.0)
    assert not worth_it(few, known_values(), 0.0)
    assert worth_it(offer(world, 49, free=[30, 30]), known_values(), 0.0)


def test_admission_asks_the_policy_only_about_what_is_worth_it() -> None:
    asked: list[object] = []

    class Noting:
        name = "noting"

        def place(self, offered: object) -> IntArray | None:
            asked.append(offered)
            return None

    world = line([400, 350], [chain([5] * 8)] * 50)
    assert Admitting(Noting(), "noting").place(offer(world)) is None
    assert not asked


def test_admission_gains_requests_where_room_is_short() -> None:
    worlds = [draw_world(4, seed) for seed in range(510, 516)]
    plain = sum(int(play(world, Optimal()).accepted.sum()) for world in worlds)
    chosen = sum(int(play(world, Admitting(Optimal(), "")).accepted.sum()) for world in worlds)
    assert chosen > plain

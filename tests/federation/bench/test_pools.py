"""The benchmark of the pool planner: its world's marginals, its baselines by hand, its bound, and its goals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from federation.bench import pools as bench
from federation.bench.pools import by_capacity, greedy, ours, value_bound
from federation.bench.pools_tick import fleet_tick_row
from federation.bench.pools_world import CHANGED, MEAN, SLACK, PoolWorld, make_world, zipf_demand
from tests.federation.pools.made import demand, ints, rooms

TIMES = {"fleet tick s", "us per function"}


@pytest.fixture(scope="module")
def small() -> PoolWorld:
    return make_world(400, 5, seed=3)


def test_demand_is_zipf_with_the_mean_of_the_protocol() -> None:
    found = np.sort(zipf_demand(3_000, np.random.default_rng(0)))[::-1]

    assert found.sum() == MEAN * 3_000
    assert found.min() >= 1
    head = np.log(found[4:60] - 1)
    slope = np.polyfit(np.log(np.arange(5, 61)), head, 1)[0]
    assert slope == pytest.approx(-1.1, abs=0.05)


def test_rooms_sum_to_the_slack_and_the_plan_in_place_is_whole(small: PoolWorld) -> None:
    need = int(small.then.wanted @ small.then.size)

    assert small.clusters.room.sum() == pytest.approx(SLACK * need, rel=1e-4)
    assert (small.in_place.sum(axis=1) == small.then.wanted).all()
    assert (small.then.size @ small.in_place <= small.clusters.room).all()
    changed = small.now.wanted != small.then.wanted
    assert 0 < changed.sum() <= CHANGED * 400
    after, before = small.now.wanted[changed], small.then.wanted[changed]
    assert (np.abs(after - before) <= np.maximum(1, 0.2 * before)).all()


def test_the_same_seed_is_the_same_world() -> None:
    one, two, other = make_world(50, 3, 1), make_world(50, 3, 1), make_world(50, 3, 2)

    assert (one.value == two.value).all()
    assert (one.in_place == two.in_place).all()
    assert (one.then.wanted != other.then.wanted).any()


def world_of(value: list[list[float]], wanted: list[int], room: list[int]) -> PoolWorld:
    pools = demand(wanted)
    return PoolWorld(pools, pools, rooms(room), np.array(value), ints([[0] * len(room)] * len(wanted)))


def test_the_split_by_capacity_ignores_what_is_liked_and_what_was() -> None:
    made = world_of([[0.0, 1.0]], [6], [20, 10])

    assert by_capacity(made, made.now, ints([[0, 6]])).tolist() == [[4, 2]]


def test_the_greedy_planner_serves_the_largest_first() -> None:
    made = world_of([[1.0, 0.0], [1.0, 0.0]], [2, 5], [5, 9])

    assert greedy(made, made.now, None).tolist() == [[0, 2], [5, 0]]


def test_the_bound_is_that_of_the_transport_problem() -> None:
    made = world_of([[1.0, 0.5], [1.0, 0.0]], [4, 4], [4, 9])

    assert value_bound(made) == pytest.approx(4 * 0.5 + 4 * 1.0)
    assert (ours(made, made.now, None) * made.value).sum() == pytest.approx(6.0)


def test_no_planner_beats_the_bound_and_ours_is_near_it(small: PoolWorld) -> None:
    bound = value_bound(small)
    found = {name: (planner(small, small.then, None) * small.value).sum() for name, planner in bench.PLANNERS.items()}

    assert all(value <= bound + 1e-6 for value in found.values())
    assert found["prewarm"] > max(found["greedy"], found["split by capacity"])
    assert found["prewarm"] > 0.93 * bound


def test_the_benchmark_has_its_goals_and_meets_what_a_small_size_can_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SIZES", ((120, 4), (200, 6)))
    monkeypatch.setattr(bench, "LIMITS_S", {(120, 4): 5.0, (200, 6): 5.0})
    monkeypatch.setattr(bench, "TICK_SIZES", ((60, 2),))
    result = bench.run(Path("absent"), seed=1, quick=True, progress=lambda *_: None)

    goals = {goal.name: goal for goal in result.goals}
    assert list(goals) == ["seconds_120x4", "seconds_200x6", "exact", "moves"]
    assert result.met
    assert goals["moves"].value == pytest.approx(1.0)
    assert [row["planner"] for row in result.rows[:6]] == [*bench.PLANNERS] * 2
    whole = result.rows[6]
    assert (whole["functions"], whole["over clusters"], whole["unplaced"]) == (60, 2, 0)


def test_a_whole_tick_of_a_fleet_repeats_and_a_second_one_moves_nothing() -> None:
    one, two = fleet_tick_row(300, 4, seed=5), fleet_tick_row(300, 4, seed=5)

    assert {name: value for name, value in one.items() if name not in TIMES} == {
        name: value for name, value in two.items() if name not in TIMES
    }
    assert one["moved"] == 0
    assert int(str(one["instances"])) > 100

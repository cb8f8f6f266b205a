"""Plans that can be followed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from federation.pools.plan import plan_pools
from federation.pools.question import Limits, PoolDemand, Preference, Steadiness, seeds_of
from prewarm.domain import InputError
from tests.federation.pools.made import demand, ints, liking, rooms


def test_all_go_to_the_best_cluster_while_it_has_room_then_to_the_next() -> None:
    plan = plan_pools(demand([7]), rooms([4, 2, 9]), preference=liking([0.9, 0.5, 0.1]))

    assert plan.plan.tolist() == [[4, 2, 1]]
    assert plan.unplaced.tolist() == [0]
    assert plan.room_left.tolist() == [0, 0, 8]


def test_fifteen_over_rooms_of_ten_and_five_are_exact() -> None:
    plan = plan_pools(demand([1] * 15), rooms([10, 5]), preference=liking(*[[1.0, 0.2]] * 15))

    assert plan.plan.sum(axis=0).tolist() == [10, 5]
    assert plan.plan.sum(axis=1).tolist() == [1] * 15


def test_what_fits_nowhere_is_said_and_the_rest_is_placed() -> None:
    plan = plan_pools(demand([3, 1], [4, 1]), rooms([5, 3]), preference=liking([1, 0], [0, 1]))

    assert plan.plan.tolist() == [[1, 0], [0, 1]]
    assert plan.unplaced.tolist() == [2, 0]


def test_a_pool_of_one_is_served_before_the_hundredth_of_another() -> None:
    plan = plan_pools(demand([100, 1, 1]), rooms([10]), preference=liking([1], [1], [1]))

    assert plan.plan.ravel().tolist() == [8, 1, 1]
    assert plan.unplaced.tolist() == [92, 0, 0]


def test_equals_share_alike() -> None:
    plan = plan_pools(demand([8, 4]), rooms([6]), preference=liking([1], [1]))

    assert plan.plan.ravel().tolist() == [4, 2]


def test_higher_priority_is_placed_first_but_displaces_nobody_who_runs() -> None:
    fresh = plan_pools(demand([4, 4], priority=[0, 10]), rooms([5]), preference=liking([1], [1]))
    assert fresh.plan.ravel().tolist() == [1, 4]

    running = plan_pools(
        demand([4, 4], priority=[0, 10]), rooms([5]), preference=liking([1], [1]), previous=ints([[4], [0]])
    )
    assert running.plan.ravel().tolist() == [4, 1]


def test_growth_only_adds_and_a_better_cluster_elsewhere_moves_nothing() -> None:
    plan = plan_pools(demand([5]), rooms([9, 9]), preference=liking([0, 1]), previous=ints([[3, 1]]))

    assert plan.plan.tolist() == [[3, 2]]
    assert (plan.moved, plan.change) == (1, 1)


def test_a_fall_leaves_the_worst_cluster_first() -> None:
    plan = plan_pools(demand([3]), rooms([9, 9, 9]), preference=liking([0.9, 0.1, 0.5]), previous=ints([[2, 2, 2]]))

    assert plan.plan.tolist() == [[2, 0, 1]]


def test_a_fall_leaves_an_overfull_cluster_before_the_worst() -> None:
    plan = plan_pools(demand([4, 2]), rooms([4, 9]), preference=liking([1, 0], [1, 0]), previous=ints([[3, 2], [2, 0]]))

    assert plan.plan.tolist() == [[2, 2], [2, 0]]
    assert plan.evicted.tolist() == [0, 0]


def test_a_filtered_cluster_is_left_and_nothing_else_stirs() -> None:
    plan = plan_pools(
        demand([3, 3]),
        rooms([9, 9]),
        preference=liking([1, 0], [1, 0]),
        previous=ints([[3, 0], [3, 0]]),
        limits=Limits(allowed=np.array([[False, True], [True, True]])),
    )

    assert plan.plan.tolist() == [[0, 3], [3, 0]]
    assert plan.evicted.tolist() == [3, 0]


def test_a_cluster_of_half_the_room_keeps_something_of_everybody() -> None:
    plan = plan_pools(demand([4, 4]), rooms([4, 4]), preference=liking([1, 0], [1, 0]), previous=ints([[4, 0], [4, 0]]))

    assert plan.plan.tolist() == [[2, 2], [2, 2]]
    assert plan.evicted.tolist() == [2, 2]


def test_a_person_may_pin_floor_and_cap_by_cluster() -> None:
    limits = Limits(least=ints([[0, 3]]), most=ints([[1, 5]]))
    plan = plan_pools(demand([5]), rooms([9, 9]), preference=liking([1, 0]), limits=limits)
    assert plan.plan.tolist() == [[1, 4]]

    insisted = plan_pools(demand([1]), rooms([9, 9]), preference=liking([1, 0]), limits=limits)
    assert insisted.plan.tolist() == [[0, 3]]
    assert insisted.wanted.tolist() == [3]


def test_temperature_spreads_and_equal_values_do_not_favour_the_first_name() -> None:
    even = Preference(np.zeros((30, 3)), temperature=1.0)
    plan = plan_pools(demand([10] * 30), rooms([900] * 3), preference=even)

    assert set(map(tuple, np.sort(plan.plan, axis=1).tolist())) == {(3, 3, 4)}
    assert (plan.plan.sum(axis=0) > 95).all()


def test_shares_follow_the_exponent_of_value_over_temperature() -> None:
    spread = Preference(np.array([[np.log(2), 0.0]]), temperature=1.0)

    assert plan_pools(demand([9]), rooms([99, 99]), preference=spread).plan.tolist() == [[6, 3]]


@pytest.mark.parametrize(
    ("total", "weights", "expected"),
    [(5, [0.5, 0.5, 0], [3, 2]), (0, [0.5, 0.5, 0], [0, 0]), (7, [0.75, 0, 0.25], [5, 2])],
    ids=["odd over two", "none", "zero weight gets none"],
)
def test_shares_that_are_told_are_kept_exactly(total: int, weights: list[float], expected: list[int]) -> None:
    told = Preference(np.zeros((1, 3)), shares=np.array([weights]))
    plan = plan_pools(demand([total]), rooms([99] * 3), preference=told).plan[0]

    assert sorted(plan[np.array(weights) > 0].tolist(), reverse=True) == expected
    assert plan[np.array(weights) == 0].sum() == 0


def test_told_shares_overflow_by_value_where_they_do_not_fit() -> None:
    told = Preference(np.array([[0.0, 0.1, 0.9]]), shares=np.array([[1.0, 0.0, 0.0]]))

    assert plan_pools(demand([5]), rooms([2, 9, 9]), preference=told).plan.tolist() == [[2, 0, 3]]


def test_those_leave_a_popular_cluster_who_lose_least() -> None:
    values = [[1.0, 0.95], [1.0, 0.1], [1.0, 0.9], [1.0, 0.2]]
    plan = plan_pools(demand([5] * 4), rooms([10, 10]), preference=liking(*values))

    assert plan.plan[:, 0].tolist() == [0, 5, 0, 5]
    assert plan.room_price[0] > 0
    assert plan.room_price[1] == 0


def test_improving_moves_are_counted_and_need_a_gain() -> None:
    question = (demand([4, 4]), rooms([9, 9]))
    better = liking([0.0, 0.9], [0.0, 0.03])
    before = ints([[4, 0], [4, 0]])

    still = plan_pools(*question, preference=better, previous=before)
    assert still.moved == 0
    moved = plan_pools(*question, preference=better, previous=before, steadiness=Steadiness(moves=3, stay=0.05))
    assert moved.plan.tolist() == [[1, 3], [4, 0]]
    assert moved.improved.tolist() == [3, 0]


def test_a_pool_in_two_places_is_not_drawn_to_the_larger_part() -> None:
    plan = plan_pools(
        demand([4]),
        rooms([9, 9]),
        preference=liking([0.5, 0.5]),
        previous=ints([[1, 3]]),
        steadiness=Steadiness(moves=9, stay=0.3),
    )

    assert plan.plan.tolist() == [[1, 3]]


def test_those_away_from_home_return_and_no_more_of_them_than_belong_there() -> None:
    steady = Steadiness(moves=9, stay=0.3, anchor=ints([[2, 2]]))
    question = (demand([4]), rooms([9, 9]))
    back = plan_pools(*question, preference=liking([0.4, 0.6]), previous=ints([[0, 4]]), steadiness=steady)
    assert back.plan.tolist() == [[2, 2]]
    assert back.improved.tolist() == [2]

    worse = plan_pools(*question, preference=liking([0.2, 0.6]), previous=ints([[0, 4]]), steadiness=steady)
    assert worse.plan.tolist() == [[0, 4]]
    limited = Steadiness(moves=1, stay=0.3, anchor=ints([[2, 2]]))
    one = plan_pools(*question, preference=liking([0.4, 0.6]), previous=ints([[0, 4]]), steadiness=limited)
    assert one.plan.tolist() == [[1, 3]]


def test_told_shares_are_moved_to_as_far_as_moves_allow() -> None:
    told = Preference(np.array([[0.9, 0.1]]), shares=np.array([[1.0, 3.0]]))
    plan = plan_pools(
        demand([4]), rooms([9, 9]), preference=told, previous=ints([[4, 0]]), steadiness=Steadiness(moves=2, stay=0.9)
    )

    assert plan.plan.tolist() == [[2, 2]]


def test_a_move_for_the_better_never_costs_another_its_place() -> None:
    plan = plan_pools(
        demand([2, 2]),
        rooms([2, 2]),
        preference=liking([0, 1], [1, 0]),
        previous=ints([[2, 0], [0, 2]]),
        steadiness=Steadiness(moves=4),
    )

    assert plan.plan.tolist() == [[2, 0], [0, 2]]


def test_values_that_are_unknown_are_the_lowest_liking_not_an_error() -> None:
    plan = plan_pools(demand([2]), rooms([9, 9]), preference=liking([float("nan"), 0.4]))

    assert plan.plan.tolist() == [[0, 2]]


def test_instances_of_no_size_and_pools_of_nothing_are_planned() -> None:
    plan = plan_pools(demand([3, 0], [0, 5]), rooms([0, 4]), preference=liking([1, 0], [1, 0]))

    assert plan.plan.tolist() == [[3, 0], [0, 0]]


def test_no_pools_and_no_clusters_are_no_error() -> None:
    nothing = PoolDemand(ints([]), ints([]), seeds_of([]))
    assert plan_pools(nothing, rooms([5]), preference=Preference(np.zeros((0, 1)))).plan.shape == (0, 1)

    nowhere = plan_pools(demand([2]), rooms([]), preference=Preference(np.zeros((1, 0))))
    assert nowhere.unplaced.tolist() == [2]


def test_a_negative_demand_is_refused() -> None:
    with pytest.raises(InputError, match="0 or more"):
        demand([-1])
    with pytest.raises(InputError, match="0 or more"):
        demand([1], [-4])


def test_a_hundred_plans_of_the_same_question_are_the_same() -> None:
    question = (demand([10, 3, 7], [2, 1, 3]), rooms([20, 15, 30]))
    liked = Preference(np.full((3, 3), 0.5), temperature=0.3)
    plans = {plan_pools(*question, preference=liked).plan.tobytes() for _ in range(100)}

    assert len(plans) == 1

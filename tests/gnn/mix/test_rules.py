"""What each rule decides, on states made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.mix.rules.factors import COLD, DELAY, FACTORS, HOLDING, WARM, delay_price, factor_array
from gnn.mix.rules.plain import AllLocal, AtRandom, ByWeight, CheapestFirst, Duplicated, OnePool, divided, kept_warm
from gnn.mix.rules.scored import NetworkAware, QueueingSplit, Spreading, TargetLoad, erlang_servers, placed_by
from gnn.mix.rules.table import plain_rules
from gnn.mix.rules.theta import ThetaRule
from gnn.mix.rules.weighted import decide_weighted, open_pools
from gnn.mix.state import Site, State, holding_cost, worth_keeping
from prewarm.domain import COLD_COST, FloatArray

DELAY_S = np.array([[0.001, 0.020, 0.100], [0.020, 0.001, 0.060], [0.100, 0.060, 0.001]])


def state_of(
    called: list[float],
    seen: list[list[float]],
    *,
    calls: list[float] | None = None,
    warm: list[list[int]] | None = None,
    need: int = 1,
    room_gb: tuple[float, float, float] = (100.0, 100.0, 100.0),
) -> State:
    """Functions of 0.2 GB, ten calls a minute an instance, on three clusters at prices 1, 0.9, 1.2."""
    size = len(called)
    memory = np.full(size, 0.2)
    tail = np.zeros((size, 64), np.float32)
    tail[:, :need] = 1.0
    site = Site(
        DELAY_S,
        np.array([0.5, 0.3, 0.2]),
        memory,
        holding_cost(memory),
        np.full(size, 10.0),
        np.full(size, -1, np.int32),
        np.zeros(size),
    )
    tally = np.array([seen, seen], np.float64).reshape(2, size, 3)
    return State(
        site,
        7,
        np.array(called, np.float32),
        tail,
        np.array(calls or [1.0] * size),
        tally,
        np.array([1.0, 0.9, 1.2]),
        np.array(room_gb),
        np.array(warm or [[0, 0, 0]] * size, np.int32),
    )


def test_an_instance_is_kept_from_the_chance_that_pays_for_it() -> None:
    hold = 0.2 * 60 / 99.69
    limit = hold / (hold + COLD_COST)
    state = state_of([limit * 0.99, limit * 1.01, 1.0], [[1, 0, 0]] * 3)
    assert worth_keeping(state, np.ones(3)).tolist() == [0, 1, 1]


def test_levels_are_counted_to_the_first_that_does_not_pay() -> None:
    state = state_of([1.0], [[1, 0, 0]], need=5)
    assert worth_keeping(state, np.ones(1)).tolist() == [5]


def test_what_was_seen_outweighs_the_prior_as_calls_come_in() -> None:
    state = state_of([1.0, 1.0], [[0, 0, 0], [0, 98.5, 0]])
    assert state.mix()[0] == pytest.approx([0.5, 0.3, 0.2])
    assert state.mix()[1] == pytest.approx([0.0075, 0.9895, 0.003])


def test_the_rule_opens_a_pool_where_the_delay_it_saves_pays_for_it() -> None:
    hold = 0.2 * 60 / 99.69
    # a fifth of the calls comes from c: beside the pool in a, one there saves 3 x calls / 5 x 99 ms
    worth = 1.2 * hold / (3.0 * 0.2 * 0.099)
    rule = ThetaRule(prior=1e-9)
    few, many = state_of([1.0], [[8, 0, 2]], calls=[worth * 0.8]), state_of([1.0], [[8, 0, 2]], calls=[worth * 1.2])
    assert rule.decide(few)[0].tolist() == [1, 0, 0]
    assert rule.decide(many)[0].tolist() == [1, 0, 1]


def test_theta_scales_what_a_pool_must_save() -> None:
    state = state_of([1.0], [[8, 0, 2]], calls=[2.0])
    pools = [int(ThetaRule(theta=theta, prior=1e-9).decide(state).sum()) for theta in (0.3, 1.0, 3.0)]
    assert pools == sorted(pools, reverse=True)
    assert pools[0] == 2
    assert pools[2] == 1


def test_a_warm_pool_stays_where_a_new_one_would_not_be_opened() -> None:
    far = state_of([1.0], [[10, 8, 0]], calls=[0.5])
    here = replace(far, warm=np.array([[0, 0, 1]], np.int32))
    assert ThetaRule(stay=0.0).decide(here).tolist() == ThetaRule().decide(far).tolist()
    assert ThetaRule(stay=3.0).decide(here)[0, 2] == 1


def test_a_function_not_worth_keeping_gets_nothing() -> None:
    assert ThetaRule().decide(state_of([0.001], [[50, 50, 50]], calls=[500.0])).sum() == 0


def test_instances_beyond_one_a_pool_follow_the_calls() -> None:
    state = state_of([1.0], [[60, 0, 20]], calls=[40.0], need=8)
    plan = ThetaRule(prior=1e-9).decide(state)
    assert plan[0].tolist() == [6, 0, 2]


def test_the_rule_is_a_point_of_the_weighted_policy() -> None:
    rng = np.random.default_rng(4)
    size = 200
    state = state_of(
        rng.random(size).tolist(),
        rng.integers(0, 30, (size, 3)).tolist(),
        calls=rng.integers(1, 40, size).astype(float).tolist(),
        warm=rng.integers(0, 2, (size, 3)).tolist(),
        need=3,
    )
    rule = ThetaRule(theta=1.2, stay=0.25, cold=0.8, room=0.1, memory=0, prior=1.0)
    mix = state.mix(0, 1.0)
    every = np.broadcast_to(rule.weights(), (size, len(FACTORS)))
    weighted = decide_weighted(state, factor_array(state, mix), every, np.ones(size), mix=mix)
    assert (weighted == rule.decide(state)).all()


def opened(state: State, fixed: FloatArray, pressing: FloatArray, mix: FloatArray) -> FloatArray:
    """Which pools are opened, (n, c), function by function as the definition says it."""
    plan, delay = np.zeros(fixed.shape), state.site.delay_s
    for i, line in enumerate(plan):
        first = int(np.argmax(fixed[i] - pressing[i] * (mix @ delay)[i]))
        if worth_keeping(state, np.full(len(plan), state.price[first]))[i] == 0:
            continue
        nearest, at = delay[:, first], first
        while at >= 0:
            line[at] = 1.0
            nearest = np.minimum(nearest, delay[:, at])
            gain = fixed[i] + pressing[i] * (mix[i] @ np.maximum(0.0, nearest[:, None] - delay))
            gain[line > 0.0] = -np.inf
            at = int(np.argmax(gain)) if gain.max() > 0.0 else -1
    return plan


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_pools_are_opened_as_the_definition_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    many = 12
    state = state_of(rng.choice([0.0, 0.01, 0.2, 0.9], many).tolist(), rng.uniform(0.0, 30.0, (many, 3)).tolist())
    fixed, pressing = rng.normal(-0.02, 0.03, (many, 3)), rng.choice([0.0, 0.5, 5.0], many)
    mix, every = state.mix(), np.ones(many)
    plan = open_pools(state, fixed, pressing, (every, every), mix=mix)
    assert ((plan > 0) == (opened(state, fixed, pressing, mix) > 0)).all()


def test_temperature_gathers_or_spreads_the_instances_beyond_one_a_pool() -> None:
    state = state_of([1.0], [[60, 0, 20]], calls=[40.0], need=10)
    mix = state.mix(1, 1e-9)
    weights = np.broadcast_to(ThetaRule().weights(), (1, len(FACTORS)))
    factors = factor_array(state, mix)

    def plan(temperature: float) -> list[int]:
        decided: list[int] = decide_weighted(state, factors, weights, np.full(1, temperature), mix=mix)[0].tolist()
        return decided

    assert plan(0.05) == [9, 0, 1]
    assert plan(1e6) == [5, 0, 5]
    assert sum(plan(1.0)) == 10


def test_every_factor_has_its_unit_and_its_column() -> None:
    state = state_of([0.5], [[10, 0, 0]], calls=[4.0], warm=[[0, 1, 0]])
    factors = factor_array(state, state.mix(1, 1e-9))[0]
    hold = 0.2 * 60 / 99.69
    assert delay_price(state).tolist() == [6.0]
    assert factors[:, DELAY] == pytest.approx([-0.006, -0.12, -0.6])
    assert factors[:, HOLDING] == pytest.approx([-hold, -0.9 * hold, -1.2 * hold])
    assert factors[:, COLD] == pytest.approx([0.404] * 3)
    assert factors[:, WARM] == pytest.approx([0, hold, 0])
    assert len({factor.name for factor in FACTORS}) == factors.shape[1]


def test_a_callee_is_drawn_to_where_its_caller_is_warm() -> None:
    state = state_of([1.0, 1.0], [[1, 1, 1]] * 2, warm=[[0, 0, 3], [1, 0, 0]])
    state = replace(state, site=replace(state.site, caller=np.array([-1, 0], np.int32)))
    beside = factor_array(state, state.mix())[:, :, 5]
    assert beside[0].tolist() == [0, 0, 0]
    assert beside[1] == pytest.approx([0, 0, 3 * 0.1])


def test_one_pool_stands_where_delay_and_price_are_least() -> None:
    rule = OnePool()
    assert rule.decide(state_of([1.0], [[90, 5, 5]], calls=[30.0]))[0].tolist() == [1, 0, 0]
    assert rule.decide(state_of([1.0], [[5, 5, 90]], calls=[30.0]))[0].tolist() == [0, 0, 1]
    assert rule.decide(state_of([1.0], [[1, 1, 1]], calls=[0.01]))[0].tolist() == [0, 1, 0]


def test_all_local_keeps_a_pool_in_each_region_that_calls_enough() -> None:
    plan = AllLocal().decide(state_of([1.0], [[50, 50, 0]], calls=[25.0]))
    assert plan[0].tolist() == [2, 2, 0]


def test_cheapest_first_fills_the_cheapest_cluster_and_then_the_next() -> None:
    state = state_of([1.0] * 5, [[1, 1, 1]] * 5, room_gb=(0.7, 0.45, 5.0))
    assert CheapestFirst().decide(state).sum(axis=0).tolist() == [3, 2, 0]


def test_division_by_room_by_capacity_and_by_callers() -> None:
    state = state_of([1.0], [[60, 30, 10]], need=10, room_gb=(50.0, 30.0, 20.0))
    assert ByWeight("capacity", stay=0.0).decide(state)[0].tolist() == [5, 3, 2]
    assert ByWeight("room", stay=0.0).decide(state)[0].tolist() == [5, 3, 2]
    assert ByWeight("callers", stay=0.0).decide(state)[0].tolist() == [6, 3, 1]


def test_duplicated_gives_every_cluster_the_whole_number() -> None:
    assert Duplicated().decide(state_of([1.0], [[1, 1, 1]], need=3))[0].tolist() == [3, 3, 3]


def test_the_lot_depends_on_seed_and_minute_and_spares_what_is_warm() -> None:
    state = state_of([1.0] * 50, [[1, 1, 1]] * 50, warm=[[0, 1, 0]] * 10 + [[0, 0, 0]] * 40)
    one = AtRandom(3).decide(state)
    assert (one == AtRandom(3).decide(state)).all()
    assert (one != AtRandom(4).decide(state)).any()
    assert (one[:10] == [0, 1, 0]).all()
    assert (one.sum(axis=0) > 3).all()


def test_scored_placement_keeps_what_stands_and_sends_the_rest_to_the_best() -> None:
    score = np.array([[0.2, 0.9, 0.5]])
    warm = np.array([[2, 0, 1]], np.int32)
    assert placed_by(score, np.array([3], np.int32), warm)[0].tolist() == [2, 0, 1]
    assert placed_by(score, np.array([5], np.int32), warm)[0].tolist() == [2, 2, 1]
    assert placed_by(score, np.array([2], np.int32), warm)[0].tolist() == [1, 0, 1]
    assert placed_by(score, np.array([0], np.int32), warm)[0].tolist() == [0, 0, 0]


def test_target_load_packs_up_to_the_target_and_avoids_what_is_beyond() -> None:
    loaded = [[50, 0, 0]] * 3 + [[0, 100, 0]] * 3  # 30 GB in a, 60 in b, none in c
    state = state_of([1.0] * 7, [[1, 1, 1]] * 7, warm=[*loaded, [0, 0, 0]])
    assert TargetLoad(0.4).decide(state)[6].tolist() == [1, 0, 0]
    assert TargetLoad(0.7).decide(state)[6].tolist() == [0, 1, 0]
    assert Spreading().decide(state)[6].tolist() == [0, 0, 1]
    assert Spreading(packing=True).decide(state)[6].tolist() == [0, 1, 0]


def test_network_aware_goes_to_the_callers_and_moves_only_where_told_to() -> None:
    state = state_of([1.0], [[0, 0, 99]], warm=[[1, 0, 0]])
    assert NetworkAware().decide(state)[0].tolist() == [1, 0, 0]
    assert NetworkAware(nearer_ms=50.0).decide(state)[0].tolist() == [0, 0, 1]
    assert NetworkAware(nearer_ms=150.0).decide(state)[0].tolist() == [1, 0, 0]


@pytest.mark.parametrize(("load", "waiting", "servers"), [(0.5, 0.5, 1), (0.5, 0.49, 2), (0.0, 0.1, 1), (1.0, 0.34, 2)])
def test_erlang_c_by_its_known_values(load: float, waiting: float, servers: int) -> None:
    # one server at half load makes half the calls wait, two at a load of one a third of them
    assert erlang_servers(np.array([[load]]), waiting)[0, 0] == servers


def test_the_queueing_split_sizes_the_regions_that_are_worth_a_pool() -> None:
    plan = QueueingSplit(waiting=0.3).decide(state_of([1.0], [[80, 0, 20]], calls=[50.0], need=6))
    assert plan[0, 0] >= 4
    assert plan[0, 2] >= 1
    assert plan.sum() >= 6


@settings(max_examples=60, deadline=None)
@given(
    count=st.lists(st.integers(0, 64), min_size=1, max_size=8),
    share=st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3),
)
def test_division_is_exact_and_within_one_of_the_share(count: list[int], share: list[float]) -> None:
    wanted = np.array(count, np.int32)
    shares: FloatArray = np.tile(np.array(share) / sum(share), (len(count), 1))
    plan = divided(wanted, shares)
    assert (plan.sum(axis=1) == wanted).all()
    assert (np.abs(plan - wanted[:, None] * shares) < 1 + 1e-9).all()


def test_all_rules_decide_whole_numbers_for_every_function_and_have_names_of_their_own() -> None:
    rng = np.random.default_rng(1)
    state = state_of(rng.random(30).tolist(), rng.integers(0, 9, (30, 3)).tolist(), need=2)
    names = [rule.name for rule in plain_rules()]
    assert len(set(names)) == len(names)
    for rule in plain_rules():
        plan = rule.decide(state)
        assert plan.shape == (30, 3)
        assert np.issubdtype(plan.dtype, np.integer)
        assert (plan >= 0).all()
        assert (plan.sum(axis=1)[kept_warm(state) > 0] > 0).all() or rule.name == AllLocal().name

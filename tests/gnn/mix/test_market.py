"""Plans that are made to fit: who stays in a cluster that all want."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.mix.rules.market import MarketRule, in_room
from gnn.mix.rules.theta import ThetaRule
from tests.gnn.mix.test_rules import state_of

RULE, MARKET = ThetaRule(prior=1e-9), MarketRule(prior=1e-9)


def test_where_everything_fits_the_rule_is_left_alone() -> None:
    state = state_of([1.0, 0.7], [[5, 1, 0], [0, 4, 4]], calls=[3.0, 2.0])
    plan, surcharge = in_room(state, RULE.decide, target=0.9)
    assert plan.tolist() == RULE.decide(state).tolist()
    assert surcharge.tolist() == [0.0, 0.0, 0.0]


def test_of_two_that_want_the_same_room_the_one_stays_that_gains_more_by_it() -> None:
    # both want b, which is cheapest and has room for one; the second has hardly any calls to be near to
    wants = state_of([1.0, 1.0], [[0, 9, 0], [0, 9, 0]], calls=[30.0, 0.1], room_gb=(9.0, 0.3, 9.0))
    assert RULE.decide(wants)[:, 1].tolist() == [1, 1]
    plan, surcharge = in_room(wants, RULE.decide, target=0.9)
    assert plan.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert surcharge[1] > 0.0
    assert surcharge[[0, 2]].tolist() == [0.0, 0.0]


def test_the_order_of_the_functions_does_not_say_who_stays() -> None:
    wants = state_of([1.0, 1.0], [[0, 9, 0], [0, 9, 0]], calls=[0.1, 30.0], room_gb=(9.0, 0.3, 9.0))
    assert MARKET.decide(wants).tolist() == [[1, 0, 0], [0, 1, 0]]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(0.2, 1.0), st.floats(0.1, 20.0), st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_a_plan_in_room_never_asks_for_more_over_the_room_than_the_rule_does(
    functions: list[tuple[float, float, int, int]],
) -> None:
    called, calls, here, there = zip(*functions, strict=True)
    seen = [[float(a), float(b), 1.0] for a, b in zip(here, there, strict=True)]
    state = state_of(list(called), seen, calls=list(calls), room_gb=(1.0, 0.6, 50.0))

    def over(plan: np.ndarray) -> float:
        return float(np.maximum(0.0, state.site.memory_gb @ plan - state.room_gb).sum())

    assert over(MARKET.decide(state)) <= over(RULE.decide(state)) + 1e-9


def test_what_was_learned_of_prices_stays_out_of_the_state() -> None:
    state = state_of([1.0], [[0, 9, 0]], room_gb=(9.0, 0.1, 9.0))
    before = replace(state, price=state.price.copy())
    in_room(state, RULE.decide, target=0.9)
    assert state.price.tolist() == before.price.tolist()

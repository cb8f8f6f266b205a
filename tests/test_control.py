"""Decisions end to end: what is decided, why, and what is never done on missing data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from prewarm.control import DATA_STATES, FleetState, TickDecisions, decide
from prewarm.domain import Action, DataState, FunctionKey, Mode, Override, PolicyTag
from prewarm.policy.columns import Measured, compile_policy
from prewarm.settings import FunctionPolicy
from tests.policy.test_pool import table

TAG = PolicyTag("prewarm", "1")


def run(
    *functions: list[float],
    warm: Sequence[int],
    data: Sequence[DataState] | None = None,
    age_s: float = 12.0,
    entry: FunctionPolicy | None = None,
    overrides: Sequence[Override] = (),
) -> TickDecisions:
    """A tick over functions whose level probabilities are listed; 150 MB each, so an instance pays from 10.1 %."""
    keys = tuple(FunctionKey(f"shop/f{index}") for index in range(len(functions)))
    state = FleetState(
        keys=keys,
        rows={key: row for row, key in enumerate(keys)},
        warm=np.array(warm, np.int32),
        data=np.array([DATA_STATES.index(item) for item in data or [DataState.OK] * len(keys)], np.int32),
        data_age_s=np.full(len(keys), age_s),
        lower_since=np.full(len(keys), np.nan),
    )
    measured = Measured(np.full(len(keys), 143.05), np.full(len(keys), 3.1))
    policy = compile_policy(keys, lambda _: entry or FunctionPolicy(), measured, step_s=60, default_start_s=2.0)
    return decide(
        state, policy.columns, levels=table(*functions), overrides=overrides, now=1e9, mode=Mode.SHADOW, tag=TAG
    )


def test_a_second_instance_worth_it_is_started_and_the_reason_says_from_where() -> None:
    """22 % against 10 %: the record names the level that pays and the one that does not."""
    decision = run([0.9, 0.22, 0.01], warm=[1]).decision(0)
    assert (decision.from_count, decision.to_count) == (1, 2)
    factors = {reason.factor: reason for reason in decision.reasons}
    assert factors["p_at_least_2"].value == pytest.approx(0.22)
    assert factors["p_at_least_2"].against == pytest.approx(0.1005, abs=1e-4)
    assert factors["p_at_least_2"].text == "instance 2 needed with 22.0%, worth it from 10.1%"
    assert "not worth it below" in factors["p_at_least_3"].text


@pytest.mark.parametrize("state", [DataState.STALE, DataState.NONE])
def test_missing_data_keeps_what_runs(state: DataState) -> None:
    """Eight run, nothing is known, nothing is cut, and the decision says so."""
    tick = run([], warm=[8], data=[state], age_s=340.0)
    assert tick.to_count.tolist() == [8]
    assert tick.decision(0).held == "no data for 340 s; kept 8"


def test_partial_data_may_raise_but_never_cut() -> None:
    """A partial answer that looks like less is not believed, one that looks like more is."""
    tick = run([0.9], [0.9, 0.9, 0.9], warm=[2, 2], data=[DataState.PARTIAL] * 2)
    assert tick.to_count.tolist() == [2, 3]


def test_a_forecast_that_is_no_number_holds() -> None:
    """Neither zero nor the ceiling."""
    tick = run([float("nan")], warm=[4], entry=FunctionPolicy(max=10))
    assert tick.to_count.tolist() == [4]
    assert tick.decision(0).held == "forecast invalid; kept 4"


def test_a_floor_holds_even_without_data() -> None:
    """What the owner promised does not wait for telemetry."""
    tick = run([], warm=[0], data=[DataState.NONE], age_s=float("nan"), entry=FunctionPolicy(min=2))
    assert tick.to_count.tolist() == [2]
    assert tick.decision(0).held == "no data yet; kept 2"


def test_bounds_are_named_with_what_they_changed() -> None:
    """Three wanted, two allowed."""
    decision = run([0.9, 0.9, 0.9], warm=[0], entry=FunctionPolicy(max=2)).decision(0)
    assert decision.to_count == 2
    assert [reason.text for reason in decision.reasons if reason.factor == "max"] == ["cut to the ceiling: 3 -> 2"]


def test_an_override_wins_and_names_its_owner() -> None:
    """A pin over a ceiling."""
    pin = Override(FunctionKey("shop/f0"), None, Action.PIN, 5, "team-shop", "launch", 0.0, None)
    decision = run([0.01], warm=[0], entry=FunctionPolicy(max=2), overrides=[pin]).decision(0)
    assert decision.to_count == 5
    assert decision.reasons[-1].text == "pin by team-shop: launch"


def test_only_changes_and_holds_are_listed() -> None:
    """Of three functions one changes, one holds and one stays as it is."""
    tick = run([0.9], [], [], warm=[0, 1, 0], data=[DataState.OK, DataState.STALE, DataState.OK])
    assert [decision.function for decision in tick.changed()] == ["shop/f0", "shop/f1"]


def test_the_same_inputs_give_the_same_record() -> None:
    """Ids included: a replay can be compared line by line."""
    first, second = (run([0.9, 0.3], warm=[0]).decision(0) for _ in range(2))
    assert first == second

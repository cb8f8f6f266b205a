"""The calls against queueing theory, and the few that can be timed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gnn.published.bound.queueing import erlang_c, p99_ms
from gnn.published.kernel.advance import advance
from gnn.published.kernel.layout import BEGUN, CHAINS, CROSSED, FINISHED, LATE, SERVICE_PARTS, TICKS, UNUSED, State
from gnn.published.measure.build import build
from gnn.published.measure.run import percentile_ms, run_rule
from gnn.published.rules.named import baselines, default_rule
from gnn.published.world.draw import Regime, draw_world
from gnn.published.world.fleet import Fleet
from tests.gnn.published.worlds import fleet, world

CALL_SLOTS = 1 << 15


def served(place: Fleet, rates: tuple[float, ...], service_s: np.ndarray | float, duration_s: float) -> State:
    """Steady calls of given service times, replicas by the rule, all placed at the start."""
    run = world(place, None, rates, regime=Regime.CALLS, duration_s=duration_s)
    state = build(run)
    state["service_table"][0, :] = service_s
    state["weights"][0] = default_rule().table
    advance(state, duration_s, False)
    return state


def mean_ms(state: State, from_s: int) -> float:
    counts = state["histogram"][0, from_s:].sum(axis=0)
    return float(((np.arange(len(counts)) + 0.5) * 0.5 * counts).sum() / counts.sum())


def exponential_s(mean_s: float) -> np.ndarray:
    shares = (np.arange(SERVICE_PARTS) + 0.5) / SERVICE_PARTS
    return np.asarray(-mean_s * np.log(1.0 - shares))


def test_a_call_that_never_waits_takes_its_three_services_and_two_hops() -> None:
    state = served(fleet((64, 256, 0)), (1.0, 0.0, 0.0, 0.0), 0.007, 600.0)
    counts = state["histogram"][0].sum(axis=0)
    assert counts.sum() > 500
    assert np.average(np.arange(len(counts)), weights=counts) * 0.5 == pytest.approx(23.0, abs=0.6)


def test_every_call_that_began_has_ended_or_is_under_way() -> None:
    state = served(fleet((32, 256, 0), (32, 256, 1)), (300.0, 200.0, 100.0, 50.0), exponential_s(0.007), 300.0)
    sim = state[0]
    begun = sim["cn"][BEGUN : BEGUN + CHAINS].sum()
    under_way = CALL_SLOTS - sim["cn"][UNUSED]
    assert begun == sim["cn"][FINISHED] + sim["cn"][LATE] + under_way
    assert sim["histogram"].sum() == sim["cn"][FINISHED] + sim["cn"][LATE]
    assert begun == pytest.approx(650 * 300, rel=0.01)


@pytest.mark.parametrize("rate", [300.0, 700.0])
def test_waits_are_those_of_erlang_c(rate: float) -> None:
    """Poisson calls through exponential tiers are Poisson again behind each of them (Burke), so means add up."""
    state = served(fleet((64, 256, 0)), (rate, 0.0, 0.0, 0.0), exponential_s(0.007), 1_200.0)
    busy = rate * 0.007
    total = 2.0
    for servers in state["wanted"][0, :3]:
        total += 7.0 + erlang_c(int(servers), busy) * 7.0 / (servers - busy)
    assert mean_ms(state, 60) == pytest.approx(total, rel=0.03)


def test_one_server_is_m_m_1() -> None:
    state = served(fleet((16, 256, 0)), (70.0, 0.0, 0.0, 0.0), exponential_s(0.007), 2_000.0)
    assert state["wanted"][0, :3].tolist() == [1, 1, 1]
    assert mean_ms(state, 60) == pytest.approx(2.0 + 3 * 7.0 / (1 - 0.49), rel=0.04)


def test_busy_seconds_are_those_of_the_work() -> None:
    state = served(fleet((64, 256, 0)), (400.0, 0.0, 0.0, 0.0), exponential_s(0.007), 1_000.0)
    assert state["busy_area"][0, :3] / 1_000.0 == pytest.approx(400.0 * 0.007, rel=0.02)


def test_calls_cross_between_clusters_as_often_as_the_replicas_are_apart() -> None:
    """Each further tier is in the other cluster with chance 2 p (1 - p) where a share p of every tier is in one."""
    place = fleet((60, 256, 0), (60, 256, 1))
    state = served(place, (1_000.0, 0.0, 0.0, 0.0), exponential_s(0.007), 300.0)
    share = state["ready"][0, :3, 0] / state["ready"][0, :3].sum(axis=1)
    expected = sum(share[t] * (1 - share[t + 1]) + (1 - share[t]) * share[t + 1] for t in range(2))
    assert state["cn"][0, CROSSED] / state["cn"][0, FINISHED] == pytest.approx(expected, rel=0.05)


def test_without_room_for_enough_replicas_calls_time_out_and_count_as_a_second() -> None:
    """Ten places: four, four and two replicas for the tiers, and the last can serve 286 of the 400 calls a second."""
    state = served(fleet((10, 256, 0)), (400.0, 0.0, 0.0, 0.0), exponential_s(0.007), 300.0)
    late = state["cn"][0, LATE]
    counts = state["histogram"][0, 60:].sum(axis=0)
    assert late == pytest.approx((400.0 - 2 / 0.007) * 300.0, rel=0.05)
    assert percentile_ms(counts, 0.99) == pytest.approx(1_000.0)
    assert state["i"][0, TICKS] == 150


def test_the_formula_reads_what_the_calls_give() -> None:
    """The error of the queueing formula that training may use, on spread and on gathered replicas."""
    for rule in (baselines()[0], baselines()[4]):
        found = draw_world(Regime.CALLS, 0.7, 1_000)
        state = build(found)
        state["weights"][0] = rule.table
        advance(state, 299.0, False)
        told = p99_ms(state["ready"][0], state["rate"][0].copy(), state["delay_s"][0])
        seen = percentile_ms(state["histogram"][0, 60:298].sum(axis=0), 0.99)
        assert told == pytest.approx(seen, rel=0.06)


def test_the_same_calls_come_whatever_the_rule() -> None:
    begun = []
    for rule in (baselines()[0], baselines()[3]):
        state = build(draw_world(Regime.CALLS, 0.6, 1_001))
        state["weights"][0] = rule.table
        advance(state, 30.0, False)
        begun.append(state["cn"][0, BEGUN : BEGUN + CHAINS].tolist())
    assert begun[0] == begun[1]


def test_the_same_run_has_the_same_latencies() -> None:
    place = world(
        fleet((40, 256, 0), (20, 64, 1)), None, (300.0, 100.0, 0.0, 0.0), regime=Regime.CALLS, duration_s=30.0
    )
    first, second = (run_rule(place, default_rule()).histogram for _ in range(2))
    np.testing.assert_array_equal(first, second)

"""Bounds on instances with known answers, and above what the rules reach."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnn.published.bound.fill import Demand, demand_of, most_allocated
from gnn.published.bound.queueing import bare_p99_ms, chain_law, erlang_c, p99_ms, service_law
from gnn.published.rules.future import fill_table, typical_pods
from gnn.published.world.fleet import published_fleet
from tests.gnn.published.worlds import fleet, jobs

REPLICA = (1, 2)


def demand(*rows: tuple[int, int, int]) -> Demand:
    """rows: cores, GB, pods; the last are a gang's."""
    table = np.array(rows, dtype=np.int64)
    return Demand(table[:, :2], table[:, 2])


def test_erlang_c_has_its_textbook_values() -> None:
    assert erlang_c(1, 0.6) == pytest.approx(0.6)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert erlang_c(3, 3.0) == 1.0
    direct = sum(5.0**k / math.factorial(k) for k in range(8))
    last = 5.0**8 / math.factorial(8) * 8 / 3
    assert erlang_c(8, 5.0) == pytest.approx(last / (direct + last))


def test_three_tiers_alone_take_53_ms_at_p99() -> None:
    assert bare_p99_ms(0.0) == pytest.approx(53.0, abs=1.0)
    assert bare_p99_ms(0.001) - bare_p99_ms(0.0) == pytest.approx(2.0)


def test_the_service_law_adds_up_to_one_and_seven_milliseconds() -> None:
    law = service_law()
    assert law.sum() == pytest.approx(1.0, abs=1e-6)
    assert (law * np.arange(len(law)) * 0.5).sum() == pytest.approx(7.0, abs=0.01)


def test_a_hop_between_clusters_adds_its_delay() -> None:
    near = np.array([[50, 0], [50, 0], [50, 0]])
    far = np.array([[50, 0], [0, 50], [50, 0]])
    delay_s = np.array([[0.001, 0.02], [0.02, 0.001]])

    def mean_ms(tiers: np.ndarray) -> float:
        law = chain_law(tiers, 300.0, delay_s)
        return float((law * np.arange(len(law))).sum() * 0.5)

    assert mean_ms(near) == pytest.approx(23.0, abs=0.1)
    assert mean_ms(far) - mean_ms(near) == pytest.approx(38.0, abs=0.05)


def test_an_overloaded_tier_times_out() -> None:
    ready = np.full((12, 1), 20)
    ready[1] = 1
    assert p99_ms(ready, np.array([300.0, 300.0, 300.0, 300.0]), np.array([[0.001]])) == 1_000.0


def test_small_fills_are_solved_exactly() -> None:
    one = fleet((8, 32, 0))
    assert most_allocated(one, demand((1, 2, 3), (4, 16, 0))) == pytest.approx(3 / 8)
    assert most_allocated(one, demand((1, 2, 0), (4, 32, 5), (1, 8, 1), (4, 16, 0))) == pytest.approx(4 / 8)
    assert most_allocated(one, demand((1, 2, 2), (3, 3, 9), (4, 16, 0))) == pytest.approx(8 / 8)


def test_a_gang_is_counted_whole_in_one_cluster() -> None:
    halves = fleet((8, 32, 0), (8, 32, 1))
    whole = fleet((8, 32, 0), (8, 32, 0))
    assert most_allocated(halves, demand((1, 2, 0), (4, 16, 4))) == 0.0
    assert most_allocated(whole, demand((1, 2, 0), (4, 16, 4))) == pytest.approx(1.0)


def test_the_demand_of_a_run_counts_jobs_by_shape() -> None:
    found = demand_of(jobs((0, 2, 8, 1, 9.0), (0, 2, 8, 1, 9.0), (1, 4, 16, 4, 9.0)), 30, REPLICA)
    assert found.shapes.tolist() == [[1, 2], [2, 8], [4, 16]]
    assert found.count.tolist() == [30, 2, 4]


def test_the_whole_fleet_can_be_filled_by_small_jobs() -> None:
    assert most_allocated(published_fleet(), demand((1, 2, 100), (1, 2, 500), (4, 16, 8))) == pytest.approx(1.0)


def test_typical_pods_are_those_that_arrive() -> None:
    pods = typical_pods()
    assert pods[:, 2].sum() == pytest.approx(1.0)
    assert pods[-1, :2].tolist() == [4.0, 16.0]
    assert pods[-1, 2] == pytest.approx(4 * 0.15 / 9_600 / (4 * 0.15 / 9_600 + 0.25 / 280))


def test_more_room_never_takes_less_in_small_steps_and_never_more_than_there_is() -> None:
    table = fill_table(32, 256)
    assert (table <= np.arange(33)[:, None]).all()
    assert (table[:, 0] == 0).all()
    assert table[8, 32] > table[8, 16] > table[8, 4] > 0
    assert table[32, 256] > 30.0

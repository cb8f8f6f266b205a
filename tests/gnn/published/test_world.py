"""The world's marginals are those of the protocol, and a seed's draws stay the same whatever else changes."""

from __future__ import annotations

import numpy as np
import pytest

from gnn.published.world.draw import FIRST_TRAINING_SEED, Regime, draw_world
from gnn.published.world.fleet import pooled_fleet, published_fleet
from gnn.published.world.jobs import LEAD_S, draw_backlog, draw_jobs
from gnn.published.world.laws import lognormal, quantiles
from gnn.published.world.web import BURST_EVERY_S, BURST_S, base_rates, plan_web


def test_the_fleet_is_the_published_one() -> None:
    fleet = published_fleet()
    large, small = fleet.cpu == 32, fleet.cpu == 8
    assert (fleet.cores, fleet.nodes, fleet.clusters) == (176, 13, 2)
    assert (large & (fleet.cluster == 0)).sum() == 3
    assert (small & (fleet.cluster == 0)).sum() == 4
    assert (small & (fleet.cluster == 1)).sum() == 6
    assert set(fleet.memory_gb[large].tolist()) == {256}
    assert set(fleet.memory_gb[small].tolist()) == {32}
    assert fleet.delay_s.tolist() == [[0.001, 0.02], [0.02, 0.001]]


def test_one_pooled_node_has_the_room_of_all() -> None:
    whole, one = published_fleet(), pooled_fleet()
    assert (one.nodes, one.clusters, one.cores) == (1, 1, 176)
    assert one.memory_gb.tolist() == [whole.memory_gb.sum()]


def test_batch_jobs_have_the_sizes_memories_and_times_of_the_protocol() -> None:
    jobs = draw_jobs(176.0 * 20, 50_000.0, np.random.default_rng(3))
    batch = (jobs.pods == 1) & (jobs.arrive_s >= 0)
    cpu, per_core = jobs.cpu[batch], jobs.memory_gb[batch] / jobs.cpu[batch]
    assert batch.sum() > 100_000
    np.testing.assert_allclose([np.mean(cpu == size) for size in (1, 2, 4)], 1 / 3, atol=0.01)
    assert (per_core.min(), per_core.max()) == (2, 8)
    assert per_core.mean() == pytest.approx(5.0, abs=0.03)
    assert jobs.run_s[batch].mean() == pytest.approx(120.0, rel=0.02)
    assert jobs.run_s[batch].std() / jobs.run_s[batch].mean() == pytest.approx(1.5, rel=0.06)
    assert jobs.start_s[batch].mean() == pytest.approx(2.3, rel=0.01)
    assert jobs.start_s[batch].std() / 2.3 == pytest.approx(0.5, rel=0.03)


def test_gangs_are_four_pods_of_four_cores_for_an_exponential_ten_minutes() -> None:
    jobs = draw_jobs(176.0 * 20, 200_000.0, np.random.default_rng(4))
    gang = (jobs.pods == 4) & (jobs.arrive_s >= 0)
    assert set(zip(jobs.cpu[gang].tolist(), jobs.memory_gb[gang].tolist(), strict=True)) == {(4, 16)}
    assert jobs.run_s[gang].mean() == pytest.approx(600.0, rel=0.03)
    assert jobs.run_s[gang].std() == pytest.approx(600.0, rel=0.04)
    assert jobs.start_s[gang].mean() > 2.3  # the last of four


def test_offered_cores_are_divided_60_25_15() -> None:
    jobs = draw_jobs(1_760.0, 100_000.0, np.random.default_rng(5))
    new = jobs.arrive_s >= 0
    work = jobs.cpu * jobs.pods * jobs.run_s
    gang = jobs.pods == 4
    assert work[new & ~gang].sum() / 100_000.0 == pytest.approx(0.25 * 1_760.0, rel=0.03)
    assert work[new & gang].sum() / 100_000.0 == pytest.approx(0.15 * 1_760.0, rel=0.05)


def test_a_run_begins_with_what_would_be_running() -> None:
    """By Little's law as many cores are busy at the start as are offered."""
    at_start = []
    for seed in range(200):
        jobs = draw_jobs(176.0, 10.0, np.random.default_rng(seed))
        begun = jobs.arrive_s < 0
        assert (jobs.run_s > 0).all()
        assert (jobs.start_s[begun] == 0).all()
        at_start.append((jobs.cpu * jobs.pods)[begun].sum())
    assert np.mean(at_start) == pytest.approx(0.40 * 176.0, rel=0.06)


@pytest.mark.parametrize("load", [0.5, 0.9])
def test_all_loads_see_the_same_jobs_at_stretched_times(load: float) -> None:
    some, more = (draw_jobs(176.0 * one, 14_400.0, np.random.default_rng(6)) for one in (load, 1.0))
    gangs, others = some.run_s[some.pods == 4][-5:], more.run_s[more.pods == 4]
    assert np.isin(gangs, others).all()
    first, second = some.arrive_s[some.pods == 4][-1] + LEAD_S, more.arrive_s[more.pods == 4] + LEAD_S
    at = int(np.flatnonzero(others == gangs[-1])[0])
    assert second[at] == pytest.approx(first * load)


def test_the_backlog_waits_in_the_mix_of_the_load() -> None:
    jobs = draw_backlog(50_000, np.random.default_rng(8))
    gang = jobs.pods == 4
    rates = 0.25 / (7 / 3 * 120.0), 0.15 / (16 * 600.0)
    assert gang.mean() == pytest.approx(rates[1] / sum(rates), rel=0.1)
    assert (jobs.arrive_s == 0).all()


def test_the_web_asks_for_its_share_of_cores() -> None:
    rates = base_rates(100.0, np.array([0.5, 1.0, 1.0, 1.5]))
    asked = rates.repeat(3) * 0.007 / 0.7
    assert asked.sum() * (1 + 0.5 * 120 / 600 / 4) + 0.5 * 12 == pytest.approx(100.0)
    assert rates[3] == pytest.approx(3 * rates[0])


def test_a_random_chain_bursts_for_a_minute_every_ten() -> None:
    base = np.array([100.0, 200.0, 300.0, 400.0])
    plan = plan_web(base, 2_400.0, np.random.default_rng(1))
    raised = (plan.rates > base).sum(axis=1)
    assert plan.since_s.tolist() == [0.0, *(t for k in range(4) for t in (300.0 + 600 * k, 360.0 + 600 * k))]
    assert raised.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert (plan.rates.max(axis=0) / base).max() == pytest.approx(1.5)
    assert (BURST_EVERY_S, BURST_S) == (600.0, 60.0)


def test_the_step_run_loses_two_small_nodes_and_gains_30_percent_of_calls() -> None:
    world = draw_world(Regime.STEP, 0.75, 3)
    plain = draw_world(Regime.CALLS, 0.75, 3)
    after = world.web.rates[world.web.since_s >= 1_200.0][0]
    assert (world.fleet.cpu[world.lost] == 8).all()
    assert len(set(world.lost.tolist())) == 2
    np.testing.assert_allclose(after, 1.3 * plain.web.rates[0])
    np.testing.assert_allclose(world.web.rates[0], plain.web.rates[0])


def test_without_calls_the_web_is_steady_at_the_rates_that_the_calls_would_have() -> None:
    steady, called = draw_world(Regime.FAILURES, 0.8, 2), draw_world(Regime.CALLS, 0.8, 2)
    assert steady.web.since_s.tolist() == [0.0]
    np.testing.assert_allclose(steady.web.rates[0], called.web.rates[0])


def test_the_same_seed_gives_the_same_jobs_on_every_fleet() -> None:
    here, there = draw_world(Regime.FAILURES, 0.8, 5), draw_world(Regime.FAILURES, 0.8, 5, pooled_fleet())
    for ours, theirs in zip(here.jobs.columns, there.jobs.columns, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(here.web.rates, there.web.rates)
    other = draw_world(Regime.FAILURES, 0.8, FIRST_TRAINING_SEED)
    assert len(other.jobs) != len(here.jobs) or not np.array_equal(other.jobs.run_s, here.jobs.run_s)


def test_the_laws_have_the_mean_and_deviation_that_they_are_named_by() -> None:
    drawn = lognormal(200_000, np.random.default_rng(0), mean=7.0, cv=0.8)
    table = quantiles(1 << 16, mean=7.0, cv=0.8)
    assert drawn.mean() == pytest.approx(7.0, rel=0.01)
    assert drawn.std() / drawn.mean() == pytest.approx(0.8, rel=0.02)
    assert table.mean() == pytest.approx(7.0)
    assert table.std() / 7.0 == pytest.approx(0.8, rel=0.01)
    assert (np.diff(table) > 0).all()

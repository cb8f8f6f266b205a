"""Pods wait, pass, fail and end as the protocol says, on fleets small enough to follow by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gnn.published.kernel.advance import advance
from gnn.published.kernel.layout import DONE, EVICTED, FAILED, KINDS, PENDING, RUNNING, WAITING, WHOLE_GANGS, State
from gnn.published.measure.build import build
from gnn.published.measure.run import Answer, drive, outcome, run_asked, run_rule
from gnn.published.rules.named import Rule, baselines, default_rule
from gnn.published.world.draw import Regime, World, draw_world
from tests.gnn.published.worlds import fleet, jobs, world

MOST = Rule.same("most", {"most_allocated": 1.0})


def run_to(place: World, until_s: float, rule: Rule = MOST) -> State:
    """The state at a time under a rule."""
    state = build(place)
    state["weights"][0] = rule.table
    state["f"][0, WHOLE_GANGS] = rule.whole_gangs
    advance(state, until_s, False)
    return state


def test_a_job_holds_its_room_until_its_end() -> None:
    state = run_to(world(fleet((20, 64, 0)), jobs((5.0, 4, 8, 1, 100.0))), 50.0)
    assert state["free_cpu"][0, 0] == 20 - 12 - 4  # twelve services keep one replica each
    assert state["free_memory"][0, 0] == 64 - 24 - 8
    advance(state, 105.0, False)
    assert state["job_state"][0, 0] == DONE
    assert state["free_cpu"][0, 0] == 20 - 12


def test_what_is_not_bound_within_thirty_seconds_fails() -> None:
    place = world(fleet((16, 64, 0)), jobs((0.0, 4, 8, 1, 31.0), (1.0, 4, 8, 1, 10.0), (2.0, 4, 8, 1, 10.0)))
    state = run_to(place, 30.9)
    assert state["job_state"][0, :3].tolist() == [RUNNING, WAITING, WAITING]
    advance(state, 31.0, False)
    assert state["job_state"][0, 1] in (RUNNING, FAILED)
    advance(state, 100.0, False)
    found = outcome(state, place)
    assert (found.came, found.failed) == (3, 1)


def test_a_later_job_that_fits_may_pass() -> None:
    place = world(fleet((16, 64, 0)), jobs((0.0, 1, 2, 1, 500.0), (1.0, 4, 8, 1, 9.0), (2.0, 2, 4, 1, 500.0)))
    state = run_to(place, 3.0)
    assert state["job_state"][0, :3].tolist() == [RUNNING, WAITING, RUNNING]


def test_memory_bars_a_job_as_cores_do() -> None:
    place = world(fleet((20, 40, 0)), jobs((0.0, 1, 17, 1, 9.0), (0.0, 1, 16, 1, 9.0)))
    state = run_to(place, 1.0)
    assert state["job_state"][0, :2].tolist() == [WAITING, RUNNING]


def test_a_gang_stays_in_one_cluster_and_fails_whole() -> None:
    """The replicas fill the first node; three places are left in each cluster, which six would do and three do not."""
    place = world(fleet((12, 40, 0), (12, 48, 0), (12, 48, 1)), jobs((0.0, 4, 16, 4, 50.0)), duration_s=60.0)
    state = run_to(place, 60.0)
    found = outcome(state, place)
    assert (found.came, found.failed, found.gangs_failed) == (4, 4, 1)
    assert state["pods"][0, :, KINDS.index("training")].sum() == 0


@pytest.mark.parametrize(("whole", "ran"), [(True, True), (False, False)])
def test_only_a_rule_that_knows_gangs_passes_by_a_cluster_that_holds_a_part(whole: bool, ran: bool) -> None:
    """The replicas fill the first node but for five cores, so the first pod likes it best, and the others lack room."""
    place = world(fleet((17, 64, 0), (32, 128, 1)), jobs((0.0, 4, 16, 4, 50.0)), duration_s=90.0)
    rule = Rule.same("most", {"most_allocated": 1.0}, whole_gangs=whole)
    state = run_to(place, 1.0, rule)
    assert state["free_cpu"][0, 0] == 5
    assert bool(state["job_state"][0, 0] == RUNNING) == ran
    advance(state, 90.0, False)
    assert outcome(state, place).gangs_failed == (0 if ran else 1)


def test_replicas_go_before_jobs_that_came_earlier() -> None:
    """One core comes free while a job and a new replica wait for it: the replica has it."""
    busy = (0.0, 0.0, 0.0, 0.0)
    more = ((20.0, (101.0, 0.0, 0.0, 0.0)),)  # one chain needs a second replica a tier
    place = world(fleet((13, 64, 0)), jobs((0.0, 1, 2, 1, 40.0), (15.0, 1, 2, 1, 9.0)), busy, later=more)
    state = run_to(place, 39.9)
    assert state["job_state"][0, 1] == WAITING
    assert (state["state"][0] == PENDING).sum() == 3
    advance(state, 41.0, False)
    assert state["job_state"][0, 1] == WAITING
    assert (state["state"][0] == PENDING).sum() == 2


def test_vanished_nodes_take_their_work_along_and_replicas_come_back_elsewhere() -> None:
    place = world(
        fleet((12, 24, 0), (16, 64, 0)),
        jobs((0.0, 4, 16, 1, 5_000.0)),
        regime=Regime.FAILURES,
        duration_s=1_300.0,
        lost=(1,),
    )
    state = run_to(place, 1_199.0)
    before = state["have"][0].copy()
    advance(state, 1_210.0, False)
    assert state["free_cpu"][0, 1] == 0
    assert state["on_node"][0, 1].sum() == 0
    assert state["books"][0, EVICTED] == 1
    np.testing.assert_array_equal(state["have"][0], before)


def test_where_work_always_waits_the_line_keeps_its_length() -> None:
    backlog = draw_world(Regime.BACKLOG, 1.0, 1_000)
    state = run_to(backlog, 1_000.0)
    assert (state["job_state"][0] == WAITING).sum() == backlog.depth
    assert (state["job_state"][0] == FAILED).sum() == 0
    assert 0.8 < outcome(run_to(backlog, backlog.duration_s), backlog).utilisation <= 1.0


def taken(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Cores and GB by node of all that is bound there, counted anew."""
    sim = state[0]
    cpu, memory = np.zeros(13, dtype=np.int64), np.zeros(13, dtype=np.int64)
    for slot in np.flatnonzero(sim["state"] > PENDING):
        cpu[sim["node"][slot]] += 1
        memory[sim["node"][slot]] += 2
    for job in np.flatnonzero(sim["job_state"] == RUNNING):
        for pod in range(sim["job_pods"][job]):
            cpu[sim["job_node"][job, pod]] += sim["job_cpu"][job]
            memory[sim["job_node"][job, pod]] += sim["job_memory"][job]
    return cpu, memory


@pytest.mark.parametrize("rule", baselines(), ids=lambda rule: rule.name)
def test_room_is_what_the_pods_leave_and_never_negative(rule: Rule) -> None:
    place = draw_world(Regime.FAILURES, 0.95, 1_001)
    state = run_to(place, 0.0, rule)
    for until in np.linspace(200.0, 3_600.0, 12):
        advance(state, float(until), False)
        cpu, memory = taken(state)
        np.testing.assert_array_equal(state["free_cpu"][0], state["cpu"][0] - cpu)
        np.testing.assert_array_equal(state["free_memory"][0], state["memory"][0] - memory)
        assert (state["free_cpu"][0] >= 0).all()
        assert (state["free_memory"][0] >= 0).all()


@pytest.mark.parametrize("rule", baselines(), ids=lambda rule: rule.name)
def test_every_gang_that_runs_is_in_one_cluster(rule: Rule) -> None:
    state = run_to(draw_world(Regime.FAILURES, 0.9, 1_002), 3_000.0, rule)
    sim = state[0]
    gangs = np.flatnonzero((sim["job_state"] == RUNNING) & (sim["job_pods"] == 4))
    assert gangs.size
    for job in gangs:
        assert len(set(sim["cluster"][sim["job_node"][job]].tolist())) == 1


def test_a_run_is_the_same_every_time_and_whether_weights_are_given_at_once_or_when_asked() -> None:
    place = draw_world(Regime.FAILURES, 0.85, 1_003)
    rule = next(one for one in baselines() if one.name == "fixed rule")
    table = rule.table
    once, again = run_rule(place, rule), run_rule(place, rule)
    asked = run_asked(place, lambda _, kind: Answer(table[kind]))
    for other in (again, asked):
        assert (once.came, once.failed, once.gangs_failed) == (other.came, other.failed, other.gangs_failed)
        assert once.utilisation == pytest.approx(other.utilisation, abs=1e-12)


def test_a_residual_moves_pods_to_its_cluster() -> None:
    place = draw_world(Regime.FAILURES, 0.4, 1_004)
    table = default_rule().table
    bias = np.array([0.0, 1_000.0])
    state = build(place)
    drive(state, lambda _, kind: Answer(table[kind], bias), until_s=0.0)
    assert state["free_cpu"][0, 7:].sum() <= 8  # cluster 1 was filled first


def test_a_high_temperature_spreads_replicas_over_the_clusters_and_none_does_not() -> None:
    place = draw_world(Regime.FAILURES, 0.3, 1_005)
    near = {kind: {"headroom": 1.0} for kind in KINDS}
    cold = Rule("cold", near, dict.fromkeys(KINDS, 0.0))
    hot = Rule("hot", near, dict.fromkeys(KINDS, 10.0))
    spread = run_to(place, 0.0, hot)["placed"][0]
    assert np.abs(spread[:, 0] - spread[:, 1]).max() <= 1
    packed = run_to(place, 0.0, cold)["placed"][0]
    assert packed[:, 0].sum() > packed[:, 1].sum()

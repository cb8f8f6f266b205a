"""What the policy is told and what its answers do: columns, the room plan, the look ahead, the meter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnn.forms import BOUND, Form
from gnn.published.kernel.advance import advance
from gnn.published.kernel.layout import ANSWERED, BATCH, NODE_FACTORS, SIZE, TIERS, WEB, State
from gnn.published.measure.build import build
from gnn.published.measure.run import asked_kind
from gnn.published.policy.ahead import planned_homes, room_to_grow, small_cluster
from gnn.published.policy.answer import answer
from gnn.published.policy.columns import AHEAD, GANGS_LOST, PLANNED, ROOM_TO_GROW, tuned_columns
from gnn.published.policy.graph import observation
from gnn.published.policy.look import choices, look
from gnn.published.policy.meter import delay, gangs, promised_delay
from gnn.published.policy.shipped import learned
from gnn.published.rules.named import filled
from gnn.published.world.draw import Regime, World, draw_world
from gnn.published.world.web import SERVICE_S
from prewarm.domain import InputError
from tests.gnn.published.worlds import fleet, jobs, world

COLUMNS = tuned_columns()
PER_REPLICA = 0.7 / SERVICE_S
LARGE_AND_SMALL = fleet((32, 256, 0), (32, 256, 0), (16, 64, 1))


def asked(of: World, *, answers: int = 0) -> State:
    """The state before its first question, or before a later one where the first are answered by the rule."""
    state = build(of)
    state["weights"][0] = filled().table
    assert advance(state, of.duration_s, True)
    for _ in range(answers):
        state["i"][0, ANSWERED] = 1
        assert advance(state, of.duration_s, True)
    return state


def test_the_columns_of_a_kind_sum_to_one_and_the_look_ahead_weighs_nothing() -> None:
    weights = np.array(COLUMNS.weights.weights)
    for kind in range(3):
        assert weights[: COLUMNS.weighed][COLUMNS.kind == kind].sum() == pytest.approx(1.0)
    assert (weights[COLUMNS.weighed :] == 0.0).all()
    assert COLUMNS.names[-len(AHEAD) :] == AHEAD


def test_the_rule_over_the_columns_is_the_rule_of_the_kernel() -> None:
    factors = np.random.default_rng(0).random((2, SIZE))
    for kind in range(3):
        values = COLUMNS.values(kind, factors, np.zeros((2, len(AHEAD))))
        named = [NODE_FACTORS.index(name) for name in filled().weights[("web", "batch", "training")[kind]]]
        wanted = factors[:, named] @ filled().table[kind, named] / COLUMNS.totals[kind]
        assert values @ np.array(COLUMNS.weights.weights) == pytest.approx(wanted)


def test_weights_that_change_nothing_are_the_rules_and_a_residual_is_bounded_by_its_kind() -> None:
    nearly = np.full((1, len(COLUMNS.names) + 1), 1e-9, np.float32)
    for kind in range(3):
        row = answer(COLUMNS, Form.WEIGHTS, kind, nearly).weights
        assert row == pytest.approx(filled().table[kind], rel=1e-6)
        most = answer(COLUMNS, Form.RESIDUAL, kind, np.ones((2, 1), np.float32))
        assert most.residual == pytest.approx([BOUND * COLUMNS.totals[kind]] * 2)
        assert (most.weights == filled().table[kind]).all()


def test_the_plan_fills_the_small_cluster_with_whole_chains() -> None:
    """Chains of 3 x 1, 2, 3 and 5 replicas on 16 cores: 5 with 3 x 5 = 15, or 1 + 2 + ... = 6 + 9 = 15; never cut."""
    rates = tuple((size - 0.5) * PER_REPLICA for size in (1.0, 2.0, 3.0, 5.0))
    state = asked(world(LARGE_AND_SMALL, rates=rates))
    assert small_cluster(state[0]) == 1
    home, left = planned_homes(state[0], 1)
    sizes = 3 * np.array([1, 2, 3, 5])
    assert sizes[home == 1].sum() == 15
    assert left == 1.0


def test_the_plan_keeps_a_core_a_tier_for_a_chain_about_to_grow() -> None:
    """A need of 4.9 replicas becomes 6 by chance, and 18 cores are more than the small cluster has."""
    rates = (4.9 * PER_REPLICA, 3.5 * PER_REPLICA, 0.2 * PER_REPLICA, 0.2 * PER_REPLICA)
    home, left = planned_homes(asked(world(LARGE_AND_SMALL, rates=rates))[0], 1)
    assert home.tolist() == [0, 1, 1, 0]
    assert left == 1.0


def test_a_plan_is_kept_once_a_chain_has_begun() -> None:
    rates = tuple((size - 0.5) * PER_REPLICA for size in (1.0, 2.0, 3.0, 5.0))
    state = asked(world(LARGE_AND_SMALL, rates=rates))
    state["residual"][0, WEB] = (100.0, 0.0)
    state["i"][0, ANSWERED] = 1
    assert advance(state, 600.0, True)
    home, _ = planned_homes(state[0], 1)
    assert home[0] == 0
    assert (3 * np.array([2, 3, 5]))[home[1:] == 1].sum() == 15


def test_room_to_grow_is_what_chains_at_home_leave() -> None:
    rates = (1.9 * PER_REPLICA, 0.0, 0.0, 0.0)  # two now, three by chance
    state = asked(world(LARGE_AND_SMALL, jobs((5.0, 2, 8, 1, 100.0)), rates=rates), answers=15)
    assert asked_kind(state) == BATCH
    free = np.array([state["free_cpu"][0, :2].sum(), state["free_cpu"][0, 2]])
    home = int(state["placed"][0, 0].argmax())
    kept = free - room_to_grow(state[0])
    assert kept[home] >= TIERS
    _, _, ahead = look(state)
    assert ahead[:, ROOM_TO_GROW] * 16.0 == pytest.approx(free - kept)


def test_the_look_sees_a_gang_lost_to_a_job() -> None:
    place = fleet((16, 64, 0), (8, 32, 1), (8, 32, 1))
    state = asked(world(place, jobs((1.0, 1, 8, 1, 100.0))), answers=12)
    room, _, ahead = look(state)
    assert asked_kind(state) == BATCH
    assert room.tolist() == [choices(state) and room[0], room[1]]
    for k in range(2):
        slots = sum(min(c // 4, m // 16) for c, m, at in _free(state) if at == k)
        best = ahead[k, GANGS_LOST]
        assert best in (0.0, 1.0)
        assert best <= slots // 4


def _free(state: State) -> list[tuple[int, int, int]]:
    sim = state[0]
    return [(int(sim["free_cpu"][n]), int(sim["free_memory"][n]), int(sim["cluster"][n])) for n in range(3)]


def test_every_question_names_its_pod_and_its_clusters() -> None:
    state = asked(draw_world(Regime.FAILURES, 0.8, 3))
    room, factors, ahead = look(state)
    told = observation(state, room, COLUMNS.values(asked_kind(state), factors, ahead))
    assert told["ask/pairs"].tolist() == [[0, 0], [0, 1]]
    assert told["ask/function"].tolist() == [0]
    assert np.expm1(told["ask/room"]) == pytest.approx(room, rel=1e-5)
    assert [len(told[f"node/{kind}"]) for kind in ("cluster", "pool", "function", "region")] == [2, 3, 14, 0]
    assert told["ends/calls"].shape == (2, 8)
    assert ahead[:, PLANNED].sum() == 1.0


def test_the_meter_counts_hops_and_small_pools() -> None:
    """One chain of two replicas a tier. In one place a call makes no hop; half and half it makes one, on average, and
    each tier has one pool too many for two replicas. A tier without replicas costs three hops.
    """
    rates = (1.9 * PER_REPLICA, 0.0, 0.0, 0.0)
    state = build(world(LARGE_AND_SMALL, rates=rates))
    sim = state[0]
    sim["wanted"][:3] = 2
    sim["placed"][:3] = sim["ready"][:3] = (2, 0)
    assert delay(state) == promised_delay(state) == 0.0
    sim["placed"][:3] = sim["ready"][:3] = (1, 1)
    assert delay(state) == pytest.approx(2 * 0.5 + 3 * 0.5)
    sim["ready"][:3] = 0
    assert delay(state) == pytest.approx(3 * 3.0)
    assert promised_delay(state) == pytest.approx(2.5)


def test_gangs_need_their_slots_in_one_cluster() -> None:
    state = build(world(fleet((8, 32, 0), (8, 32, 1)), rates=(0.0,) * 4))
    assert gangs(state) == 0
    assert gangs(build(world(fleet((8, 32, 0), (8, 32, 0)), rates=(0.0,) * 4))) == 1


def test_no_weights_no_policy_and_weights_of_another_rule_are_refused(tmp_path: Path) -> None:
    assert learned(tmp_path / "none.npz") is None
    (tmp_path / "other.npz").write_bytes(b"no weights")
    with pytest.raises(InputError, match="not the weights"):
        learned(tmp_path / "other.npz")

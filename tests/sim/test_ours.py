"""The policy `prewarm` over a trace: the service's own code, nothing from the future, each part to be switched off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prewarm.domain import Int32Array
from prewarm.forecast.experts.opinions import shipped_model
from prewarm.settings import Call
from prewarm.sim.minute import MinuteWorkload
from prewarm.sim.ours import Event, Extras, PrewarmPolicy, asked_of, run
from tests.sim.made import workload

MINUTES = 240
SEEDS = (1, 2)


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Loads the models once, so that no single test is charged for it."""
    PrewarmPolicy().allocations(workload([[0, 1, 0]]))


def mixed(seed: int, minutes: int = MINUTES) -> MinuteWorkload:
    """A timer of ten minutes, bursts, one call only, and a function that is never called."""
    rng = np.random.default_rng(seed)
    need = np.zeros((4, minutes), np.int32)
    need[0, ::10] = 1
    need[1] = rng.integers(1, 4, minutes) * (rng.uniform(size=minutes) < 0.3)
    need[2, minutes // 3] = 2
    return workload(need.tolist(), share=0.7)


def kept(made: MinuteWorkload, extras: Extras | None = None) -> Int32Array:
    return PrewarmPolicy(extras=extras or Extras()).allocations(made)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cut", [1, 79, 81, 200])
def test_the_first_minutes_are_decided_as_in_the_whole(seed: int, cut: int) -> None:
    made = mixed(seed)
    np.testing.assert_array_equal(kept(made.first(cut)), kept(made)[:, :cut])


@pytest.mark.parametrize("seed", SEEDS)
def test_what_comes_from_a_minute_on_does_not_move_that_minute(seed: int) -> None:
    at = 120
    made, other = mixed(seed), mixed(seed + 10)
    need = np.concatenate([made.need[:, :at], other.need[:, at:] + 1], axis=1)
    turned = replace(made, need=need, concurrency=need * np.float64(0.7))
    np.testing.assert_array_equal(kept(turned)[:, : at + 1], kept(made)[:, : at + 1])


def test_a_timer_is_warm_when_it_fires_and_seldom_otherwise() -> None:
    warm = kept(mixed(1))[0]
    fires = np.arange(MINUTES) % 10 == 0
    assert warm[120:][fires[120:]].mean() >= 0.9
    assert warm[120:][~fires[120:]].mean() <= 0.2


def test_what_is_never_called_is_not_kept_for_long() -> None:
    assert kept(mixed(1))[3, 60:].sum() == 0


def test_dear_cold_starts_keep_more() -> None:
    made, extras = mixed(2), Extras()
    asked = asked_of(made, shipped_model(), extras)
    few, usual, many = run(made, asked, extras, cold_weights=(0.1, 1.0, 10.0))
    assert few.sum() < usual.sum() < many.sum()
    np.testing.assert_array_equal(usual, kept(made))


def test_a_part_of_a_day_can_be_asked_about_alone() -> None:
    made, extras = mixed(2), Extras()
    whole = asked_of(made, shipped_model(), extras)
    part = asked_of(made, shipped_model(), extras, span=(100, 110))
    for minute, opinions in enumerate(part, 100):
        assert opinions.level.tolist() == whole[minute].level.tolist()
        np.testing.assert_allclose(opinions.chance, whole[minute].chance, rtol=1e-5)
    assert run(made, part, extras, first=100)[0][:, :100].sum() == 0


@pytest.mark.parametrize(
    ("known_from", "warm"),
    [pytest.param(10, [0, 2, 2, 0], id="told-beforehand"), pytest.param(100, [0, 0, 2, 0], id="told-as-it-begins")],
)
def test_an_announced_event_is_warm_from_its_first_minute(known_from: int, warm: list[int]) -> None:
    event = Event("sale", np.array([3], np.int32), first=100, last=102, known_from=known_from, need=2)
    found = kept(mixed(1), Extras(events=(event,)))
    assert found[3, 99:103].tolist() == warm


def test_a_caller_warms_what_it_calls() -> None:
    rng = np.random.default_rng(7)
    need = np.zeros((2, 600), np.int32)
    need[0] = rng.uniform(size=600) < 0.03
    need[1, 1:] = need[0, :-1]  # a minute later, always
    made = workload(need.tolist())
    alone = kept(made)
    told = kept(made, Extras(calls=(Call("app/0", "app/1", 1.0, 60.0),)))
    missed = [int(np.maximum(need[1] - warm[1], 0)[300:].sum()) for warm in (alone, told)]
    assert missed[1] == 0 < missed[0]


def test_without_upper_levels_what_was_needed_last_is_kept() -> None:
    made = workload([[3, 3, 3, 3, 3, 3, 3, 3]])
    assert kept(made, Extras(upper_levels=False))[0, 1:].max() == 3


def test_without_recalibration_a_habit_is_not_learned() -> None:
    made = mixed(2, 600)
    assert not np.array_equal(kept(made), kept(made, Extras(recalibration=False)))


def test_unknown_minutes_teach_nothing() -> None:
    made = mixed(1)
    unknown = np.zeros(made.need.shape, np.bool_)
    unknown[:, :150] = True
    blank = np.where(unknown, 0, made.need).astype(np.int32)
    half = replace(made, need=blank, concurrency=blank * np.float64(0.7), unknown=unknown)
    assert kept(half)[3, 200:].sum() == 0
    assert kept(half)[0, 210:].sum() > 0

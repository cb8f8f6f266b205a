"""The fold over steps: opinions are weighed by what came, callers and announcements raise what is expected."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.domain import FunctionKey
from prewarm.forecast.experts.opinions import Opinions
from prewarm.foresight import Announcement, Memory, empty_memory, foresee, remember, with_functions
from prewarm.settings import Call

KEYS = tuple(FunctionKey(name) for name in ("shop/web", "shop/cart"))
ROWS = {key: row for row, key in enumerate(KEYS)}
EXPERTS = ("learned", "calendar")


def opinions(*chances: tuple[float, float]) -> Opinions:
    """First-level opinions of both experts, one pair a function."""
    size = len(chances)
    return Opinions(
        np.arange(size, dtype=np.int32),
        np.ones(size, np.int32),
        np.array(chances, np.float32).reshape(size, 2),
        EXPERTS,
    )


def fleet(*calls: Call) -> Memory:
    """An empty memory that knows both functions."""
    return with_functions(empty_memory(2), calls, ROWS, step_s=60.0)


def after(memory: Memory, need: list[int], known: list[bool] | None = None) -> Memory:
    """The memory one step later."""
    return remember(memory, np.array(need, np.int32), np.array(known or [True] * len(need)))


def test_the_expert_that_is_right_takes_over() -> None:
    """The calendar knew three times what the model did not."""
    memory = fleet()
    for _ in range(3):
        _, memory = foresee(memory, opinions((0.02, 0.95), (0.02, float("nan"))))
        memory = after(memory, [1, 0])
    told, _ = foresee(memory, opinions((0.02, 0.95), (0.02, float("nan"))))
    assert told.p[0] > 0.9
    assert told.p[1] == pytest.approx(0.02, abs=1e-3)
    assert told.reasons(0, KEYS)[0].text.startswith("calendar: 95.0%, weight 100%")


def test_an_unknown_step_neither_teaches_nor_counts_as_a_call() -> None:
    """The weights are the same as before."""
    memory = fleet()
    _, memory = foresee(memory, opinions((0.02, 0.95), (0.5, 0.5)))
    later = after(memory, [0, 0], known=[False, True])
    assert later.mixture.weight[0].tolist() == memory.mixture.weight[0].tolist()
    assert not later.active.any()


def test_a_call_upstream_raises_the_callee_and_says_so() -> None:
    """Web was active, its call arrives a minute later."""
    memory = after(fleet(Call("shop/web", "shop/cart", 20.0, 60.0)), [1, 0])
    told, _ = foresee(memory, opinions((0.1, 0.1), (0.01, 0.01)))
    assert told.p[1] > 0.9
    assert told.reasons(1, KEYS)[-1].text.startswith("called by shop/web 1 step before")


def test_an_announced_event_raises_all_its_levels_and_never_lowers() -> None:
    """Three instances as surely as 95 %; the first was surer anyway."""
    event = Announcement("sale", np.array([0], np.int32), 3, 0.95)
    told, _ = foresee(fleet(), opinions((0.99, 0.99), (0.1, 0.1)), [event])
    assert told.level[told.row == 0].tolist() == [1, 2, 3]
    assert told.p[told.row == 0].tolist() == pytest.approx([0.99, 0.95, 0.95])
    assert told.reasons(0, KEYS)[-1].text == "announced: sale, 3 instances"


def test_a_growing_fleet_keeps_what_was_learned() -> None:
    """Edges and weights move with their functions."""
    call = Call("shop/web", "shop/cart", 1.0, 60.0)
    memory = fleet(call)
    for need in ([1, 0], [0, 1]) * 10:
        _, memory = foresee(memory, opinions((0.1, 0.4), (0.1, 0.2)))
        memory = after(memory, need)
    grown = with_functions(memory, [call], {**ROWS, FunctionKey("shop/new"): 2}, step_s=60.0)
    assert grown.edges.joint_steps[: len(memory.edges.joint_steps)].tolist() == memory.edges.joint_steps.tolist()
    assert grown.mixture.weight[:2].tolist() == memory.mixture.weight.tolist()
    assert grown.active.shape == (memory.active.shape[0], 3)
    assert grown.active[:, :2].tolist() == memory.active.tolist()


def test_a_model_that_is_too_sure_of_a_function_is_corrected_for_it_alone() -> None:
    """It says 30 % forty times and nothing comes; for the other function it keeps its word."""
    memory = fleet()
    for _ in range(40):
        _, memory = foresee(memory, opinions((0.3, float("nan")), (0.3, float("nan"))))
        memory = after(memory, [0, 0], known=[True, False])
    told, _ = foresee(memory, opinions((0.3, float("nan")), (0.3, float("nan"))))
    assert told.p[0] < 0.15
    assert told.p[1] == pytest.approx(0.3, abs=1e-3)


def test_nothing_is_learned_about_the_model_while_the_rule_speaks() -> None:
    """Its errors are not the rule's."""
    memory = fleet()
    _, memory = foresee(memory, opinions((1.0, float("nan")), (1.0, float("nan"))), by_rule=True)
    later = after(memory, [0, 0])
    assert later.mixture.weight.tolist() == memory.mixture.weight.tolist()
    assert not later.errors.weight.any()


def test_a_callee_with_a_busy_caller_is_soon_believed_by_its_own_rhythm() -> None:
    """Web is called every minute and explains everything; cart knows its own minutes better."""
    memory = fleet(Call("shop/web", "shop/cart", 0.5, 60.0))
    for minute in range(120):
        due = minute % 4 == 0
        _, memory = foresee(memory, opinions((0.99, 0.99), (0.95 if due else 0.02, float("nan"))))
        memory = after(memory, [1, int(due)])
    told, _ = foresee(memory, opinions((0.99, 0.99), (0.95, float("nan"))))
    assert told.p[1] > 0.9
    assert memory.causes.weight[1].argmax() == 1


def test_an_announced_number_that_may_be_off_raises_further_levels_less_surely() -> None:
    """About ten, off by a third: the tenth is a coin's toss, the fifteenth still possible, the fifth nearly sure."""
    event = Announcement("sale", np.array([0], np.int32), 10, 0.95, spread=0.3)
    told, _ = foresee(fleet(), opinions((0.1, 0.1), (0.1, 0.1)), [event])
    chances = dict(zip(told.level[told.row == 0].tolist(), told.p[told.row == 0].tolist(), strict=True))
    assert chances[5] == pytest.approx(0.95, abs=0.01)
    assert chances[10] == pytest.approx(0.95 * 0.568, abs=0.01)
    assert 0.05 < chances[15] < 0.15
    assert max(chances) == 19

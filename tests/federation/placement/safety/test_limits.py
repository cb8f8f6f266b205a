"""Safety may veto or shrink a change, and never enlarges one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.safety.limits import Allowance, Change, shrink

NAMES = ("a", "b", "c")
FREE = Allowance(moves=100, step_down=None, disruptions={}, paused=False)


def change(
    before: list[int], target: list[int], scores: list[float] | None = None, told: list[bool] | None = None
) -> Change:
    """A change over the first clusters of NAMES."""
    size = len(before)
    return Change(
        NAMES[:size],
        np.array(before, dtype=np.int64),
        np.array(target, dtype=np.int64),
        np.array(scores or [0.9 - at / 10 for at in range(size)]),
        np.array(told or [False] * size),
    )


def shrunk(asked: Change, **fields: object) -> tuple[list[int], tuple[str, ...]]:
    """The outcome with some limits."""
    allowed = Allowance(**{"moves": 100, "step_down": None, "disruptions": {}, "paused": False, **fields})  # type: ignore[arg-type]
    target, said = shrink(asked, allowed)
    return target.tolist(), said


def test_without_limits_the_change_stands() -> None:
    assert shrunk(change([3, 0, 1], [0, 4, 0])) == ([0, 4, 0], ())


def test_the_kill_switch_holds_everything_but_what_a_person_said() -> None:
    assert shrunk(change([3, 0], [0, 3]), paused=True) == ([3, 0], ("placement is paused: nothing is placed or moved",))
    assert shrunk(change([3, 0], [3, 0]), paused=True) == ([3, 0], ())
    assert shrunk(change([3, 0], [0, 3], told=[True, False]), paused=True)[0] == [0, 0]


def test_no_more_moves_than_the_hour_has_left() -> None:
    target, said = shrunk(change([6, 0, 0], [0, 4, 2]), moves=2)
    assert (target, said) == ([4, 2, 0], ("4 of 6 moves wait: 2 left in this hour",))
    assert shrunk(change([6, 0], [0, 6]), moves=-3)[0] == [6, 0]


def test_growing_and_shrinking_are_no_moves() -> None:
    assert shrunk(change([1, 0], [5, 4]), moves=0) == ([5, 4], ())
    assert shrunk(change([5, 4], [1, 0]), moves=0) == ([1, 0], ())
    assert shrunk(change([5, 0], [1, 2]), moves=0) == ([3, 0], ("2 of 2 moves wait: 0 left in this hour",))


def test_the_worst_growth_is_given_up_first_and_the_best_place_is_kept() -> None:
    asked = change([3, 3, 0], [0, 0, 6], scores=[0.8, 0.2, 0.9])
    assert shrunk(asked, moves=2)[0] == [3, 1, 2]


def test_at_most_so_many_fewer_at_once_and_nothing_extra_elsewhere() -> None:
    target, said = shrunk(change([10, 0], [0, 10]), step_down=3)
    assert (target, said) == ([7, 3], ("at most 3 instances fewer at once in a",))
    assert shrunk(change([10, 0], [4, 0]), step_down=3)[0] == [7, 0]


def test_a_disruption_budget_is_kept_per_cluster() -> None:
    target, said = shrunk(change([4, 4, 0], [0, 0, 8]), disruptions={"a": 1})
    assert (target, said) == ([3, 0, 5], ("its disruption budget allows no more in a",))


def test_a_persons_word_is_exempt_from_moves_and_steps() -> None:
    asked = change([6, 0], [0, 6], told=[True, False])
    assert shrunk(asked, moves=0, step_down=1) == ([0, 6], ())


counts = st.lists(st.integers(0, 9), min_size=3, max_size=3)


@settings(max_examples=100, deadline=None)
@given(
    counts,
    counts,
    st.integers(-1, 12),
    st.none() | st.integers(0, 5),
    st.dictionaries(st.sampled_from(NAMES), st.integers(0, 5)),
)
def test_never_more_than_asked_in_any_cluster_and_never_a_larger_change(
    before: list[int], target: list[int], moves: int, step: int | None, budget: dict[str, int]
) -> None:
    asked = change(before, target)
    result, said = shrink(asked, Allowance(moves, step, budget, paused=False))
    low, high = np.minimum(asked.before, asked.target), np.maximum(asked.before, asked.target)
    assert (result >= low).all()
    assert (result <= high).all()
    fewer, more = np.maximum(asked.before - result, 0), np.maximum(result - asked.before, 0)
    assert min(fewer.sum(), more.sum()) <= max(moves, 0)
    assert step is None or (fewer <= step).all()
    assert all(fewer[NAMES.index(name)] <= limit for name, limit in budget.items())
    assert bool(said) == bool((result != asked.target).any())


@pytest.mark.parametrize("score", [[0.5, 0.5, 0.5], [0.1, 0.9, 0.5]])
def test_the_answer_is_the_same_every_time(score: list[float]) -> None:
    asked = change([5, 5, 0], [2, 2, 6], scores=score)
    first = shrink(asked, Allowance(3, 2, {}, paused=False))
    second = shrink(asked, Allowance(3, 2, {}, paused=False))
    assert first[0].tolist() == second[0].tolist()

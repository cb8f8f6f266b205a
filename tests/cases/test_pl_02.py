"""Division adds up: largest remainder, within the room, the same every time, and fair over many functions."""

import subprocess
import sys

import pytest

from federation.placement.divide.division import divide

NAMES = ("a", "b", "c")


def _divided(total: int, weights: list[float], room: list[int] | None = None, key: str = "shop/f0") -> list[int]:
    counts: list[int] = divide(total, weights, room, key=key, names=NAMES[: len(weights)]).tolist()
    return counts


def test_ten_over_three_equals_is_four_three_three_in_some_order() -> None:
    assert sorted(_divided(10, [1, 1, 1])) == [3, 3, 4]


@pytest.mark.parametrize(
    ("total", "weights", "room", "right"),
    [
        pytest.param(2, [2, 1], None, [1, 1], id="1.33-and-0.67-round-to-one-each"),
        pytest.param(5, [0, 0], None, [0, 0], id="no-weight-anywhere-is-refused"),
        pytest.param(0, [1, 1], None, [0, 0], id="nothing-to-divide"),
        pytest.param(3, [1, 1], [1, 9], [1, 2], id="room-of-one-takes-one"),
        pytest.param(7, [3, 0, 1], None, [5, 0, 2], id="no-weight-gets-nothing"),
    ],
)
def test_the_documented_answers(total: int, weights: list[float], room: list[int] | None, right: list[int]) -> None:
    assert _divided(total, weights, room) == right


def test_a_hundred_times_the_same_and_the_same_after_a_restart() -> None:
    first = _divided(10, [1, 1, 1])
    assert all(_divided(10, [1, 1, 1]) == first for _ in range(100))
    code = (
        "from federation.placement.divide.division import divide;"
        "print(divide(10, [1, 1, 1], key='shop/f0', names=('a', 'b', 'c')).tolist())"
    )
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert again.stdout.strip() == str(first)


def test_over_thirty_functions_the_extra_one_does_not_always_go_to_a() -> None:
    extra = [_divided(10, [1, 1, 1], key=f"shop/f{number}").index(4) for number in range(30)]
    assert {extra.count(at) > 3 for at in range(3)} == {True}

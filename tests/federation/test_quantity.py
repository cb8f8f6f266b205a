"""Kubernetes quantities: the grammar, exact values, rounding for and against us, and spelling them again."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.quantity import (
    CEILING,
    LARGEST,
    QuantityError,
    format_quantity,
    offered,
    parse_quantity,
    requested,
    rounded_down,
    rounded_up,
)

SUFFIXES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4}


@given(number=st.integers(0, 10**9), decimals=st.integers(0, 6), suffix=st.sampled_from(sorted(SUFFIXES)))
def test_decimal_numbers_are_exact(number: int, decimals: int, suffix: str) -> None:
    whole, fraction = divmod(number, 10**decimals)
    text = f"{whole}.{fraction:0{decimals}d}" if decimals else str(number)
    assert parse_quantity(text + suffix) == Fraction(number, 10**decimals) * Fraction(10) ** SUFFIXES[suffix]


@given(number=st.integers(0, 4096), suffix=st.sampled_from(sorted(BINARY)))
def test_binary_numbers_are_exact(number: int, suffix: str) -> None:
    assert parse_quantity(f"{number}{suffix}") == number * 1024 ** BINARY[suffix]


@given(number=st.integers(-(10**6), 10**6), exponent=st.integers(-9, 9))
def test_exponents_in_either_case(number: int, exponent: int) -> None:
    expected = number * Fraction(10) ** exponent
    assert parse_quantity(f"{number}e{exponent}") == expected
    assert parse_quantity(f"{number}E{exponent:+d}") == expected


@pytest.mark.parametrize(
    ("text", "value"), [(".5", "1/2"), ("5.", "5"), ("+3", "3"), ("-.25", "-1/4"), ("1e-3", "1/1000")]
)
def test_corners_of_the_grammar(text: str, value: str) -> None:
    assert parse_quantity(text) == Fraction(value)


@pytest.mark.parametrize(
    "text", [".", "-", "1e", "1e1.5", "1mm", "1Mi1", "١", "1 ", " 1", "0x10", "nan", "inf", "1e9999", "1" * 65, "1\n"]
)
def test_nearly_quantities_are_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(text)


def test_magnitudes_beyond_the_api_servers_are_its_largest() -> None:
    assert parse_quantity("10E") == LARGEST
    assert parse_quantity("1e300") == LARGEST
    assert parse_quantity("8Ei") == LARGEST


def test_a_lying_node_cannot_overflow_the_sum_of_a_fleet() -> None:
    assert offered("memory", "7E") == CEILING
    assert requested("cpu", "7E") == CEILING
    assert CEILING * 8_000 < 1 << 63


def test_requests_round_up_and_offers_down() -> None:
    assert requested("cpu", "1n") == 1
    assert offered("cpu", "1999u") == 1
    assert requested("memory", "1.5") == 2
    assert offered("memory", "1.5") == 1
    assert requested("requests.cpu", "0.1") == 100
    assert offered("limits.cpu", "2") == 2000


def test_zero_with_a_sign_is_zero_and_a_little_less_is_refused() -> None:
    assert requested("memory", "-0") == 0
    with pytest.raises(QuantityError, match=r"'-0\.5'"):
        requested("memory", "-0.5")
    with pytest.raises(QuantityError, match="there cannot be less than none of pods"):
        offered("pods", "-1")


def test_numbers_of_yaml_are_quantities_and_other_values_are_not() -> None:
    assert requested("cpu", 2) == 2000
    assert requested("cpu", 0.25) == 250
    refused: tuple[object, ...] = (True, None, [], {"cpu": 1})
    for raw in refused:
        with pytest.raises(QuantityError):
            requested("cpu", raw)


@given(text=st.integers(-(10**12), 10**12).map(lambda n: f"{n}u"))
def test_rounding_brackets_the_value(text: str) -> None:
    assert 0 <= rounded_up(text) - parse_quantity(text) < 1
    assert 0 <= parse_quantity(text) - rounded_down(text) < 1


@given(amount=st.integers(0, CEILING), resource=st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu"]))
def test_what_is_spelled_reads_back(amount: int, resource: str) -> None:
    assert requested(resource, format_quantity(resource, amount)) == amount
    assert offered(resource, format_quantity(resource, amount)) == amount


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 250, "250m"),
        ("cpu", 2000, "2"),
        ("memory", 1536 << 20, "1536Mi"),
        ("memory", 1 << 40, "1Ti"),
        ("memory", 1000, "1000"),
        ("pods", 110, "110"),
        ("memory", 0, "0"),
    ],
)
def test_spelling_is_the_usual_one(resource: str, amount: int, text: str) -> None:
    assert format_quantity(resource, amount) == text

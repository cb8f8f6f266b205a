"""Reported: quantities read by hand (1E as an exponent, n and u unknown) put nodes at a millionth of their size."""

from __future__ import annotations

from fractions import Fraction

import pytest

from federation.quantity import QuantityError, parse_quantity, requested

READS = {
    "100m": "0.1",
    "0.5": "0.5",
    "2": "2",
    "156340n": "0.00015634",
    "250u": "0.00025",
    "1e3": "1000",
    "1E3": "1000",
    "1E": "1000000000000000000",
    "128974848": "128974848",
    "129e6": "129000000",
    "129M": "129000000",
    "128974848000m": "128974848",
    "123Mi": "128974848",
    "1.5Gi": "1610612736",
    "2k": "2000",
    "1Ti": "1099511627776",
    "0": "0",
    "-1": "-1",
}


@pytest.mark.parametrize(("text", "value"), READS.items())
def test_each_quantity_is_read_exactly(text: str, value: str) -> None:
    assert parse_quantity(text) == Fraction(value)


@pytest.mark.parametrize("text", ["12 Mi", "Mi", "", "1.2.3", "ten", "1KiB"])
def test_what_is_no_quantity_is_one_error_that_names_the_text(text: str) -> None:
    with pytest.raises(QuantityError, match="must be a quantity") as caught:
        parse_quantity(text)
    assert caught.value.text == text
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("resource", ["cpu", "memory", "pods"])
def test_less_than_nothing_parses_but_cannot_be_asked_for(resource: str) -> None:
    assert parse_quantity("-1") == -1
    with pytest.raises(QuantityError, match=f"a request of {resource} must be 0 or more"):
        requested(resource, "-1")

"""Quantities of Kubernetes ("250m", "1.5Gi", "1e3"), exactly: no float takes part, so sums over a fleet stay true.

The grammar is a signed decimal number with a binary suffix (Ki to Ei), a decimal one (n, u, m, k, M, G, T, P, E) or an
exponent; "1E" is an exa and "1E3" a thousand. As in the API server a magnitude above 2^63 - 1 counts as that. What is
asked for is rounded up to a whole base unit, what is offered is rounded down.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from prewarm.domain import InputError

LARGEST = (1 << 63) - 1
CEILING = 1 << 50
"""Most of one amount that is counted (a pebibyte), so that the sum over ten thousand nodes stays a 64-bit number."""
MILLI = 1_000
CPU_RESOURCES = frozenset({"cpu", "requests.cpu", "limits.cpu"})
"""Names whose base unit is a thousandth; every other resource is counted in whole bytes or pieces."""

_NUMBER = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?\d{1,3}))?", re.ASCII)
_LONGEST = 64
_BINARY = {f"{letter}i": 1 << (10 * power) for power, letter in enumerate("KMGTPE", start=1)}
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL = {letter: Fraction(10) ** power for letter, power in _POWERS.items()}
_SCALE: dict[str, Fraction] = {**_DECIMAL, **{suffix: Fraction(size) for suffix, size in _BINARY.items()}}


class QuantityError(InputError):
    """A text that is no quantity, or one that cannot be asked for; `text` is what was given."""

    def __init__(self, text: str, rule: str = "must be a quantity such as 250m, 2 or 1.5Gi") -> None:
        super().__init__(f"quantity {text[:_LONGEST]!r}: {rule}")
        self.text = text


@lru_cache(maxsize=8_192)
def parse_quantity(text: str) -> Fraction:
    """The exact value in base units (cores, bytes, pieces). QuantityError names the text."""
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise QuantityError(text)
    sign, digits, suffix, exponent = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SCALE[suffix] if suffix else 1
    value = min(Fraction(digits) * scale, Fraction(LARGEST))
    return -value if sign == "-" else value


@lru_cache(maxsize=8_192)
def rounded_up(text: str, scale: int = 1) -> int:
    """`text` times `scale`, up to the next whole number."""
    value = parse_quantity(text) * scale
    return -(-value.numerator // value.denominator)


@lru_cache(maxsize=8_192)
def rounded_down(text: str, scale: int = 1) -> int:
    """`text` times `scale`, down to the next whole number."""
    value = parse_quantity(text) * scale
    return value.numerator // value.denominator


def requested(resource: str, raw: object) -> int:
    """What is asked of `resource`, in our base unit, rounded up; QuantityError where it is negative or unreadable."""
    text = _text(raw)
    amount = rounded_up(text, _scale_of(resource))
    if text.startswith("-") and parse_quantity(text) < 0:
        raise QuantityError(text, f"a request of {resource} must be 0 or more")
    return min(amount, CEILING)


def offered(resource: str, raw: object) -> int:
    """What there is of `resource`, in our base unit, rounded down; QuantityError where it is negative or unreadable."""
    text = _text(raw)
    amount = rounded_down(text, _scale_of(resource))
    if amount < 0:
        raise QuantityError(text, f"there cannot be less than none of {resource}")
    return min(amount, CEILING)


def format_quantity(resource: str, amount: int) -> str:
    """The shortest usual spelling of an amount in our base unit: "250m", "2", "1536Mi"; it parses back exactly."""
    if resource in CPU_RESOURCES:
        return str(amount // MILLI) if amount % MILLI == 0 else f"{amount}m"
    for suffix, size in reversed(_BINARY.items()):
        if amount and amount % size == 0:
            return f"{amount // size}{suffix}"
    return str(amount)


def _scale_of(resource: str) -> int:
    return MILLI if resource in CPU_RESOURCES else 1


def _text(raw: object) -> str:
    """YAML makes numbers of plain quantities; `true` is none."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return repr(raw)
    raise QuantityError(str(raw))

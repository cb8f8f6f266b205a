"""Laws of the start-up time of an instance, and the ones that the latency benchmark names (A3.3).

A law is drawn from a generator that the caller owns, and gives the quantiles that a lead time is made of.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from prewarm.domain import FloatArray, InputError

_Z99 = 2.3263478740408408  # standard normal quantile at 0.99
_LANGUAGE = re.compile(r"[^0-9(]+")


class StartLaw(Protocol):
    """How long an instance takes from the order to its first request."""

    def draw(self, rng: np.random.Generator, count: int) -> FloatArray:
        """`count` start-up times in seconds."""
        ...

    def quantile(self, level: float) -> float:
        """The start-up time in seconds that a share `level` of the starts stays under."""
        ...


@dataclass(frozen=True, slots=True)
class ConstantStart:
    """Every start takes the same time."""

    seconds: float

    def draw(self, rng: np.random.Generator, count: int) -> FloatArray:  # noqa: ARG002 - the protocol's shape
        """`count` times the constant."""
        return np.full(count, self.seconds)

    def quantile(self, level: float) -> float:  # noqa: ARG002 - the protocol's shape
        """The constant."""
        return self.seconds


@dataclass(frozen=True, slots=True)
class LogNormalStart:
    """exp(Normal(mu, sigma)) seconds."""

    mu: float
    sigma: float

    @classmethod
    def of_mean_sd(cls, mean_s: float, sd_s: float) -> LogNormalStart:
        """The law with this mean and standard deviation."""
        variance = math.log1p((sd_s / mean_s) ** 2)
        return cls(math.log(mean_s) - variance / 2, math.sqrt(variance))

    @classmethod
    def of_mean_p99(cls, mean_s: float, p99_s: float) -> LogNormalStart:
        """The law with this mean and 99th percentile: the smaller root of ln(p99/mean) = z s - s^2/2."""
        ratio = math.log(p99_s / mean_s)
        if not 0 <= 2 * ratio <= _Z99**2:
            raise InputError(f"start law: no log-normal has mean {mean_s} s and 99th percentile {p99_s} s")
        sigma = _Z99 - math.sqrt(_Z99**2 - 2 * ratio)
        return cls(math.log(mean_s) - sigma**2 / 2, sigma)

    def draw(self, rng: np.random.Generator, count: int) -> FloatArray:
        """`count` independent draws."""
        return rng.lognormal(self.mu, self.sigma, count)

    def quantile(self, level: float) -> float:
        """The quantile at `level`."""
        from scipy.special import ndtri

        return math.exp(self.mu + self.sigma * float(ndtri(level)))


@dataclass(frozen=True, slots=True)
class MeasuredStart:
    """Draws with replacement from measured times; seconds: (n,)."""

    seconds: FloatArray

    def draw(self, rng: np.random.Generator, count: int) -> FloatArray:
        """`count` measured times."""
        return rng.choice(self.seconds, count)

    def quantile(self, level: float) -> float:
        """The measured quantile at `level`."""
        return float(np.quantile(self.seconds, level))


def measured_by_language(path: Path) -> dict[str, MeasuredStart]:
    """Init times of lambda-perf's table by language: the runtime's name without its version (columns runtime, init_ms).

    Rows without a finite positive time are left out; a table without any is an InputError.
    """
    found: dict[str, list[float]] = {}
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            seconds = _milliseconds(row.get("init_ms")) / 1000
            if math.isfinite(seconds) and seconds > 0:
                found.setdefault(_language(row.get("runtime") or ""), []).append(seconds)
    if not found:
        raise InputError(f"{path}: no row with a runtime and an init_ms above 0")
    return {language: MeasuredStart(np.asarray(found[language])) for language in sorted(found)}


def _language(runtime: str) -> str:
    """`python3.12` -> python, `graalvm java17 (prov.al2)` -> graalvm java: what comes before a digit or a bracket."""
    found = _LANGUAGE.match(runtime)
    return found.group().strip() if found else "unknown"


def _milliseconds(text: str | None) -> float:
    try:
        return float(text) if text else math.nan
    except ValueError:
        return math.nan

"""Calls of a synthetic fleet, minute by minute: a pure function of seed and minute, so a restart just goes on.

Two hundred functions of ten teams with the shapes that production shows: timers, working days with a lunch dip and
quiet weekends, evenings, bursts, rare calls, and chains in which one function calls the next. A whole day is drawn at
once from (seed, day); nothing has to be remembered between minutes. All numbers are made up and labelled as simulated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from prewarm.domain import FloatArray, FunctionKey, IntArray
from prewarm.settings import Call

DAY_MIN = 1440

TEAMS = ("auth", "data", "iot", "mail", "maps", "media", "ops", "pay", "search", "shop")
JOBS = (
    ("gateway", "web"), ("checkout", "chain"), ("stock", "chain"), ("invoice", "chain"), ("session", "web"),
    ("profile", "evening"), ("report", "timer"), ("cleanup", "timer"), ("heartbeat", "timer"), ("sync", "timer"),
    ("export", "rare"), ("import", "rare"), ("resize", "burst"), ("notify", "burst"), ("webhook", "rare"),
    ("audit", "timer"), ("predict", "evening"), ("index", "rare"), ("backup", "timer"), ("legacy", "once"),
)  # fmt: skip
PERIODS_MIN = np.array([1, 5, 5, 10, 15, 15, 30, 60, 60, 120, 360])
CHAIN = ("gateway", "checkout", "stock", "invoice")


@dataclass(frozen=True, slots=True)
class Population:
    """The functions of the world, one row each: what they are called, and how heavy they are."""

    keys: tuple[FunctionKey, ...]
    kinds: tuple[str, ...]
    size: FloatArray
    """Mean calls a minute at the busiest time of day."""
    duration_s: FloatArray
    memory_mib: FloatArray
    start_s: FloatArray
    period_min: IntArray
    phase_min: IntArray
    graph: tuple[Call, ...]


@lru_cache(maxsize=4)
def population(seed: int, functions: int = 200) -> Population:
    """The functions of the world with this seed."""
    rng = np.random.default_rng([seed, 1])
    names = [(f"{team}/{job}", kind) for job, kind in JOBS for team in TEAMS]
    names += [(f"extra-{i // 50}/job-{i % 50}", JOBS[i % len(JOBS)][1]) for i in range(max(0, functions - len(names)))]
    keys = tuple(FunctionKey(name) for name, _ in names[:functions])
    kinds = tuple(kind for _, kind in names[:functions])
    n = len(keys)
    period = rng.choice(PERIODS_MIN, n)
    return Population(
        keys=keys,
        kinds=kinds,
        size=np.clip(rng.lognormal(4.2, 1.1, n), 1.0, 2_000.0),
        duration_s=np.clip(rng.lognormal(-0.7, 0.8, n), 0.02, 20.0),
        memory_mib=rng.choice([128.0, 256.0, 256.0, 512.0, 1024.0], n),
        start_s=np.clip(rng.lognormal(0.8, 0.6, n), 0.3, 30.0),
        period_min=period,
        phase_min=rng.integers(0, 360, n) % period,
        graph=_graph(keys, rng),
    )


def _graph(keys: tuple[FunctionKey, ...], rng: np.random.Generator) -> tuple[Call, ...]:
    present = set(keys)
    edges = []
    for team in TEAMS:
        for caller, callee in pairwise(CHAIN):
            share, delay = float(np.round(rng.uniform(0.2, 0.8), 2)), float(np.round(rng.uniform(0.5, 20.0), 1))
            if {f"{team}/{caller}", f"{team}/{callee}"} <= present:
                edges.append(Call(f"{team}/{caller}", f"{team}/{callee}", calls_per_invocation=share, delay_s=delay))
    return tuple(edges)


def day_counts(seed: int, functions: int, day: int) -> IntArray:
    """Calls of every function in every minute of `day` (days since the epoch, UTC): (n, 1440)."""
    people = population(seed, functions)
    rng = np.random.default_rng([seed, 2, day])
    weekday = (day + 3) % 7  # 1970-01-01 was a Thursday
    rates = np.stack([_rate(people, row, weekday, rng) for row in range(len(people.keys))])
    counts: IntArray = rng.poisson(rates).astype(np.int64)
    minutes = np.arange(day * DAY_MIN, (day + 1) * DAY_MIN)
    for row, kind in enumerate(people.kinds):
        if kind == "timer":
            counts[row] = (minutes % people.period_min[row] == people.phase_min[row]).astype(np.int64)
    rows = {key: row for row, key in enumerate(people.keys)}
    for edge in people.graph:
        caller, callee = rows[FunctionKey(edge.caller)], rows[FunctionKey(edge.callee)]
        counts[callee] += rng.binomial(counts[caller], edge.calls_per_invocation)
    return counts


def _rate(people: Population, row: int, weekday: int, rng: np.random.Generator) -> FloatArray:
    """Expected calls in each minute of the day, (1440,)."""
    hour = np.arange(DAY_MIN) / 60.0
    size, kind = float(people.size[row]), people.kinds[row]
    if kind == "web":
        weekend = 0.35 if weekday >= 5 else 1.0
        working = np.exp(-(((hour - 10.5) / 2.6) ** 2)) + 0.85 * np.exp(-(((hour - 15.5) / 2.8) ** 2))
        return size * weekend * (0.04 + working)
    if kind == "evening":
        weekend = 1.4 if weekday >= 5 else 1.0
        return 0.5 * size * weekend * (0.03 + np.exp(-(((hour - 20.5) / 2.2) ** 2)))
    if kind == "burst":
        rate = np.full(DAY_MIN, 0.02)
        for start in rng.integers(0, DAY_MIN, rng.poisson(5)):
            rate[start : start + int(rng.integers(3, 25))] += size
        return rate
    if kind == "rare":
        return np.full(DAY_MIN, min(size, 40.0) / 600.0)
    if kind == "once":
        return np.full(DAY_MIN, 0.3 / DAY_MIN)
    return np.zeros(DAY_MIN)

"""One tick: collect, score the minute that ended, forecast, decide, act, record; each phase timed.

Deciding is `prewarm.control.decide` over columns, run beside the event loop so that reads go on. What is missing is
held there, so a source that fell silent or a clock that jumped changes nothing here: the same code runs, and the
metrics say how much was held.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from prewarm.control import DATA_STATES, Because, FleetState, TickDecisions, decide
from prewarm.domain import (
    Applier,
    Decision,
    FunctionKey,
    Int32Array,
    IntArray,
    Mode,
    PolicyTag,
)
from prewarm.history import HitView
from prewarm.loop.fleet import Fleet
from prewarm.loop.track import Outlook
from prewarm.loop.view import ModeTable, TickView
from prewarm.policy.pool import Levels


@dataclass(frozen=True, slots=True)
class Chances:
    """P(N >= k) of every function for the coming step, who said so, and what the plain rule would have said."""

    levels: Levels
    tag: PolicyTag
    model: str
    rule: Levels | None = None
    because: Because | None = None
    """Whoever can say more about a function's chances."""


class Oracle(Protocol):
    """Answers with chances for the coming step; never raises for data, and falls back to the plain rule by itself."""

    @property
    def window_min(self) -> int:
        """How many minutes of hits it wants to see."""
        ...

    async def chances(self, view: HitView, now: float) -> Chances:
        """The chances of every function in `view` for the minute that begins at `now`."""
        ...


class Source(Protocol):
    """Something that is asked for counts at each tick."""

    async def collect(self, now: float) -> None:
        """Write what is known of the minutes before `now` into the history."""
        ...


class Platform(Protocol):
    """Where instances run: how many are warm, and a way to change that."""

    def warm(self, keys: Sequence[FunctionKey]) -> Int32Array:
        """Instances that are ready or starting, (n,)."""
        ...


class Divider(Protocol):
    """Divides what a tick decided over clusters."""

    async def divide(self, view: TickView) -> tuple[Decision, ...]:
        """What changes in each cluster; each names in `inputs["of_decision"]` the decision that it is a part of."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What a tick is made of; handed in by the command."""

    sources: tuple[Source, ...]
    platform: Platform
    oracle: Oracle
    applier: Applier
    lag_min: int
    """Minutes that sources may lag behind; the last minute is scored this much later."""
    divider: Divider | None = None
    """Where instances run in several clusters: what is carried out are then the parts, not the totals."""


async def run_tick(fleet: Fleet, parts: Parts, now: float) -> TickView:
    """One whole tick at `now`; the new view is already in place when it returns."""
    timed = Phases(fleet)
    with timed.phase("collect"):
        for source in parts.sources:
            await source.collect(now)
        fleet.history.advance(int(now // 60))
    with timed.phase("score"):
        _score(fleet, int(now // 60) - 1 - parts.lag_min)
    with timed.phase("forecast"):
        seen = fleet.history.sparse(int(now // 60), parts.oracle.window_min)
        chances = await parts.oracle.chances(seen, now)
    with timed.phase("decide"):
        state = _state(fleet, parts.platform, now)
        overrides = fleet.active_overrides(now)
        policy, mode = fleet.policy_table().at(now), fleet.told.modes.default
        levels, tags = _shared(chances, state, fleet.told.modes.learned_share)
        made = await asyncio.to_thread(
            decide,
            state,
            policy,
            levels=levels,
            overrides=overrides,
            now=now,
            mode=mode,
            tag=chances.tag,
            because=chances.because,
        )
        made = _paused(made, fleet.told.modes)
        if fleet.view is None:
            seen = fleet.history.sparse(int(now // 60), int(fleet.history.retention.minute_days * 1440))
        view = _view(fleet, made, chances, tags=tags, last_call=_last_calls(seen))
    with timed.phase("act"):
        changed = await asyncio.to_thread(view.changed)
        divided = () if parts.divider is None else await parts.divider.divide(view)
        carried = changed if parts.divider is None else divided
        applied = await parts.applier.apply(tuple(one for one in carried if one.mode is Mode.ACTIVE))
        applied |= _whole(changed, divided, applied)
        news = tuple(replace(one, applied=True) if one.id in applied else one for one in (*changed, *divided))
        view = replace(view, applied=applied, news=news)
    fleet.track.decided(int(now // 60), made.to_count, view.outlook)
    fleet.view = view
    _count(fleet, view)
    return view


def _whole(changed: Sequence[Decision], divided: Sequence[Decision], applied: frozenset[str]) -> frozenset[str]:
    """The decisions of which every part was carried out."""
    parts: dict[object, list[bool]] = {}
    for one in divided:
        parts.setdefault(one.inputs.get("of_decision"), []).append(one.id in applied)
    return frozenset(one.id for one in changed if all(parts.get(one.id, [False])))


class Phases:
    """Times the phases of a tick into the metrics."""

    def __init__(self, fleet: Fleet) -> None:
        self._metrics = fleet.metrics

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Everything inside is of this phase."""
        started = time.perf_counter()
        yield
        self._metrics.tick.labels(name).observe(time.perf_counter() - started)


def _score(fleet: Fleet, minute: int) -> None:
    if not len(fleet.history):
        return
    columns = fleet.policy_table().columns
    closed = fleet.track.needed(minute, fleet.used_in(minute), columns.memory_gb)
    if closed is None:
        return
    sides = (("prewarm", closed.cold, closed.waste_gb_s), ("ka10", closed.cold_ka10, closed.waste_ka10_gb_s))
    for policy, cold, waste in sides:
        fleet.metrics.cold.labels(policy).inc(cold)
        fleet.metrics.waste.labels(policy).inc(waste)
    fleet.metrics.warm.labels("prewarm").set(closed.warm)
    fleet.metrics.warm.labels("ka10").set(closed.warm_ka10)


def _state(fleet: Fleet, platform: Platform, now: float) -> FleetState:
    keys = fleet.keys
    data, age_s = fleet.history.data_state(now)
    lower_since = np.full(len(keys), np.nan)
    if fleet.view is not None:
        before = fleet.view.decisions.lower_since
        lower_since[: len(before)] = before
    return FleetState(
        keys, fleet.rows, platform.warm(keys), data.astype(np.int32), age_s.astype(np.float64), lower_since
    )


def _paused(made: TickDecisions, modes: ModeTable) -> TickDecisions:
    """Functions whose mode is `paused` keep what they have, whatever would be decided."""
    if Mode.PAUSED not in (modes.default, *modes.namespaces.values()):
        return made
    paused = np.array([modes.of(key) is Mode.PAUSED for key in made.state.keys], dtype=np.bool_)
    return replace(made, to_count=np.where(paused, made.state.warm, made.to_count).astype(np.int32))


@dataclass(frozen=True, slots=True)
class _Mixed:
    row: Int32Array
    level: Int32Array
    p: np.ndarray[tuple[int], np.dtype[np.float32]]


def _shared(
    chances: Chances, state: FleetState, learned_share: Mapping[str, float]
) -> tuple[Levels, dict[int, PolicyTag]]:
    """Levels where functions outside the learned share of their namespace are the plain rule's, and their tags."""
    if chances.rule is None or chances.tag.rule_decided or all(share >= 1 for share in learned_share.values()):
        return chances.levels, {}
    tags = {}
    for row, key in enumerate(state.keys):
        namespace = key.partition("/")[0]
        share = learned_share.get(namespace, 1.0)
        if share < 1 and place_of(key) >= share:
            why = f"learned_share of {namespace} is {share:g}"
            tags[row] = replace(chances.tag, rule_decided=True, why=why)
    by_rule = np.zeros(len(state.keys), dtype=np.bool_)
    by_rule[list(tags)] = True
    parts = [(chances.levels, ~by_rule), (chances.rule, by_rule)]
    columns = [
        np.concatenate([np.asarray(getattr(levels, name))[chosen[np.asarray(levels.row)]] for levels, chosen in parts])
        for name in ("row", "level", "p")
    ]
    order = np.lexsort((columns[1], columns[0]))
    return _Mixed(columns[0][order], columns[1][order], columns[2][order]), tags


def place_of(key: str) -> float:
    """Where a function stands between 0 and 1, for good: a share takes those below it."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=7).digest(), "big") / float(1 << 56)


def _view(
    fleet: Fleet, made: TickDecisions, chances: Chances, *, tags: Mapping[int, PolicyTag], last_call: IntArray
) -> TickView:
    before = fleet.view
    if before is not None:
        known = len(before.last_call)
        last_call[:known] = np.maximum(last_call[:known], before.last_call)
    return TickView(
        sequence=1 if before is None else before.sequence + 1,
        now=made.now,
        decisions=made,
        outlook=outlook_of(made.levels, len(made.to_count)),
        last_call=last_call,
        model=chances.model,
        modes=fleet.told.modes,
        tags=tags,
        held_before=np.zeros(0, np.bool_) if before is None else before.decisions.held,
    )


def outlook_of(levels: Levels, n: int) -> Outlook:
    """Mean and the 10 % and 90 % quantiles of the need, from its levels: E[N] is the sum of P(N >= k)."""
    row, p = np.asarray(levels.row), np.asarray(levels.p, dtype=np.float64)
    p = np.where(np.isfinite(p), np.clip(p, 0, 1), 0.0)
    mean = np.bincount(row, weights=p, minlength=n).astype(np.float64)
    low = np.bincount(row[p > 0.9], minlength=n).astype(np.int32)
    high = np.bincount(row[p > 0.1], minlength=n).astype(np.int32)
    return Outlook(mean, low, high)


def _last_calls(seen: HitView) -> IntArray:
    ends = seen.indptr[1:]
    found = ends > seen.indptr[:-1]
    last = np.full(len(seen), -1, dtype=np.int64)
    last[found] = seen.hit_minute[ends[found] - 1]
    return last


def _count(fleet: Fleet, view: TickView) -> None:
    metrics, tick = fleet.metrics, view.decisions
    change = tick.to_count - tick.state.warm
    kinds = {"up": change > 0, "down": change < 0, "same": change == 0}
    for kind, rows in kinds.items():
        metrics.decisions.labels(kind).inc(int((rows & ~tick.held).sum()))
    metrics.decisions.labels("held").inc(int(tick.held.sum()))
    for code, state in enumerate(DATA_STATES):
        metrics.holds.labels(f"data_{state}").inc(int((tick.held & ~tick.invalid & (tick.state.data == code)).sum()))
    metrics.holds.labels("forecast_invalid").inc(int(tick.invalid.sum()))
    for name, number in view.data_counts().items():
        metrics.functions.labels(name).set(number)
    ages = tick.state.data_age_s[np.isfinite(tick.state.data_age_s)]
    if len(ages):
        metrics.data_age.labels("max").set(float(ages.max()))
        metrics.data_age.labels("median").set(float(np.median(ages)))
    metrics.decided.labels("rule" if tick.tag.rule_decided else "model").inc()
    fleet.count_overrides(view.now)

"""The made-up world: the same for a seed, whole days at a time, obedient to decisions, honest about silence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
import pytest

from prewarm.collect.push import Event
from prewarm.domain import Decision, Mode, PolicyTag
from prewarm.history import History, Retention
from prewarm.sim.world import KEEP_ALIVE_MIN, SILENT_EVERY_MIN, SILENT_MIN, World
from prewarm.sim.world_calls import DAY_MIN, day_counts, population

START = 29_900_000


class Ears:
    """Hears what the gateways push."""

    def __init__(self) -> None:
        self.heard: dict[tuple[str, int], list[Event]] = {}

    async def __call__(self, source: str, sequence: int, events: Sequence[Event]) -> None:
        self.heard[source, sequence] = list(events)


def world(seed: int = 3, functions: int = 200) -> tuple[World, Ears]:
    made, ears = World(seed, START, functions=functions), Ears()
    made.connect(ears)
    made.begin()
    return made, ears


def decision(world: World, row: int, to_count: int) -> Decision:
    key = world.people.keys[row]
    return Decision(
        f"id-{row}", 0.0, key, None, 0, to_count, False, Mode.ACTIVE, PolicyTag("t", "1"), inputs={}, reasons=()
    )


def test_a_seed_is_a_world() -> None:
    assert (day_counts(3, 200, 20_000) == day_counts(3, 200, 20_000)).all()
    assert (day_counts(3, 200, 20_000) != day_counts(4, 200, 20_000)).any()
    assert population(3).keys == population(4).keys
    assert len(set(population(3).keys)) == 200


def test_weekends_are_quiet_at_the_gateways() -> None:
    rows = [row for row, kind in enumerate(population(3).kinds) if kind == "web"]
    monday, sunday = (date(2026, 11, day).toordinal() - date(1970, 1, 1).toordinal() for day in (30, 29))
    assert day_counts(3, 200, sunday)[rows].sum() < 0.6 * day_counts(3, 200, monday)[rows].sum()


def test_timers_come_on_time() -> None:
    people, counts = population(3), day_counts(3, 200, 20_000)
    for row, kind in enumerate(people.kinds):
        if kind == "timer":
            gaps = np.diff(np.flatnonzero(counts[row]))
            assert (gaps == people.period_min[row]).all()


def test_callees_run_when_their_callers_do() -> None:
    people, counts = population(3), day_counts(3, 200, 20_000)
    rows = {str(key): row for row, key in enumerate(people.keys)}
    for edge in people.graph:
        assert counts[rows[edge.callee]].sum() <= counts[rows[edge.caller]].sum()
    assert len(people.graph) == 30


async def test_a_call_beyond_the_pool_starts_cold_and_stays_until_let_go() -> None:
    made, _ = world()
    busy = int(np.argmax(made.counts(START) * made.people.duration_s))
    need = int(np.ceil(made.counts(START)[busy] * made.people.duration_s[busy] / 60))
    await made.apply((decision(made, busy, need - 1),))
    await made.collect((START + 1) * 60.0)
    assert made.cold_starts[busy] == 1
    assert made.warm([made.people.keys[busy]]).tolist() == [need]
    assert await made.apply((decision(made, busy, 0),)) == {f"id-{busy}"}
    assert made.warm([made.people.keys[busy]]).tolist() == [0]


async def test_where_nobody_decides_pools_follow_a_keep_alive_of_ten_minutes() -> None:
    made, _ = world()
    made.managed = lambda _: False
    needs = []
    for minute in range(START, START + 25):
        await made.collect((minute + 1) * 60.0)
        await made.apply(())
        needs.append(np.ceil(made.counts(minute) * made.people.duration_s / 60))
    assert (made.warm(made.people.keys) == np.max(needs[-KEEP_ALIVE_MIN:], axis=0)).all()


async def test_every_minute_is_pushed_once_but_for_the_silent_gateway() -> None:
    made, ears = world()
    span = range(START, START + SILENT_EVERY_MIN)
    await made.collect(span.stop * 60.0)
    await made.collect(span.stop * 60.0)
    assert len(ears.heard) == 10 * len(span) - SILENT_MIN
    silent = [minute for minute in span for team in ("shop", "pay") if made.is_silent(team, minute)]
    assert all(minute % SILENT_EVERY_MIN < SILENT_MIN for minute in silent)
    heard = {(event.function, event.at // 60): event.count for events in ears.heard.values() for event in events}
    row = made.people.keys.index(made.people.keys[5])
    spoken = [(minute, heard.get((made.people.keys[row], float(minute)))) for minute in span]
    assert all(count is None or count == made.counts(minute)[row] for minute, count in spoken)


def test_the_past_is_told_as_it_was() -> None:
    made, _ = world(functions=20)
    history = History(Retention(), START - 120)
    told = made.tell_past(history, START - 120, START)
    assert [batch.minute for batch in told] == list(range(START - 120, START))
    seen = history.dense(np.arange(20, dtype=np.int32), START, minutes=120)
    assert (seen[:, -1] == made.counts(START - 1)).all()
    measured = made.measured(made.people.keys)
    assert (measured.memory_mib == made.people.memory_mib).all()
    assert np.isnan(made.measured(["other/function"]).memory_mib).all()  # type: ignore[list-item]


@pytest.mark.parametrize("day", [0, 20_000])
def test_a_day_has_all_its_minutes(day: int) -> None:
    assert day_counts(1, 30, day).shape == (30, DAY_MIN)

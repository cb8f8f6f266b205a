"""The storage under a history: rows that grow at their own pace, runs of known minutes, memory and speed at scale."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import InputError
from prewarm.history.arena import RowArena
from prewarm.history.known import NOBODY, KnownRuns, KnownSet
from prewarm.history.measure import FunctionDays, measure_gib, read_function_days
from prewarm.history.ragged import first_at_least, flat_index

MINUTES = st.lists(st.integers(0, 40), max_size=6, unique=True).map(sorted)


@given(st.lists(MINUTES, min_size=1, max_size=5), st.integers(0, 41))
def test_the_first_hit_at_or_after_a_bound(runs: list[list[int]], bound: int) -> None:
    values = np.array([value for run in runs for value in run], np.uint16)
    ends = np.cumsum([len(run) for run in runs])
    starts = ends - [len(run) for run in runs]
    found = first_at_least(values, starts, ends, bound)
    assert (found - starts).tolist() == [sum(value < bound for value in run) for run in runs]


def test_flat_positions_of_runs() -> None:
    assert flat_index(np.array([7, 0, 3]), np.array([2, 0, 3])).tolist() == [7, 8, 3, 4, 5]
    assert flat_index(np.zeros(0, np.int64), np.zeros(0, np.int64)).size == 0


@given(st.lists(st.sets(st.integers(0, 3)), max_size=60), st.integers(0, 5))
def test_rows_grow_at_their_own_pace(buckets: list[set[int]], slack: int) -> None:
    arena = RowArena(4, slack)
    plain: list[list[int]] = [[] for _ in range(4)]
    for bucket, hit in enumerate(buckets, 1_000_000):
        value = np.full(len(hit), bucket % 97, np.float32)
        arena.append(np.array(sorted(hit), np.int64), bucket, value, value / np.float32(2))
        for row in hit:
            plain[row].append(bucket)
    lengths, found, count, concurrency = arena.read(arena.start, arena.end)
    assert np.split(found, np.cumsum(lengths)[:-1])[0].tolist() == plain[0]
    assert found.tolist() == [bucket for row in plain for bucket in row]
    assert count.tolist() == [bucket % 97 for bucket in found]
    assert concurrency.tolist() == [bucket % 97 / 2 for bucket in found]
    lengths, early, _, _ = arena.take_before(1_000_030)
    assert early.tolist() == [bucket for row in plain for bucket in row if bucket < 1_000_030]
    arena.drop_from(1_000_050)
    left = arena.read(arena.start, arena.end)[1].tolist()
    assert left == [bucket for row in plain for bucket in row if 1_000_030 <= bucket < 1_000_050]


def test_buckets_may_span_more_than_the_origin_had_room_for() -> None:
    arena = RowArena(1, 4)
    one = np.ones(1, np.float32)
    row = np.zeros(1, np.int64)
    arena.append(row, 10, one, one)
    arena.append(row, 10 + 65_535, one, one)
    arena.take_before(11)
    arena.append(row, 10 + 2 * 65_535, one, one)
    assert arena.read(arena.start, arena.end)[1].tolist() == [10 + 65_535, 10 + 2 * 65_535]


class TestKnownRuns:
    """Runs answer as a table of minutes by rows would."""

    ROWS = np.arange(4)

    def table(self, runs: KnownRuns) -> list[list[bool]]:
        pairs = [(row, minute) for minute in range(20) for row in range(4)]
        rows, minutes = np.array(pairs).T
        return [list(map(bool, part)) for part in np.split(runs.test(rows, minutes), 20)]

    @given(
        st.lists(st.tuples(st.integers(0, 3), st.lists(st.booleans(), min_size=4, max_size=4)), max_size=5),
        st.integers(0, 20),
    )
    def test_like_a_table(self, observed: list[tuple[int, list[bool]]], cut: int) -> None:
        runs, plain, minute = KnownRuns(0), [[False] * 4 for _ in range(20)], 0
        for gap, known in observed:
            minute += gap
            if minute < 20:
                runs.append(minute, KnownSet.of(np.array(known)))
                plain[minute] = known
            minute += 1
        assert self.table(runs) == plain
        edges = np.array([0, 7, 14])
        by_step = np.array([np.sum(plain[low:high], axis=0) for low, high in ((0, 7), (7, 14))]).T
        np.testing.assert_array_equal(runs.minutes(self.ROWS, edges), by_step)
        runs.drop_from(cut)
        assert self.table(runs) == plain[:cut] + [[False] * 4] * (20 - cut)

    def test_equal_neighbours_are_one_run_and_a_gap_is_one_of_nobody(self) -> None:
        runs = KnownRuns(0)
        for minute in (*range(100), *range(200, 300)):
            runs.append(minute, KnownSet.of(np.ones(9, np.bool_)))
        assert [(first, until, known.count) for first, until, known in runs.runs(50, 250)] == [
            (50, 100, 9),
            (200, 250, 9),
        ]
        runs.drop_before(150)
        assert not runs.test(np.array([0]), np.array([99]))[0]
        assert runs.test(np.array([0]), np.array([200]))[0]

    def test_the_smallest_form(self) -> None:
        assert KnownSet.of(np.zeros(5, np.bool_)) is NOBODY
        assert KnownSet.of(np.array([True, True, False])).bits is None
        mixed = KnownSet.of(np.array([False, True, False]))
        assert mixed.count == 2
        assert mixed.mask(4).tolist() == [False, True, False, False]
        assert mixed.mask(1).tolist() == [False]


def busy_days() -> FunctionDays:
    """Days like the public ones: some busy all day, some half of it, most with a few calls; 312 minutes on average."""
    rng = np.random.default_rng(3)
    shares = np.repeat([1.0, 0.9, 0.45, 0.03, 0.005], [20, 12, 20, 50, 98])
    count = (rng.random((shares.size, 1440)) < shares[:, None]) * rng.integers(1, 9, (shares.size, 1440))
    return FunctionDays(count.astype(np.float32), np.ones(shares.size, np.int64))


def test_fifty_thousand_functions_fit_by_extrapolation() -> None:
    size = measure_gib(2048, 14, 1, busy_days())
    assert size.hits_a_day == pytest.approx(312, rel=0.1)
    # arrays grow with the functions; 0.1 GiB is room for keys, open minutes and the allocator
    assert size.array_gib * 50_000 / 2048 <= 0.9


def test_the_public_days_are_read_with_their_multiplicity(tmp_path: Path) -> None:
    series, times = tmp_path / "days.csv.gz", tmp_path / "times.csv"
    with gzip.open(series, "wt", newline="") as text:
        table = csv.writer(text)
        table.writerow(["series_id", "daily_total", *range(1, 1441)])
        table.writerow(["7", "3", "3", *[""] * 1439])
        table.writerow(["8", "0", *["0"] * 1440])
    times.write_text("series_id,daily_total,count_in_sample_2022-06-27\n7,3,41\n")
    days = read_function_days(series, times)
    assert days.multiplicity.tolist() == [41, 1]
    assert days.count.sum(1).tolist() == [3, 0]
    times.write_text("series_id,times\n7,41\n")
    with pytest.raises(InputError, match=r"times.csv: needs a column count_in_sample\*"):
        read_function_days(series, times)


def test_the_public_exemplars_have_their_known_density(traces_dir: Path) -> None:
    folder = traces_dir / "azure2019-invitro"
    days = read_function_days(folder / "day_series_exemplars_1440.csv.gz", folder / "day_sample1350_multiplicity.csv")
    hits = (days.count > 0).sum(1) @ days.multiplicity / days.multiplicity.sum()
    assert days.count.shape == (1105, 1440)
    assert hits == pytest.approx(311.75, abs=0.01)

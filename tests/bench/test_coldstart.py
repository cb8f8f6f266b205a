"""The cold-start benchmark reproduces what is published and reads its rows off the sweep as agreed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prewarm.bench.coldstart import FIRST_MINUTES, look_ahead, turned_ratio
from prewarm.bench.coldstart_points import CHOICES, Point, best_on_both, last_under, sweep
from prewarm.bench.coldstart_set import read_set
from prewarm.domain import InputError
from prewarm.forecast.experts.opinions import shipped_model
from prewarm.sim.minute import MinuteWorkload, score
from prewarm.sim.policies import policy

POINTS = [
    Point(0.25, 300, 100.0, 1.0),
    Point(0.5, 200, 150.0, 1.0),
    Point(1.0, 100, 210.0, 1.0),
    Point(2.0, 50, 400.0, 1.0),
]


def _timers(minutes: int = 240) -> MinuteWorkload:
    """Eight timers of periods 2 to 16 minutes, 0.2 GB each."""
    need = np.zeros((8, minutes), np.int32)
    for row in range(8):
        need[row, row :: 2 * (row + 1)] = 1
    keys = tuple(f"made/{row}" for row in range(8))
    return MinuteWorkload(keys, need.astype(np.float64) * 0.01, need, np.full(8, 0.2))


@pytest.mark.parametrize(
    ("limit", "cold"),
    [(99.0, None), (100.0, 300), (209.9, 200), (1e9, 50)],
    ids=["none-so-small", "exactly", "last-under", "all-under"],
)
def test_a_row_at_a_memory_is_the_last_point_under_it(limit: float, cold: int | None) -> None:
    found = last_under(POINTS, limit)
    assert (found.cold if found else None) == cold


def test_the_point_nearest_to_both_limits_is_judged_by_its_worse_side() -> None:
    assert best_on_both(POINTS, (110.0, 200.0)).weight == 1.0
    assert best_on_both(POINTS, (250.0, 140.0)).weight == 0.5


def test_the_sweep_holds_the_plain_price_and_its_ends() -> None:
    assert CHOICES[16] == 1.0
    assert (CHOICES[0], CHOICES[-1], len(CHOICES)) == (1 / 16, 16.0, 33)


def test_a_dearer_cold_start_means_no_more_of_them_and_no_less_waste() -> None:
    cheap, dear = sweep(_timers(), shipped_model(), weights=(0.1, 8.0))
    assert dear.cold <= cheap.cold
    assert dear.waste_gb_s >= cheap.waste_gb_s


def test_timers_turned_by_any_offset_stay_cheaper_than_under_keep_alive() -> None:
    assert turned_ratio(_timers(), shipped_model(), 3) < 0.8


def test_the_first_minutes_are_decided_without_the_later_ones() -> None:
    assert look_ahead(_timers(FIRST_MINUTES + 60), shipped_model()) == 0


def test_the_published_set_is_recounted(traces_dir: Path) -> None:
    published = read_set(traces_dir)
    everyone = published.workload
    covered = everyone.select(published.covered)
    assert score(everyone, policy("kpa").allocations(everyone)).cold == pytest.approx(10_632, rel=1e-3)
    assert score(everyone, policy("ka-10").allocations(everyone)).cold == 1117
    assert score(covered, policy("ka-10").allocations(covered)).rum == pytest.approx(7782, abs=1)
    assert score(covered, policy("clairvoyant").allocations(covered)).rum == pytest.approx(3152, rel=5e-3)


def test_the_published_rows_read_as_published(traces_dir: Path) -> None:
    femux = next(row for row in read_set(traces_dir).rows() if row["policy"] == "FeMux (published)")
    assert femux["cold"] == 2172
    assert femux["waste GB s"] == pytest.approx(540_214, abs=1)
    assert femux["RUM"] == pytest.approx(7174, abs=1)


def test_a_folder_without_the_traces_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="knative100_avg_concurrency"):
        read_set(tmp_path)

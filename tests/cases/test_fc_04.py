"""Reported: gaps were read as zero, duplicates counted twice, and every odd row was a line in the log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from prewarm.cli import main
from prewarm.domain import parse_time
from prewarm.forecast.series import Cleaning, clean_rows

ROWS = """\
timestamp,value
2026-01-05T00:00:00Z,10
2026-01-05T00:01:00Z,10
2026-01-05T00:02:00Z,10
2026-01-05T00:17:00Z,10
2026-01-05T00:03:00Z,10
2026-01-05T00:04:00Z,10
2026-01-05T00:05:00Z,10
2026-01-05T00:06:00Z,10
2026-01-05T00:25:00Z,10
2026-01-05T00:07:00Z,10
2026-01-05T00:08:00Z,10
2026-01-05T00:09:00Z,10
2026-01-05T00:15:00Z,10
2026-01-05T00:16:00Z,10
2026-01-05T00:18:00Z,10
2026-01-05T00:19:00Z,10
2026-01-05T00:20:00Z,
2026-01-05T00:21:00Z,10
2026-01-05T00:22:00Z,10
2026-01-05T00:23:00Z,10
2026-01-05T00:24:00Z,10
2026-01-05T00:26:00Z,10
2026-01-05T00:27:00Z,10
2026-01-05T00:28:00Z,10
2026-01-05T00:29:00Z,10
2026-01-05T00:05:00Z,10
2026-01-05T01:06:00+01:00,14
"""


@pytest.fixture
def cleaning() -> Cleaning:
    rows = [line.split(",") for line in ROWS.splitlines()[1:]]
    return clean_rows([(at, value) for at, value in rows], name="history", step_s=60)


def test_the_grid_has_thirty_slots_of_which_six_are_unknown(cleaning: Cleaning) -> None:
    values = cleaning.series.values
    assert len(values) == 30
    assert np.flatnonzero(np.isnan(values)).tolist() == [10, 11, 12, 13, 14, 20]


def test_a_repeated_row_counts_once_and_a_conflict_is_resolved_and_reported(cleaning: Cleaning) -> None:
    assert cleaning.series.values[5] == 10
    assert cleaning.series.values[6] == 14  # the larger is kept
    assert cleaning.conflicts == (parse_time("2026-01-05T00:06:00Z", "here"),)
    assert cleaning.duplicates == 1


def test_one_line_tells_all(cleaning: Cleaning) -> None:
    assert cleaning.warning == (
        "history: 1 conflicting values, larger kept (first at 2026-01-05T00:06:00Z); "
        "1 rows repeated, counted once; 6 of 30 steps unknown"
    )


def test_the_command_forecasts_about_ten_with_one_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "history.csv"
    file.write_text(ROWS, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["forecast", str(file), "--step", "60", "--steps", "10", "--json"])
    assert ended.value.code == 0
    out, err = capsys.readouterr()
    steps = json.loads(out)["forecasts"][0]["steps"]
    assert len(steps) == 10
    assert all(9 <= step["mean"] <= 12 for step in steps)
    assert len(err.splitlines()) == 1

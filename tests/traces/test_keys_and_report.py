"""Keys are unique and printable whatever the file holds; the report says everything once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import InputError, function_key
from prewarm.traces.keys import make_key, unique_keys
from prewarm.traces.report import KEPT, LoadLog

ANY = st.text(max_size=6)


@given(st.lists(st.tuples(ANY, ANY, ANY), max_size=12))
def test_keys_are_valid_unique_and_in_order(parts: list[tuple[str, str, str]]) -> None:
    keys = unique_keys(parts)
    assert len(keys) == len(parts) == len(set(keys))
    for key in keys:
        assert function_key(key) == key
    assert unique_keys(parts) == keys


@pytest.mark.parametrize(
    ("parts", "keys"),
    [
        pytest.param([("o", "a", "f"), ("o", "a", "g")], ["a/f", "a/g"], id="plain"),
        pytest.param([("o", "a", "f"), ("p", "a", "f")], ["o.a/f", "p.a/f"], id="two owners"),
        pytest.param([("", "a", "f"), ("", "a", "f")], ["a/f", "a/f~2"], id="no owner"),
        pytest.param([("", "a", "f"), ("", "a", "f"), ("", "a", "f~2")], ["a/f", "a/f~2", "a/f~2~2"], id="in the way"),
        pytest.param([("", "a b", "x/y%")], ["a_b/x_y_"], id="unusable signs"),
        pytest.param([("", "", "")], ["-/-"], id="empty"),
        pytest.param([("", "n" * 300, "f")], ["n" * 240 + "/f"], id="long"),
    ],
)
def test_keys_for_names_as_files_have_them(parts: list[tuple[str, str, str]], keys: list[str]) -> None:
    assert list(unique_keys(parts)) == keys


def test_a_key_of_hashes_is_kept_as_it_is() -> None:
    assert make_key("ab" * 32, "cd" * 32) == "ab" * 32 + "/" + "cd" * 32


def test_a_report_keeps_the_first_rejections_and_counts_all() -> None:
    log = LoadLog()
    for line in range(KEPT + 5):
        log.reject(Path("t.csv"), line, "broken")
    log.merge(Path("t.csv"), "a/f")
    log.merge(Path("t.csv"), "a/f")
    log.count("zero", 2)
    log.count("nothing", 0)
    log.count("gone", 1)
    log.count("gone", -1)
    report = log.result()
    assert (report.rejected_rows, len(report.rejected)) == (KEPT + 5, KEPT)
    assert report.counters == {"zero": 2}
    assert report.warnings()[0] == "t.csv:0: broken"
    assert report.warnings()[KEPT:] == ("and 5 more rejected rows", "t.csv: 3 rows of a/f merged into one", "zero: 2")


def test_strict_stops_at_the_first_rejection() -> None:
    with pytest.raises(InputError, match=r"^t\.csv:7: broken$"):
        LoadLog(strict=True).reject(Path("t.csv"), 7, "broken")


def test_nothing_left_is_refused_with_the_first_reason_if_there_is_one() -> None:
    log = LoadLog()
    with pytest.raises(InputError, match=r"^t\.csv: no usable row in it$"):
        log.require_rows(Path("t.csv"))
    log.reject(Path("t.csv"), 2, "broken")
    with pytest.raises(InputError, match=r"no usable row in it; t\.csv:2: broken"):
        log.require_rows(Path("t.csv"))
    log.accept()
    log.require_rows(Path("t.csv"))


def test_a_clean_load_has_nothing_to_tell() -> None:
    log = LoadLog()
    log.accept()
    assert log.result().warnings() == ()
    assert log.result().rows_read == 1

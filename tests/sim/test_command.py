"""`prewarm replay` as a person types it: what is printed where, and with which exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prewarm.cli import main


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    """One good app and one row that is broken."""
    header = "app_id," + ",".join(map(str, range(30)))
    row = ",".join("0.5" if minute % 6 == 0 else "0" for minute in range(30))
    path = tmp_path / "m.csv"
    path.write_text(f"{header}\na,{row}\nb,oops{',0' * 29}\n")
    return path


def typed(*words: str | Path) -> int:
    """Run the command line; its exit status."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_table_goes_to_the_output_and_rejected_rows_to_the_error(
    matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("replay", matrix, "--policy", "kpa,ka-10,clairvoyant") == 0
    shown = capsys.readouterr()
    assert [line.split()[0] for line in shown.out.splitlines()] == ["policy", "kpa", "ka-10", "clairvoyant"]
    assert shown.err == "1 rows of the trace were rejected\n"


def test_json_is_all_that_is_printed(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("replay", matrix, "--policy", "ka-10", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["trace"]["rejected_rows"] == 1
    assert body["policies"][0]["cold"] == 1


def test_allocations_and_figure_are_written(matrix: Path, tmp_path: Path) -> None:
    out, figure = tmp_path / "kept", tmp_path / "f.svg"
    assert typed("replay", matrix, "--policy", "ka-5", "--allocations", out, "--plot", figure) == 0
    assert (out / "ka-5.csv").read_text().startswith("app_id,0,1,2")
    assert figure.exists()


def test_requests_are_replayed(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("replay", matrix, "--policy", "kpa", "--mode", "request", "--seed", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["wait_ms"]["p99"] > 0


@pytest.mark.parametrize(
    ("more", "why"),
    [
        pytest.param(["--policy", "ka-x"], "policy 'ka-x': unknown", id="unknown-policy"),
        pytest.param(["--policy", " , "], "policy: none given", id="no-policy"),
        pytest.param(["--strict"], "m.csv", id="strict-on-a-broken-row"),
        pytest.param(["--cold-weight", "0"], "cold weight", id="weight"),
        pytest.param(["--policy", "faascache-0"], "larger than 0", id="no-cache"),
        pytest.param(["--mode", "request", "--allocations", "x"], "decided by the minute", id="no-allocations"),
        pytest.param(["--plot", "picture.foo"], "must end in one of .png", id="figure-of-no-kind"),
        pytest.param(["--plot", "nowhere/f.png"], "nowhere is no folder", id="figure-nowhere"),
        pytest.param(["--mode", "request", "--seed", "-1"], "seed: must be 0 or more", id="seed"),
    ],
)
def test_bad_input_is_one_line_and_status_two(
    matrix: Path, capsys: pytest.CaptureFixture[str], more: list[str], why: str
) -> None:
    assert typed("replay", matrix, *more) == 2
    told = capsys.readouterr().err
    assert why in told
    assert told.count("\n") == 1
    assert told.startswith("prewarm: ")


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("replay", tmp_path / "absent.csv", "--policy", "kpa") == 2
    assert "absent.csv" in capsys.readouterr().err


def test_an_unknown_mode_is_wrong_use(matrix: Path) -> None:
    assert typed("replay", matrix, "--mode", "hourly") == 2

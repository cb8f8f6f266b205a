"""`prewarm forecast` and `prewarm backtest` as a person uses them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from prewarm.cli import main
from prewarm.domain import rfc3339
from tests.forecast.made import MONDAY, every


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    """Two functions: one on a timer of ten minutes, one falling silent for lack of rows."""
    lines = ["function,timestamp,value"]
    for t, count in enumerate(every(10, 300)):
        lines.append(f"shop/timer,{rfc3339(MONDAY + 60 * t)},{count:g}")
    lines += [f"shop/cart,{rfc3339(MONDAY + 60 * t)},{t % 3}" for t in range(299)]
    file = tmp_path / "calls.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, out, err


def test_a_forecast_of_each_function_as_json(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "forecast", str(calls), "--steps", "12", "--quantiles", "0.5,0.95", "--json")
    assert (status, err) == (0, "")
    found: list[dict[str, Any]] = json.loads(out)["forecasts"]
    assert [one["function"] for one in found] == ["shop/cart", "shop/timer"]
    timer = found[1]
    assert timer["issued_at"] == "2026-01-05T05:00:00Z"
    assert timer["steps"][0]["p_at_least"]["1"] > 0.8
    assert timer["steps"][5]["p_at_least"]["1"] < 0.1
    assert set(timer["steps"][0]["quantiles"]) == {"0.5", "0.95"}


def test_a_forecast_for_people_names_model_reason_and_times(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "forecast", str(calls), "--model", "croston", "--steps", "20")
    assert status == 0
    assert "shop/timer: croston, data ok" in out
    assert "30 calls, one every 9." in out
    assert "2026-01-05T05:00:00Z" in out
    assert "5 further steps" in out


def test_a_request_in_json_is_taken_as_the_service_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "request.json"
    file.write_text('{"series": [{"id": "a/b", "values": [1, null, 3]}], "steps": 2, "model": "tsb"}')
    status, out, _ = run(capsys, "forecast", str(file), "--json")
    assert status == 0
    assert json.loads(out)["forecasts"][0]["model"] == "tsb"
    file.write_text('{"series": [{"values": [NaN]}]}')
    status, _, err = run(capsys, "forecast", str(file))
    assert status == 2
    assert "request.json: is not JSON" in err


def test_a_backtest_scores_each_model_and_marks_the_cheapest(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = "tsb,timer,seasonal_naive"
    status, out, _ = run(capsys, "backtest", str(calls), "--models", models, "--steps", "10", "--folds", "4", "--json")
    assert status == 0
    rows: list[dict[str, Any]] = json.loads(out)["rows"]
    assert len(rows) == 6
    timer = {row["model"]: row for row in rows if row["function"] == "shop/timer"}
    assert timer["timer"]["chosen"]
    assert timer["timer"]["cost"] == 0.0
    assert timer["tsb"]["cost"] > 0.0
    assert timer["timer"]["reason"] == "lowest backtest cost of 3 models over the last 40 minutes"
    assert timer["timer"]["steps"] == 40


def test_a_backtest_for_people_is_a_table(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "backtest", str(calls), "--models", "tsb,timer")
    assert status == 0
    assert "pinball" in out
    assert "<- lowest backtest cost of 2 models" in out


def test_a_model_out_of_time_has_no_figures(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "backtest", str(calls), "--models", "tsb", "--budget", "0", "--json")
    assert {row["cost"] for row in json.loads(out)["rows"]} == {None}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["forecast", "absent.csv"], "absent.csv: cannot be read: No such file", id="no-file"),
        pytest.param(["forecast", "{calls}", "--steps", "1441"], "--steps: .* between 1 and 1440", id="steps"),
        pytest.param(["forecast", "{calls}", "--model", "x"], "--model: must be one of auto", id="model"),
        pytest.param(["forecast", "{calls}", "--quantiles", "a"], "--quantiles: must be numbers", id="quantiles"),
        pytest.param(["forecast", "{calls}", "--zone", "x"], "--zone: is no time zone", id="zone"),
        pytest.param(["forecast", "{calls}", "--step", "0"], "--step: must be", id="step"),
        pytest.param(["backtest", "{calls}", "--models", "tsb,x"], "--models: must be one of", id="models"),
        pytest.param(["backtest", "{calls}", "--folds", "0"], "--folds: must be", id="folds"),
        pytest.param(["backtest", "{calls}", "--cost-idle", "0"], "--cost-cold and --cost-idle", id="costs"),
        pytest.param(["backtest", "{calls}", "--window", "0"], "--window: must be", id="window"),
    ],
)
def test_wrong_use_is_one_line_and_status_two(
    arguments: list[str], told: str, calls: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *(a.replace("{calls}", str(calls)) for a in arguments))
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert re.search(f"^prewarm: .*{told}", err)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"", "line 1 must name a column 'timestamp'", id="empty"),
        pytest.param(b"time,calls\n1,2\n", "line 1 must name a column 'timestamp'", id="other-columns"),
        pytest.param(b"timestamp,value\n", "has no rows", id="header-only"),
        pytest.param(b"timestamp,value\nnoon,1\n", "no row could be used; line 2: timestamp", id="no-good-row"),
        pytest.param(b"timestamp,value\n\xff\xfe\n", "is not UTF-8", id="not-text"),
    ],
)
def test_a_file_that_holds_no_series_is_named(
    content: bytes, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "odd.csv"
    file.write_bytes(content)
    status, _, err = run(capsys, "forecast", str(file))
    assert status == 2
    assert told in err
    assert len(err.splitlines()) == 1


def test_warnings_of_many_series_do_not_flood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["function,timestamp,value"]
    for i in range(50):
        lines += [f"f/{i},2026-01-05T00:00:00Z,1", f"f/{i},2026-01-05T00:00:00Z,2"]
    file = tmp_path / "many.csv"
    file.write_text("\n".join(lines))
    status, _, err = run(capsys, "forecast", str(file), "--model", "tsb", "--json")
    assert status == 0
    assert len(err.splitlines()) == 21
    assert err.splitlines()[-1] == "prewarm: and 30 more series with remarks"

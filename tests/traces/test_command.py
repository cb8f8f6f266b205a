"""`prewarm traces` at the command line: facts, JSON, exit status, one line for what is wrong."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from prewarm.cli.traces import traces
from prewarm.domain import InputError
from prewarm.traces.detect import read_trace
from prewarm.traces.synth import synthesize
from tests.traces.files import write_invocations, write_table


def run(*arguments: object) -> Result:
    """The command as it is called by `prewarm`: its status, and errors as they are raised."""
    result = CliRunner().invoke(traces, [str(one) for one in arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


def test_info_tells_what_is_in_a_trace_and_names_its_broken_rows(tmp_path: Path) -> None:
    path = write_invocations(tmp_path, [("o", "a", "f", "http", {1: 90}), ("o", "a", "g", "timer", {1: "x"})])
    result = run("info", path)
    assert result.return_value == 0
    assert "functions: 1\n" in result.output
    assert "invocations: 90\n" in result.output
    assert "triggers: http 1\n" in result.output
    assert f"{path}:3: minute 1: must be a number, is 'x'" in result.output


def test_info_as_json_has_every_warning_and_the_sum(tmp_path: Path) -> None:
    bad: list[tuple[str, str, str, str, dict[int, object]]] = [
        ("o", "a", f"f{at}", "http", {1: "x"}) for at in range(30)
    ]
    path = write_invocations(tmp_path, [*bad, ("o", "a", "g", "timer", {1: 1})], minutes=[1, 2])
    facts = orjson.loads(run("info", path, "--json").stdout)
    assert facts["rejected_rows"] == len(facts["rejected"]) == 30
    assert facts["sha256"] == read_trace(path).sha256 == facts["sources"][0]["sha256"]
    assert (facts["functions"], facts["minutes"], facts["start"]) == (1, 2, None)
    shown = run("info", path).output
    assert "more; --json shows all" in shown


def test_info_dates_a_log_and_leaves_unknown_counts_out(tmp_path: Path) -> None:
    log = write_table(tmp_path / "log.csv", ("ts", "func"), [(1_772_323_200, "f")])
    assert orjson.loads(run("info", log, "--json").stdout)["start"] == "2026-03-01T00:00:00Z"
    matrix = write_table(tmp_path / "m.csv", ("app_id", "0", "1"), [("1", 0.5, 1.5)])
    facts = orjson.loads(run("info", matrix, "--json").stdout)
    assert (facts["invocations"], facts["most_instances_needed"]) == (None, 2)
    assert "invocations: -\n" in run("info", matrix).output


def test_strict_refuses_a_broken_row(tmp_path: Path) -> None:
    path = write_invocations(tmp_path, [("o", "a", "f", "http", {1: "x"}), ("o", "a", "g", "http", {1: 1})])
    with pytest.raises(InputError, match=":2: minute 1"):
        run("info", path, "--strict")


def test_synth_writes_what_info_reads(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    made = orjson.loads(run("synth", folder, "--functions", 30, "--days", 2, "--seed", 5, "--json").stdout)
    expected = synthesize(5, 30, days=2)
    assert made["synthetic"] is True
    assert made["counts_sha256"] == expected.trace.sha256
    assert made["calls_in_graph"] == len(expected.graph)
    read = orjson.loads(run("info", folder, "--json").stdout)
    assert read["invocations"] == made["invocations"]
    assert read["start"] == "2026-03-23T00:00:00Z"
    with pytest.raises(InputError, match="must be empty or absent"):
        run("synth", folder)


def test_marginals_decide_the_exit_status(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    assert "seed: 1\n" in run("synth", folder, "--functions", 200, "--days", 1, "--seed", 1).output
    good = run("info", folder, "--marginals")
    assert (good.return_value, good.output.count(": met")) == (0, 4)
    bad = write_invocations(tmp_path, [("o", "a", f"f{at}", "http", {1: 1}) for at in range(50)])
    result = run("info", bad, "--marginals", "--json")
    assert result.return_value == 1
    assert {one["name"]: one["met"] for one in orjson.loads(result.stdout)["marginals"]}["trigger_shares"] is False


def test_a_marginal_that_a_format_does_not_tell_is_left_out(tmp_path: Path) -> None:
    matrix = tmp_path / "matrix.csv"
    matrix.write_text("app_id,0,1,2\na,0.5,0,1\nb,0,0,2\n")
    told = {one["name"] for one in orjson.loads(run("info", matrix, "--marginals", "--json").stdout)["marginals"]}
    assert "daily_total" not in told  # a concurrency matrix counts no calls
    assert "trigger_shares" in told


def test_fetch_lists_what_there_is_with_licences() -> None:
    listed = orjson.loads(run("fetch", "--list", "--json").stdout)
    assert {"azure2019", "azure2021"} <= {one["name"] for one in listed}
    assert "CC-BY 4.0" in run("fetch", "--list").output


@pytest.mark.parametrize(("names", "reason"), [([], "at least one"), (["mars"], "'mars' is unknown")])
def test_fetch_needs_a_known_name(names: list[str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        run("fetch", *names)


def test_fetch_verifies_what_is_there(tmp_path: Path) -> None:
    entry = {"name": "set", "file": "a.csv", "addresses": ["https://example.org/a"], "licence": "MIT", "about": "x"}
    manifest = tmp_path / "manifest.json"
    manifest.write_bytes(orjson.dumps({"files": [entry]}))
    (tmp_path / "to" / "set").mkdir(parents=True)
    (tmp_path / "to" / "set" / "a.csv").write_text("a\n")
    arguments = ("fetch", "set", "--to", tmp_path / "to", "--manifest", manifest)
    assert "2 bytes, there already, sum recorded" in run(*arguments).output
    facts = orjson.loads(run(*arguments, "--json").stdout)
    assert [(one["downloaded"], one["recorded"]) for one in facts] == [(False, False)]


@pytest.mark.parametrize("command", [[], ["info"], ["synth"], ["fetch"]])
def test_help_has_an_example(command: list[str]) -> None:
    assert "Example: prewarm traces" in " ".join(CliRunner().invoke(traces, [*command, "--help"]).output.split())

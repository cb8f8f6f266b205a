"""`prewarm train placement` and `prewarm evaluate placement`: from nothing to weights, a card and a verdict."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

import gnn
from prewarm.cli import main


def run(*arguments: str) -> int:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_without_torch_one_line_says_what_to_do(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return found(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    assert run(command, "placement") == 2
    assert (
        capsys.readouterr().err == "prewarm: learned placement needs torch and gymnasium, which `make learn` installs\n"
    )


def test_wrong_use_is_one_line_and_status_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="the learn extra is not installed")
    wrong = [
        (("train", "placement", "--task", "moon"), "'moon' is not one of fleet"),
        (("train", "placement", "--resume", "--out", str(tmp_path)), "no checkpoint to resume from"),
        (("train", "placement", "--seeds", "one"), "give numbers and ranges"),
        (("train", "placement", "--ray", "moon"), "--ray"),
        (("train", "placement", "--task", "mix", "--form", "direct"), "task 'mix' knows weights only"),
        (("evaluate", "placement", "--seeds", "500"), "evaluation seeds are 0 to 99"),
        (("evaluate", "placement", "--seeds", "a-b"), "give numbers and ranges"),
        (("evaluate", "placement", "--weights", str(tmp_path / "none.npz")), "no weights"),
        (("evaluate", "placement", "--against", str(tmp_path / "none.npz")), "no weights"),
    ]
    for arguments, why in wrong:
        assert run(*arguments) == 2
        told = capsys.readouterr().err
        assert why in told
        assert told.count("\n") == 1


@pytest.mark.slow  # judges four kinds of fleets several times
def test_of_several_seeds_the_best_is_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="the learn extra is not installed")
    told = ("train", "placement", "--minutes", "0.02", "--out", str(tmp_path), "--seeds", "1,2")
    status = run(*told)
    lines = capsys.readouterr().out.splitlines()
    scores = [float(line.split()[1]) for line in lines if "validation_score" in line]
    assert len(scores) == 2
    assert lines[-1] == f"best: seed {1 + scores.index(max(scores))}"
    assert status == (0 if max(scores) > 0 else 1)
    for seed in ("1", "2"):
        assert f"- seed: {seed}" in (tmp_path / seed / "placement-fleet.md").read_text()
    assert run(*told, "--resume", "--json") in (0, 1)
    assert [card["seed"] for card in json.loads(capsys.readouterr().out)] == [1, 2]


@pytest.mark.slow  # judges four kinds of fleets several times
def test_trained_resumed_and_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="the learn extra is not installed")
    folder, picture = str(tmp_path / "out"), tmp_path / "curve.png"
    train = ("train", "placement", "--minutes", "0.05", "--out", folder, "--json")
    assert run(*train, "--seed", "1") in (0, 1)
    card = json.loads(capsys.readouterr().out)
    assert card["seed"] == 1
    assert (tmp_path / "out" / "placement-fleet.md").read_text().startswith("# placement-fleet")
    for other in (("--seed", "2"), ("--seed", "1", "--form", "direct")):
        assert run(*train, *other, "--resume") == 2
        assert "another" in capsys.readouterr().err
    assert run(*train, "--seed", "1", "--minutes", "0.06", "--resume", "--plot", str(picture)) in (0, 1)
    again = json.loads(capsys.readouterr().out)
    assert again["episodes"] >= card["episodes"]
    assert again["validation_score"] >= card["validation_score"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    weights = str(tmp_path / "out" / "placement-fleet.npz")
    status = run("evaluate", "placement", "--weights", weights, "--against", weights, "--seeds", "0,1", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["against"] == [0.0, 0.0, 0.0]
    assert found["seeds"] == [0, 1]
    assert found["low"] <= found["score"] <= found["high"]
    assert status == (0 if found["low"] > 0 else 1)


@pytest.mark.slow  # judges four kinds of fleets several times
def test_another_form_of_action_is_trained_and_compared_with_the_shipped_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="the learn extra is not installed")
    train = ("train", "placement", "--form", "direct", "--minutes", "0.02", "--out", str(tmp_path), "--json")
    assert run(*train) in (0, 1)
    assert json.loads(capsys.readouterr().out)["form"] == "direct"
    shipped = str(Path(gnn.__file__).parent / "models" / "placement-fleet.npz")
    weights = str(tmp_path / "placement-fleet.npz")
    run("evaluate", "placement", "--weights", weights, "--against", shipped, "--seeds", "0", "--json")
    found = json.loads(capsys.readouterr().out)
    alone = run("evaluate", "placement", "--weights", shipped, "--seeds", "0", "--json")
    assert alone in (0, 1)
    assert found["against"][0] == pytest.approx(found["score"] - json.loads(capsys.readouterr().out)["score"])

"""`prewarm train`: which models there are, and what is said where the data is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from prewarm.cli import main


@pytest.mark.parametrize("which", ["levels", "forecast"])
def test_absent_data_is_one_line_and_status_two(which: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is fitted."""
    with pytest.raises(SystemExit) as stopped:
        main(["train", which, "--data", str(tmp_path), "--out", str(tmp_path / "out")])
    assert stopped.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("prewarm: ")
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_unknown_model_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong use is status 2."""
    with pytest.raises(SystemExit) as stopped:
        main(["train", "weather"])
    assert stopped.value.code == 2
    assert "levels" in capsys.readouterr().err

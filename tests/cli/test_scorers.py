"""The learned scorer in the running service: found by entry point, started without torch, refused in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import serving
from tests.cli.scorers import environment

FORM = {"key": "shop/checkout", "replicas": 2, "requests": {"cpu": "100m", "memory": "128Mi"}}


def test_it_is_found_by_entry_point_and_begins_in_shadow(tmp_path: Path) -> None:
    with serving(tmp_path, environ=environment(tmp_path)) as service:
        status, made = service.call("POST", "/v1/placements", {"workload": FORM})
        assert (status, made["rule_decided"]) == (200, True)
        assert made["why"] == "shadow: compared only; the learned share of shop is 0"
        told = service.call("GET", "/v1/scorer")[1]
        assert (told["name"], told["allowed"]["mode"], told["guard"]["state"]) == ("learned", "shadow", "calm")
        assert told["decisions"]["shadowed"] >= 1
        loaded = Path(f"/proc/{service.process.pid}/maps").read_text()
        assert "torch" not in loaded
        assert service.stop() == 0


def test_without_a_detector_it_may_never_decide(tmp_path: Path) -> None:
    with serving(tmp_path, environ=environment(tmp_path, detector=False)) as service:
        made = service.call("POST", "/v1/placements", {"workload": FORM})[1]
        assert made["why"] == "shadow: no detector ships with these weights, so it is only compared"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"PREWARM_PLACEMENT__SCORER": "nobody"}, "placement.scorer: 'nobody' is not installed; there are: "),
        ({"PREWARM_PLACEMENT__SCORER_WEIGHTS": "/absent.npz"}, "there are no weights at /absent.npz"),
        ({"PREWARM_PLACEMENT__SCORER_MODE": "always"}, "scorer_mode"),
    ],
    ids=["unknown", "absent", "mode"],
)
def test_what_cannot_be_used_is_told_in_one_line(wrong: dict[str, str], said: str, tmp_path: Path) -> None:
    told = {**os.environ, **environment(tmp_path), **wrong}
    command = [str(Path(sys.executable).with_name("prewarm")), "serve", "--listen", "127.0.0.1:0"]
    command += ["--database", f"sqlite:///{tmp_path / 'state.db'}"]
    done = subprocess.run(command, env=told, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert said in line

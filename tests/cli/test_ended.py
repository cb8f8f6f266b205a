"""A command that is told to end leaves nothing running."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: eu, cluster: {{server: "https://127.0.0.1:1"}}}}]
users:
- name: eu
  user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: {login}, interactiveMode: Never}}}}
contexts: [{{name: eu, context: {{cluster: eu, user: eu}}}}]
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_its_exec_plug_in_ends_with_it(tmp_path: Path, number: signal.Signals, status: int) -> None:
    login, told = tmp_path / "login", tmp_path / "pid"
    login.write_text(f"#!/bin/sh\necho $$ > {told}.made\nmv {told}.made {told}\nexec sleep 300\n")
    login.chmod(0o755)
    config = tmp_path / "kubeconfig"
    config.write_text(KUBECONFIG.format(login=login))
    command = [str(Path(sys.executable).with_name("prewarm")), "fleet", "list", "--kubeconfig", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(told)
        process.send_signal(number)
        _, complaint = process.communicate(timeout=20)
    assert (process.returncode, complaint.strip()) == (status, "")
    assert not Path(f"/proc/{told.read_text().strip()}/cmdline").exists()


def wait_for(path: Path, limit_s: float = 20.0) -> None:
    end = time.monotonic() + limit_s
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.02)

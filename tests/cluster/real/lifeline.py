"""Ends a fleet whose owner was killed: no cluster outlives the tests that started it.

Run as a program with a folder, and with a pipe from its owner as standard input. When the pipe closes, whatever the
folder's pids/ still name is killed and the folder deleted. After an orderly end there is nothing left to do. It imports
nothing of ours, so that it starts fast and stays small.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path


def hold(folder: Path) -> subprocess.Popen[bytes]:
    """Start the watcher of `folder`; it acts once the returned child's standard input is closed, by us or by death."""
    return subprocess.Popen(
        [sys.executable, "-S", "-E", __file__, str(folder)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )


def release(watcher: subprocess.Popen[bytes]) -> None:
    """Close the pipe and wait for the watcher to end."""
    assert watcher.stdin is not None
    watcher.stdin.close()
    watcher.wait()


def _end_all(folder: Path) -> None:
    for entry in sorted(folder.glob("**/pids/*")):
        number, _, start = entry.read_text().partition(" ")
        stat = Path(f"/proc/{number}/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[19] == start:
            os.kill(int(number), signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    _end_all(Path(sys.argv[1]))

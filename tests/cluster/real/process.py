"""One program as a child process: its log in a file, its end in order, its death explained.

A cluster is five of these that depend on each other, so waiting always looks at two things, whether the program
answers and whether it is still alive, and an error carries the end of the log. Each child has a session of its own:
Ctrl-C in a terminal reaches only us, and we stop the children in their order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_TAIL_LINES = 25
_POLL_S = 0.05


class ProcessError(Exception):
    """A program died or did not answer in time; the text ends with the last lines of its log."""


class Process:
    """One program that can be started, paused, killed and started again with the same arguments."""

    def __init__(
        self, name: str, command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """`folder` gets logs/NAME.log and, while it runs, pids/NAME; nothing is started yet."""
        self.name = name
        self.command = [str(part) for part in command]
        self.log = folder / "logs" / f"{name}.log"
        self._pid_file = folder / "pids" / name
        self._environment = dict(environment or {})
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        """Started and not ended; a paused one is alive."""
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        """Of the running program. ProcessError where there is none."""
        if self._child is None or not self.alive:
            raise ProcessError(f"{self.name} is not running")
        return self._child.pid

    def start(self) -> None:
        """Start it; it need not answer yet."""
        assert not self.alive, f"{self.name} runs already"
        for folder in (self.log.parent, self._pid_file.parent):
            folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as sink:
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | self._environment,
            )
        self._pid_file.write_text(f"{self._child.pid} {started_at(self._child.pid)}")

    def wait_until(self, answers: Callable[[], bool], *, deadline_s: float, what: str = "ready") -> None:
        """Return once `answers()`. ProcessError when the program dies first or the deadline passes."""
        give_up = time.monotonic() + deadline_s
        while not answers():
            if not self.alive:
                code = None if self._child is None else self._child.returncode
                raise ProcessError(f"{self.name} ended with status {code} before it was {what}\n{self.tail()}")
            if time.monotonic() > give_up:
                raise ProcessError(f"{self.name} is not {what} after {deadline_s:.0f} s\n{self.tail()}")
            time.sleep(_POLL_S)

    def stop(self, grace_s: float = 10.0) -> None:
        """Ask it to end, wait, and kill it where it does not; nothing where it does not run."""
        if self._child is None:
            return
        if self.alive:
            self.resume()
            self._child.terminate()
            try:
                self._child.wait(grace_s)
            except subprocess.TimeoutExpired:
                self._child.kill()
        self._child.wait()
        self._pid_file.unlink(missing_ok=True)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._pid_file.unlink(missing_ok=True)

    def pause(self) -> None:
        """SIGSTOP: it keeps its sockets and answers nobody."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT; harmless where it was not paused."""
        os.kill(self.pid, signal.SIGCONT)

    def tail(self, lines: int = _TAIL_LINES) -> str:
        """The end of its log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(f"  {self.name}: {line[:400]}" for line in text.splitlines()[-lines:])


def started_at(pid: int) -> str:
    """What tells this process from a later one with the same id: its start in ticks since boot, "" where unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]

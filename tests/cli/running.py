"""The real command in a real process, on a port of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Process:
    """A running `prewarm serve`."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: Path) -> None:
        self.process = process
        self.url = url
        self.log = log

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and parsed answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url.rstrip("/") + path, data=data, method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def until(self, path: str, wanted: int = 200, limit_s: float = 30.0) -> Any:
        """Wait for a status."""
        end = time.monotonic() + limit_s
        while True:
            status, said = self.call("GET", path)
            if status == wanted:
                return said
            assert time.monotonic() < end, (status, said, self.log.read_text()[-2000:])
            time.sleep(0.1)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit status."""
        self.process.send_signal(number)
        return self.process.wait(20)


@contextlib.contextmanager
def serving(folder: Path, *arguments: str, environ: dict[str, str] | None = None) -> Iterator[Process]:
    """`prewarm serve` with a database in `folder`, killed at the end if it still runs."""
    log = folder / "log.jsonl"
    command = [str(Path(sys.executable).with_name("prewarm")), "serve", "--listen", "127.0.0.1:0", "--json"]
    command += ["--database", f"sqlite:///{folder / 'state.db'}", *arguments]
    with log.open("a") as stderr:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True, env={**os.environ, **(environ or {})}
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, log.read_text()
            yield Process(process, json.loads(line)["url"], log)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

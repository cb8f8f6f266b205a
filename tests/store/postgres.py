"""A real PostgreSQL server for tests: a fresh data directory, loopback only, run by a user without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PLACES = ("/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin")


_TRIES = 4


def find_programs() -> Path | None:
    """The folder with initdb and postgres, None where the server's package is not installed."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    return next((place for place in (*places, *map(Path, _PLACES)) if (place / "initdb").exists()), None)


def _as_user(command: list[str]) -> list[str]:
    """PostgreSQL refuses root: become somebody else where we are root."""
    if os.geteuid() != 0:
        return command
    names = {entry.pw_name for entry in pwd.getpwall()}
    return ["runuser", "-u", "postgres" if "postgres" in names else "nobody", "--", *command]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """One server; `address` opens its database, `stop` and `start` are what an outage is made of."""

    def __init__(self, programs: Path, folder: Path) -> None:
        """Make the data directory; the server is not started yet."""
        self._programs, self._folder, self._data = programs, folder, folder / "data"
        self.port = _free_port()
        self._run("initdb", "-D", str(self._data), "-U", "prewarm", "-A", "trust", "--no-sync", "-E", "UTF8")

    @property
    def address(self) -> str:
        """For `Store.open`."""
        return f"postgresql://prewarm@127.0.0.1:{self.port}/postgres"

    def begin(self) -> None:
        """Start for the first time; on another port where somebody took the free one meanwhile."""
        for _ in range(_TRIES - 1):
            try:
                return self.start()
            except subprocess.CalledProcessError:
                self.port = _free_port()
        return self.start()

    def start(self) -> None:
        """Start and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self._folder} -c max_connections=40"
        log = str(self._folder / "log")
        self._run("pg_ctl", "-D", str(self._data), "-w", "-t", "30", "-l", log, "-o", options, "start")

    def stop(self) -> None:
        """Stop at once, as a crash would."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = _as_user([str(self._programs / program), *arguments])
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", timeout=60)


@contextmanager
def running_server(programs: Path) -> Iterator[Server]:
    """A started server that is stopped and removed at the end."""
    with tempfile.TemporaryDirectory(prefix="prewarm-postgres-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if os.geteuid() == 0:
            user = _as_user([])[2]
            shutil.chown(folder, user)
        server = Server(programs, folder)
        server.begin()
        try:
            yield server
        finally:
            subprocess_error = None
            try:
                server.stop()
            except subprocess.CalledProcessError as error:
                subprocess_error = error
            assert subprocess_error is None or not (folder / "data" / "postmaster.pid").exists()

"""The service as a process: starts fast and small, stops in order, survives a kill, reloads, refuses in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from prewarm.domain import rfc3339
from tests.cli.running import Process, serving

HEAVY = ("torch", "statsmodels", "pandas", "lightgbm", "numba", "scipy", "matplotlib", "kubernetes")


def push(service: Process, sequence: int, count: int) -> None:
    at = rfc3339(time.time() // 60 * 60 - 60)
    event = {"function": "shop/checkout", "at": at, "count": count, "duration_ms_mean": 500.0}
    status, said = service.call("POST", "/v1/invocations", {"source": "g", "sequence": sequence, "events": [event]})
    assert (status, said) == (202, {"accepted": 1, "rejected": []})


@pytest.mark.parametrize("module", ["serving", "world_fleet", "fleets", "place", "fleet"])
def test_importing_the_service_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, prewarm.cli.{module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_service_without_a_fleet_loads_none_of_it_and_a_simulated_one_no_client() -> None:
    code = (
        "import sys, prewarm.cli.serving; print([name for name in sys.modules if name.startswith('federation')]);"
        "import prewarm.cli.world_fleet; print([name for name in ('federation.live', 'federation.members.client',"
        " 'federation.kubeconfig.source') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]


def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    pin = {"action": "pin", "value": 2, "owner": "me", "reason": "test", "expires_at": None}
    with serving(tmp_path, "--no-world") as service:
        push(service, 1, 4)
        assert service.call("PUT", "/v1/overrides/shop%2Fcheckout", pin)[0] == 200
        end = time.monotonic() + 30
        while not (made := service.call("GET", "/v1/decisions")[1]["decisions"]):
            assert time.monotonic() < end
            time.sleep(0.1)
        service.stop(signal.SIGKILL)
    with serving(tmp_path, "--no-world") as service:
        service.until("/readyz")
        assert service.call("GET", f"/v1/decisions/{made[0]['id']}") == (200, made[0])
        _, overrides = service.call("GET", "/v1/overrides")
        assert [one["value"] for one in overrides["overrides"]] == [2]
        _, listed = service.call("GET", "/v1/functions")
        assert [(row["key"], row["needed"]) for row in listed["functions"]] == [("shop/checkout", 2)]
        push(service, 1, 4)
        assert service.stop() == 0


def test_it_stops_in_order_and_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-world") as service:
        service.until("/readyz")
        assert service.stop(signal.SIGINT) == 0
        assert '"message":"stopped"' in service.log.read_text()


@pytest.mark.slow
def test_the_world_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with serving(tmp_path, "--speed", "600") as service:
        first = service.until("/readyz")
        assert first["simulated"] is True
        assert service.call("GET", "/v1/overview")[1]["service"]["simulated"] is True
        while service.until("/readyz")["now"] < first["now"] + 1800:
            time.sleep(0.1)
        assert service.stop() == 0
    with serving(tmp_path, "--speed", "600") as service:
        again = service.until("/readyz")
        assert again["now"] >= first["now"] + 1800
        assert again["functions"] == 200
    done = refused(tmp_path, "--seed", "8")
    assert "holds the simulated world of seed 7" in done
    assert "holds a simulated world" in refused(tmp_path, "--no-world")


def refused(folder: Path, *arguments: str, environ: dict[str, str] | None = None) -> str:
    """The one line with which a start is refused."""
    command = [
        str(Path(sys.executable).with_name("prewarm")),
        "serve",
        "--database",
        f"sqlite:///{folder / 'state.db'}",
    ]
    if "--listen" not in arguments:
        command += ["--listen", "127.0.0.1:0"]
    told = {**os.environ, **(environ or {})}
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=20, env=told)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("prewarm: ")
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "environ", "line"),
    [
        (["--listen", "0.0.0.0:0"], {}, "which needs a token"),
        (["--listen", "nonsense"], {}, "must be HOST:PORT"),
        (["--config", "absent.toml"], {}, "absent.toml: no such file"),
        ([], {"PREWARM_SERVE__TICK_S": "0"}, "serve.tick_s"),
        ([], {"PREWARM_AUTH__TLS_CERT": "cert.pem"}, "go together"),
        (["--database", "mysql://x/y"], {}, "must be a SQLite file or PostgreSQL"),
    ],
    ids=["public", "address", "config", "variable", "certificate", "database"],
)
def test_a_start_that_cannot_be_is_refused_in_one_line(
    tmp_path: Path, arguments: list[str], environ: dict[str, str], line: str
) -> None:
    assert line in refused(tmp_path, *arguments, environ=environ)


def test_a_reload_takes_a_good_file_and_leaves_a_faulty_one(tmp_path: Path) -> None:
    config = tmp_path / "prewarm.toml"
    config.write_text('[[function]]\nkey = "shop/*"\nmin = 1\n')
    with serving(tmp_path, "--no-world", "--config", str(config)) as service:
        push(service, 1, 0)
        policy = "/v1/functions/shop%2Fcheckout/policy"
        assert service.call("GET", policy)[1]["min"] == 1
        config.write_text('[[function]]\nkey = "shop/*"\nmin = 3\n')
        service.process.send_signal(signal.SIGHUP)
        wait_for(lambda: service.call("GET", policy)[1]["min"] == 3)
        config.write_text('[[function]]\nkey = "shop/*"\nmin = -1\n')
        service.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "the old one stays" in service.log.read_text())
        assert service.call("GET", policy)[1]["min"] == 3
        assert service.process.poll() is None


def wait_for(condition: Callable[[], bool], limit_s: float = 10.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_dead_worker_leaves_the_rule_in_charge(tmp_path: Path) -> None:
    """Whatever becomes of the learned model's process, ticks go on and say who decides."""
    with serving(tmp_path, "--speed", "600") as service:
        service.until("/readyz")
        children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        before = service.until("/readyz")["now"]
        wait_for(lambda: service.until("/readyz")["now"] > before + 600, 30)
        _, overview = service.call("GET", "/v1/overview")
        if overview["service"]["policy"]["rule_decided"]:
            assert overview["service"]["policy"]["why"]

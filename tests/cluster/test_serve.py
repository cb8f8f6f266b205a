"""`prewarm serve --kubeconfig` over three real clusters: what it shows, what it places, and that it leaves in peace."""

from __future__ import annotations

import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from tests.cli.running import Process, serving
from tests.cluster.real.cluster import wait_for
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import deployment

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@pytest.fixture
def service(fleet: Fleet, tmp_path: Path) -> Iterator[Process]:
    """The service over the fleet, once it knows every member."""
    with serving(tmp_path, "--kubeconfig", str(fleet.kubeconfig())) as process:
        process.until("/readyz")
        wait_for(lambda: states(process) == dict.fromkeys(("ap", "eu", "us"), "ready"), what="knowing three members")
        yield process


def clusters(process: Process) -> dict[str, dict[str, Any]]:
    status, answer = process.call("GET", "/v1/clusters")
    assert status == 200, answer
    return {one["name"]: one for one in answer["clusters"]}


def states(process: Process) -> dict[str, str]:
    return {name: str(one["state"]) for name, one in clusters(process).items()}


def running(fleet: Fleet, namespace: str) -> dict[str, Counter[str]]:
    """Running pods by cluster and workload, as kubectl lists them."""
    found = {}
    for cluster in fleet:
        pods = cluster.kubectl.items("pods", "-n", namespace, "--field-selector=status.phase=Running")
        found[cluster.name] = Counter(pod["metadata"]["labels"]["app"] for pod in pods)
    return found


def test_it_shows_the_pods_that_run_and_ends_in_order(fleet: Fleet, namespace: str, service: Process) -> None:
    fleet["eu"].kubectl.apply([deployment(f"{namespace}/web", 3)])

    def shown() -> object:
        status, answer = service.call("GET", "/v1/clusters/eu")
        assert status == 200, answer
        return next((one for one in answer["running"] if one["key"] == f"{namespace}/web"), None)

    wait_for(lambda: isinstance(one := shown(), dict) and one["ready"] == 3, what="showing three ready instances")
    for name, one in clusters(service).items():
        told = fleet[name].kubectl.items("nodes")
        assert (one["nodes"], one["region"]) == (len(told), name)
    assert service.stop(signal.SIGTERM) == 0


def test_a_question_changes_nothing_and_in_active_mode_a_placement_runs(
    fleet: Fleet, namespace: str, service: Process
) -> None:
    manifest = deployment(f"{namespace}/checkout", 4)
    manifest["metadata"]["annotations"] = {"prewarm.dev/min-clusters": "2"}
    status, asked = service.call("POST", "/v1/placements", {"manifest": manifest})
    assert (status, asked["became"], asked["unplaced"]) == (200, "dry_run", 0), asked
    status, shadow = service.call("POST", "/v1/placements", {"manifest": manifest, "dry_run": False})
    assert (status, shadow["became"]) == (200, "dry_run"), shadow
    assert "shadow" in shadow["why"]
    assert not any(running(fleet, namespace).values())
    set_mode(service, namespace, "active")
    status, placed = service.call(
        "POST", "/v1/placements", {"manifest": manifest, "dry_run": False, "deadline_ms": 60_000}
    )
    assert (status, placed["became"]) == (200, "carried_out"), placed
    decided = {one["cluster"]: one["replicas"] for one in placed["placements"] if one["replicas"]}
    assert sum(decided.values()) == 4
    assert len(decided) >= 2
    found = running(fleet, namespace)
    assert {name: counts["checkout"] for name, counts in found.items() if counts} == decided
    status, ended = service.call("DELETE", f"/v1/placements/{namespace}%2Fcheckout")
    assert status == 200, ended
    wait_for(lambda: not any(running(fleet, namespace).values()), what="rid of the workload")


def set_mode(service: Process, namespace: str, mode: str) -> None:
    """For one namespace."""
    status, modes = service.call("GET", "/v1/mode")
    assert status == 200
    modes["namespaces"] = {**modes.get("namespaces", {}), namespace: mode}
    status, answer = service.call("PUT", "/v1/mode", modes)
    assert status == 200, answer


def test_with_one_api_server_silent_the_service_answers_and_places_elsewhere(
    fleet: Fleet, namespace: str, service: Process
) -> None:
    fleet["us"].api_server.pause()
    wait_for(lambda: states(service)["us"] == "dark", deadline_s=60.0, what="seeing that us is dark")
    for number in range(10):
        began = time.monotonic()
        status, answer = service.call("POST", "/v1/placements", {"manifest": deployment(f"{namespace}/q{number}", 2)})
        assert time.monotonic() - began < 2.0
        assert (status, answer["unplaced"]) == (200, 0), answer
        assert all(one["cluster"] != "us" for one in answer["placements"] if one["replicas"])
        assert any(one["cluster"] == "us" for one in answer["filtered"])
    assert service.until("/readyz")
    fleet["us"].api_server.resume()
    wait_for(lambda: states(service)["us"] == "ready", deadline_s=60.0, what="seeing that us is back")


@pytest.mark.page
def test_the_page_shows_real_pods(fleet: Fleet, namespace: str, service: Process, tmp_path: Path) -> None:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs Debian's packages chromium and chromium-driver")
    fleet["ap"].kubectl.apply([deployment(f"{namespace}/web", 3)])
    wait_for(lambda: running(fleet, namespace)["ap"]["web"] == 3, what="running three pods")
    options = Options()
    options.binary_location = program
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        browser.get(service.url)
        row = "return document.querySelector('#clusters [data-cluster=ap]')?.closest('tr').textContent ?? ''"
        WebDriverWait(browser, 60).until(lambda shown: "ready" in str(shown.execute_script(row)))
        browser.execute_script("document.querySelector('#clusters [data-cluster=ap]').click()")
        whole = "return document.getElementById('fleet').textContent"
        WebDriverWait(browser, 60).until(lambda shown: f"{namespace}/web" in str(shown.execute_script(whole)))
        assert "3 of 3 ready" in str(browser.execute_script(whole))
    finally:
        browser.quit()

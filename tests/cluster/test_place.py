"""`prewarm fleet` and `prewarm place` over three real clusters, and a service that empties and replaces a cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from prewarm.cli import main
from tests.cli.running import Process, serving
from tests.cluster.conftest import require
from tests.cluster.real.admin import StatusError
from tests.cluster.real.cluster import wait_for
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import deployment

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

Run = Callable[..., tuple[int, str, str]]
Json = dict[str, Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `prewarm ...` in a folder of its own; status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run_(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as done:
            main(arguments)
        said = capsys.readouterr()
        return int(done.value.code or 0), said.out, said.err

    return run_


@pytest.fixture
def service(fleet: Fleet, namespace: str, tmp_path: Path) -> Iterator[Process]:
    """A service that may write to the test's namespace, once it knows every member."""
    with serving(tmp_path, "--kubeconfig", str(fleet.kubeconfig())) as process:
        process.until("/readyz")
        status, _ = process.call("PUT", "/v1/mode", {"default": "shadow", "namespaces": {namespace: "active"}})
        assert status == 200
        wait_for(lambda: states(process) == {"ready"}, what="knowing three members")
        yield process


def states(process: Process) -> set[str]:
    return {one["state"] for one in process.call("GET", "/v1/clusters")[1]["clusters"]}


def running(fleet: Fleet, namespace: str, names: tuple[str, ...] = ("ap", "eu", "us")) -> dict[str, int]:
    """Running pods by cluster, as kubectl lists them."""
    listed = {
        name: fleet[name].kubectl.items("pods", "-n", namespace, "--field-selector=status.phase=Running")
        for name in names
    }
    return {name: len(pods) for name, pods in listed.items() if pods}


def test_a_file_is_rehearsed_placed_found_unchanged_and_taken_away(
    fleet: Fleet, namespace: str, run: Run, tmp_path: Path
) -> None:
    body = deployment(f"{namespace}/shop", 5)
    body["metadata"]["annotations"] = {"prewarm.dev/min-clusters": "2"}
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(body))
    place = ("place", "-f", "shop.yaml", "--kubeconfig", str(fleet.kubeconfig()))
    code, told, _ = run(*place)
    assert code == 0, told
    assert told.startswith(f"{namespace}/shop: 5 of 5 placed (a dry run; --apply puts it there)")
    assert running(fleet, namespace) == {}
    code, told, _ = run(*place, "--apply", "--json")
    (answer,) = json.loads(told)
    assert (code, answer["verdict"]) == (0, "done"), answer
    decided = {one["cluster"]: one["replicas"] for one in answer["placements"] if one["replicas"]}
    assert (sum(decided.values()), len(decided) >= 2) == (5, True)
    assert running(fleet, namespace) == decided
    (again,) = json.loads(run(*place, "--apply", "--json")[1])
    assert again["verdict"] == "unchanged", again
    code, told, _ = run(*place, "--delete")
    assert (code, told.splitlines()[0]) == (0, f"{namespace}/shop: removed")
    wait_for(lambda: running(fleet, namespace) == {}, what="rid of the pods")


def test_what_it_needs_is_missed_or_copied(fleet: Fleet, namespace: str, run: Run, tmp_path: Path) -> None:
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": namespace},
        "data": {"colour": "red"},
    }
    fleet["eu"].kubectl.apply([settings])
    body = deployment(f"{namespace}/shop", 3)
    body["metadata"]["annotations"] = {"prewarm.dev/min-clusters": "2"}
    body["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(body))
    place = ("place", "-f", "shop.yaml", "--kubeconfig", str(fleet.kubeconfig()))
    (alone,) = json.loads(run(*place, "--json")[1])
    missing = {one["cluster"] for one in alone["filtered"] if one["filter"] == "needs"}
    assert missing == {"ap", "us"}, alone["filtered"]
    code, told, _ = run(*place, "--apply", "--with-dependencies", "--json")
    (answer,) = json.loads(told)
    assert (code, answer["verdict"]) == (0, "done"), answer
    for one in answer["placements"]:
        (copied,) = fleet[one["cluster"]].kubectl.items(
            "configmaps", "-n", namespace, "--field-selector=metadata.name=settings"
        )
        assert copied["data"] == {"colour": "red"}
    assert run(*place, "--delete")[0] == 0
    assert fleet["eu"].kubectl.items("configmaps", "-n", namespace, "--field-selector=metadata.name=settings")


def test_a_priority_class_that_a_cluster_lacks_keeps_it_out(
    fleet: Fleet, namespace: str, run: Run, tmp_path: Path
) -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": namespace}, "value": 7}
    fleet["us"].kubectl.apply([high])
    body = deployment(f"{namespace}/shop", 2)
    body["spec"]["template"]["spec"]["priorityClassName"] = namespace
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(body))
    code, told, _ = run("place", "-f", "shop.yaml", "--kubeconfig", str(fleet.kubeconfig()), "--json")
    (answer,) = json.loads(told)
    assert (code, answer["unplaced"], {one["cluster"] for one in answer["placements"]}) == (0, 0, {"us"}), answer
    said = {(one["cluster"], one["reason"]) for one in answer["filtered"]}
    assert said == {("ap", f"no priorityclass {namespace}"), ("eu", f"no priorityclass {namespace}")}


def test_calls_follow_the_placement_through_a_gateway(fleet: Fleet, namespace: str, run: Run, tmp_path: Path) -> None:
    eu = fleet["eu"].kubectl
    eu.apply(yaml.safe_load(file.read_text()) for file in require().manifests("gateway"))
    wait_for(lambda: served(fleet, "/apis/gateway.networking.k8s.io/v1/httproutes"), what="serving HTTPRoutes")
    body = deployment(f"{namespace}/shop", 5)
    body["metadata"]["annotations"] = {"prewarm.dev/min-clusters": "2"}
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(body))
    place = ("place", "-f", "shop.yaml", "--kubeconfig", str(fleet.kubeconfig()), "--route", "eu:infra/public")
    code, told, errors = run(*place, "--apply", "--json")
    assert code == 0, told + errors
    (answer,) = json.loads(told)
    (route,) = eu.items("httproutes", "-n", namespace)
    assert route["spec"]["parentRefs"][0]["name"] == "public"
    assert route["spec"]["parentRefs"][0]["namespace"] == "infra"
    weights = {one["name"]: one["weight"] for one in route["spec"]["rules"][0]["backendRefs"]}
    assert weights == {f"shop-{one['cluster']}": 200 * one["replicas"] for one in answer["placements"]}
    assert run(*place, "--delete")[0] == 0
    assert eu.items("httproutes", "-n", namespace) == []


def served(fleet: Fleet, path: str) -> bool:
    """Whether eu's API server serves a path by now."""
    try:
        fleet["eu"].admin.call("GET", path)
    except StatusError:
        return False
    return True


def test_the_fleet_is_listed_and_checked(fleet: Fleet, run: Run) -> None:
    config = ("--kubeconfig", str(fleet.kubeconfig()))
    code, told, _ = run("fleet", "list", *config, "--json")
    found = {one["name"]: (one["state"], one["region"], one["nodes"]) for one in json.loads(told)["clusters"]}
    assert (code, found) == (0, {name: ("ready", name, 3) for name in ("ap", "eu", "us")})
    code, told, _ = run("fleet", "check", *config, "--writes", "default", "--json")
    findings = {one["cluster"]: one["findings"] for one in json.loads(told)}
    assert set(findings) == {"ap", "eu", "us"}
    assert not any("may not" in text for texts in findings.values() for text in texts)
    fleet["us"].api_server.kill()
    code, told, _ = run("fleet", "list", *config, "--wait", "8", "--json")
    states_ = {one["name"]: one["state"] for one in json.loads(told)["clusters"]}
    assert (code, states_) == (1, {"ap": "ready", "eu": "ready", "us": "dark"})


def placed(service: Process, body: Json) -> dict[str, int]:
    """Where it was carried out to."""
    asked = {"manifest": body, "dry_run": False, "deadline_ms": 60_000}
    status, answer = service.call("POST", "/v1/placements", asked)
    assert (status, answer["became"], answer["unplaced"]) == (200, "carried_out", 0), answer
    return {one["cluster"]: one["replicas"] for one in answer["placements"]}


def test_a_drained_cluster_is_emptied_and_nobody_is_missing_meanwhile(
    fleet: Fleet, namespace: str, service: Process, run: Run
) -> None:
    where = placed(service, deployment(f"{namespace}/web", 4))
    leaves = max(where, key=lambda name: where[name])
    assert running(fleet, namespace) == where
    code, told, _ = run("fleet", "drain", leaves, "--reason", "kernel", "--service", service.url)
    assert (code, told) == (0, f"{leaves}: draining\n")
    end, least = time.monotonic() + 90.0, 4
    while leaves in (found := running(fleet, namespace)) or sum(found.values()) != 4:
        least = min(least, sum(found.values()))
        assert time.monotonic() < end, found
        time.sleep(0.2)
    assert least == 4
    assert run("fleet", "uncordon", leaves, "--service", service.url)[0] == 0


def test_a_killed_cluster_is_replaced_by_the_service(fleet: Fleet, namespace: str, service: Process) -> None:
    where = placed(service, deployment(f"{namespace}/web", 3))
    lost = max(where, key=lambda name: where[name])
    fleet[lost].api_server.kill()
    others = tuple({"ap", "eu", "us"} - {lost})
    wait_for(lambda: sum(running(fleet, namespace, others).values()) == 3, deadline_s=120.0, what="replacing them")

    def newest() -> Json:
        kept = service.call("GET", "/v1/decisions?limit=20")[1]["decisions"]
        return dict(next(one for one in kept if one["kind"] == "placement"))

    wait_for(lambda: newest()["applied"], what="writing down that it was carried out")
    assert any(one["cluster"] == lost and one["filter"] == "state" for one in newest()["filtered"])
    (row,) = service.call("GET", "/v1/placements")[1]["placements"]
    assert row["decision"] == newest()["id"]

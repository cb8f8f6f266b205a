"""`prewarm fleet` and `prewarm place` as a person types them, against fake members: what is said, what is written."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from prewarm.cli import main
from prewarm.domain import rfc3339
from tests.cli.members import Fleet, fake_fleet
from tests.cli.running import serving
from tests.federation.desk.ground import form, manifest
from tests.federation.fakeapi import NODE_METRICS, POD_METRICS, PODS, hang
from tests.federation.kubeconfig.made import config, write

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """Four cores in eu, eight in us."""
    with fake_fleet(tmp_path, eu=4, us=8) as found:
        yield found


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `prewarm ...` here, in a home of its own; status, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KUBECONFIG", raising=False)

    def run_(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as done:
            main(arguments)
        said = capsys.readouterr()
        return int(done.value.code or 0), said.out, said.err

    return run_


def file_of(folder: Path, *bodies: dict[str, Any]) -> str:
    """A file with these documents."""
    path = folder / "shop.yaml"
    path.write_text(yaml.safe_dump_all(bodies))
    return str(path)


def at(fleet: Fleet) -> tuple[str, str]:
    return "--kubeconfig", str(fleet.kubeconfig)


def test_members_are_listed_as_they_answer(fleet: Fleet, run: Run) -> None:
    code, told, errors = run("fleet", "list", *at(fleet), "--wait", "5")
    assert (code, errors) == (0, "")
    lines = [line.split() for line in told.splitlines()]
    assert lines[0][:3] == ["cluster", "context", "state"]
    assert [line[:4] for line in lines[1:]] == [["eu", "eu", "ready", "eu"], ["us", "us", "ready", "us"]]
    code, told, _ = run("fleet", "list", *at(fleet), "--json")
    found = json.loads(told)
    assert [(one["name"], one["nodes"], one["allocatable"]["cpu"]) for one in found["clusters"]] == [
        ("eu", 1, 4.0),
        ("us", 1, 8.0),
    ]


def test_the_environment_names_the_fleet_where_no_option_does(
    fleet: Fleet, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(fleet.kubeconfig))
    assert [one["name"] for one in json.loads(run("fleet", "list", "--json")[1])["clusters"]] == ["eu", "us"]


def test_a_member_that_does_not_answer_is_found(fleet: Fleet, run: Run, tmp_path: Path) -> None:
    dead = write(
        tmp_path / "dead.yaml",
        config({"d": {"server": "http://127.0.0.1:9"}}, {}, {"dead": {"cluster": "d"}}),
    )
    code, told, _ = run("fleet", "list", *at(fleet), "--kubeconfig", str(dead), "--wait", "3")
    assert code == 1
    line = next(line for line in told.splitlines() if line.startswith("dead"))
    assert line.split()[2:8] == ["dark", "-", "-", "-", "-", "-"]
    code, told, _ = run("fleet", "check", *at(fleet), "--kubeconfig", str(dead), "--wait", "3", "--json")
    findings = {one["cluster"]: one["findings"] for one in json.loads(told)}
    assert code == 1
    assert any("dark" in text for name, texts in findings.items() if name.startswith("dead") for text in texts)


def test_a_check_says_what_is_missing(fleet: Fleet, run: Run) -> None:
    fleet["eu"].denied = {("watch", "pods"), ("patch", "deployments")}
    code, told, _ = run("fleet", "check", *at(fleet), "--writes", "shop")
    assert code == 1
    eu = told.partition("us:")[0]
    assert "may not watch pods" in eu
    assert "may not patch deployments.apps in shop" in eu
    assert "may not" not in told.partition("us:")[2]
    assert "no [[link]] tells a delay to another cluster" in told


def test_where_links_and_usage_are_known_only_the_open_wire_is_told(run: Run, tmp_path: Path) -> None:
    links = tmp_path / "prewarm.toml"
    links.write_text('[[link]]\na = "eu"\nb = "us"\ndelay_ms = 80\n')
    with fake_fleet(tmp_path, eu=4, us=8) as fleet:
        for name, member in fleet.members.items():
            at_now = {"timestamp": rfc3339(time.time()), "window": "10s", "usage": {"cpu": "1", "memory": "1Gi"}}
            member.api.objects[NODE_METRICS] = {name: {"metadata": {"name": f"{name}-1"}, **at_now}}
            member.api.objects[POD_METRICS] = {}
        code, told, _ = run("fleet", "check", *at(fleet), "--config", str(links), "--writes", "shop", "--json")
    open_wire = "plain http: neither credentials nor data are encrypted"
    findings = {one["cluster"]: one["findings"] for one in json.loads(told)}
    assert (code, findings) == (1, {"eu": [open_wire], "us": [open_wire]})


@pytest.mark.parametrize("wait", ["nan", "-1", "inf", "soon"])
def test_a_wait_must_be_a_number_of_seconds(run: Run, wait: str) -> None:
    code, told, errors = run("fleet", "list", "--wait", wait)
    assert (code, told) == (2, "")
    assert "--wait" in errors


def test_a_dry_run_is_the_default_and_keeps_nothing(fleet: Fleet, run: Run, tmp_path: Path) -> None:
    file = file_of(tmp_path, manifest(replicas=6))
    code, told, errors = run("place", "-f", file, *at(fleet))
    assert (code, errors) == (0, "")
    assert told.startswith("shop/checkout: 6 of 6 placed (a dry run; --apply puts it there)\n")
    assert "of the traffic" in told
    assert " scores " in told
    assert fleet.placed == {}


def test_what_is_applied_is_there_and_what_is_deleted_is_gone(fleet: Fleet, run: Run, tmp_path: Path) -> None:
    file = file_of(tmp_path, manifest(replicas=10))
    code, told, _ = run("place", "-f", file, *at(fleet), "--apply", "--json")
    (answer,) = json.loads(told)
    assert (code, answer["good"], answer["verdict"], answer["carried_out"]) == (0, True, "done", True), answer
    decided = {one["cluster"]: one["replicas"] for one in answer["placements"]}
    assert sum(decided.values()) == 10
    assert fleet.placed == {name: {"checkout": count} for name, count in decided.items()}
    again = run("place", "-f", file, *at(fleet), "--apply", "--json")
    (answer,) = json.loads(again[1])
    assert (again[0], answer["verdict"]) == (0, "unchanged"), answer
    code, told, _ = run("place", "-f", file, *at(fleet), "--delete")
    assert code == 0
    assert told.startswith("shop/checkout: removed\n")
    assert fleet.placed == {}
    code, told, _ = run("place", "-f", file, *at(fleet), "--delete")
    assert (code, told) == (0, "shop/checkout: nothing of ours was there\n")


def test_what_fits_nowhere_is_said_and_found(fleet: Fleet, run: Run, tmp_path: Path) -> None:
    file = file_of(tmp_path, manifest(replicas=20), manifest("stock", 1))
    code, told, _ = run("place", "-f", file, *at(fleet), "--json")
    many, one = json.loads(told)
    assert code == 1
    assert (many["good"], many["unplaced"]) == (False, 8)
    assert many["told"].startswith("shop/checkout: 12 of 20 placed")
    assert one["workload"] == "shop/stock"
    for score in one["scores"] + many["scores"]:
        assert sum(part["contribution"] for part in score["factors"]) == pytest.approx(score["score"], abs=1e-6)


def test_a_node_by_name_decides_the_member_and_where_nothing_goes_nothing_is_offered(
    fleet: Fleet, run: Run, tmp_path: Path
) -> None:
    def bound(host: str) -> str:
        body = manifest(replicas=2)
        body["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": host}
        return run("place", "-f", file_of(tmp_path, body), *at(fleet))[1]

    assert "us: 2 instances (was 0)" in bound("us-1")
    told = bound("nobody").splitlines()
    assert told[0] == "shop/checkout: 0 of 2 placed (a dry run)"
    assert "  us is out (affinity): no node with kubernetes.io/hostname In nobody" in told


def test_the_standard_input_is_a_file_too(fleet: Fleet, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(form(replicas=2))))
    code, told, _ = run("place", "-f", "-", *at(fleet))
    assert code == 0
    assert told.startswith("shop/checkout: 2 of 2 placed (decided only)\n")
    assert "a manifest is needed to put it there" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kind: [", "shop.yaml"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "shop.yaml"),
        ("key: shop/a\nreplicas: two\n", "replicas"),
        ("key: shop/a\nreplicas: 1\ncolour: red\n", "colour: unknown field"),
        ("", "shop.yaml"),
    ],
)
def test_a_bad_file_is_one_line_and_status_2(fleet: Fleet, run: Run, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "shop.yaml").write_text(text)
    code, output, errors = run("place", "-f", "shop.yaml", *at(fleet))
    assert (code, output) == (2, "")
    assert errors.startswith("prewarm: ")
    assert errors.count("\n") == 1
    assert told in errors


def test_wrong_use_is_status_2_and_names_the_option(fleet: Fleet, run: Run, tmp_path: Path) -> None:
    file = file_of(tmp_path, manifest())
    assert run("place", "-f", file, *at(fleet), "--apply", "--delete")[::2] == (
        2,
        "prewarm: --delete: cannot go with --apply\n",
    )
    code, _, errors = run("place", "-f", str(tmp_path / "absent.yaml"), *at(fleet))
    assert (code, "absent.yaml: cannot be read" in errors) == (2, True)
    code, _, errors = run("place", "-f", file, "--kubeconfig", str(tmp_path / "none.yaml"))
    assert (code, "none.yaml" in errors) == (2, True)
    code, _, errors = run("place", "-f", file, *at(fleet), "--route", "eu")
    assert (code, "--route: must be CLUSTER:[NAMESPACE/]GATEWAY" in errors) == (2, True)
    code, _, errors = run("fleet", "cordon", "eu", "--reason", " ", "--service", "http://127.0.0.1:9")
    assert (code, errors) == (2, "prewarm: --reason: must say something\n")


def test_without_members_there_is_one_line(run: Run, tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.yaml", config())
    code, output, errors = run("place", "-f", file_of(tmp_path, manifest()), "--kubeconfig", str(empty))
    assert (code, output) == (2, "")
    assert "fleet: has no members" in errors
    code, _, errors = run("fleet", "list")
    assert code == 2
    assert errors.count("\n") == 1


def test_a_silent_member_delays_no_longer_than_it_was_given(fleet: Fleet, run: Run, tmp_path: Path) -> None:
    fleet["us"].api.always(PODS, hang())
    code, told, _ = run("place", "-f", file_of(tmp_path, manifest(replicas=2)), *at(fleet), "--wait", "0.5")
    assert code == 0
    assert "eu: 2 instances" in told


@pytest.mark.parametrize(
    "command",
    [
        *(["fleet", *one] for one in ([], ["list"], ["check"], ["cordon"], ["drain"], ["uncordon"])),
        ["place"],
        ["explain"],
    ],
    ids=" ".join,
)
def test_help_shows_an_example(run: Run, command: list[str]) -> None:
    code, told, _ = run(*command, "--help")
    assert code == 0
    assert "Example" in told


def test_the_service_over_kubeconfig_shows_places_explains_and_drains(fleet: Fleet, run: Run, tmp_path: Path) -> None:
    with serving(tmp_path, *at(fleet)) as service:
        service.until("/readyz")
        there = ("--service", service.url)
        wanted = [("eu", "ready"), ("us", "ready")]
        while [(one["name"], one["state"]) for one in service.until("/v1/clusters")["clusters"]] != wanted:
            pass
        status, asked = service.call("POST", "/v1/placements", {"manifest": manifest(replicas=3)})
        assert (status, asked["became"]) == (200, "dry_run"), asked
        code, told, _ = run("explain", asked["decision"], *there)
        assert code == 0
        assert told.startswith("shop/checkout: 0 -> 3 instances (shadow, not carried out)")
        assert "of the traffic" in told
        assert " scores " in told
        assert f"id {asked['decision']}" in told
        assert run("fleet", "cordon", "eu", "--reason", "kernel", *there)[:2] == (0, "eu: cordoned\n")
        assert run("fleet", "drain", "eu", "--reason", "kernel", "--wait", "5", *there)[:2] == (
            0,
            "eu: draining\neu: empty\n",
        )
        assert service.call("GET", "/v1/clusters/eu")[1]["state"] == "cordoned"
        assert run("fleet", "uncordon", "eu", *there)[:2] == (0, "eu: open\n")
        code, _, errors = run("fleet", "uncordon", "eu", *there)
        assert (code, errors) == (2, "prewarm: eu is not under maintenance\n")
        assert service.stop() == 0

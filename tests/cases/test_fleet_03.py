"""Reported: names that clouds give to contexts were cut to fit a label, and two clusters became one."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
import yaml

from federation.kubeconfig.listing import Listing
from federation.kubeconfig.source import FleetSource, Places
from prewarm.cli import main
from tests.cli.members import Fleet, fake_fleet
from tests.cli.running import serving
from tests.federation.desk.ground import manifest
from tests.federation.kubeconfig.made import config, write

LONG = "gke_sample-project_europe-north1-b_shop-production-with-a-rather-long-cluster-name-"
NAMES = [
    "arn:aws:eks:eu-north-1:000000000000:cluster/shop-prod",
    f"{LONG}0001",
    f"{LONG}0002",
    "Team A/prod",
]


async def fleet(folder: Path, names: list[str]) -> Listing:
    """A file with these contexts, all of one cluster."""
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443", "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": "made-up"}}],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in names],
    }
    (folder / "config").write_text(yaml.safe_dump(tree))
    return await FleetSource(Places(files=(folder / "config",)), {}).read()


async def test_four_names_are_four_ids_that_kubernetes_takes(tmp_path: Path) -> None:
    ids = [member.spec.id for member in (await fleet(tmp_path, NAMES)).members]
    assert len(set(ids)) == 4
    for one in ids:
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", one)


async def test_ids_survive_a_restart_and_another_order(tmp_path: Path) -> None:
    first = await fleet(tmp_path, NAMES)
    second = await fleet(tmp_path, NAMES[::-1])
    assert {m.spec.context: m.spec.id for m in first.members} == {m.spec.context: m.spec.id for m in second.members}


async def test_the_names_that_people_know_still_find_their_members(tmp_path: Path) -> None:
    found = await fleet(tmp_path, NAMES)
    for name in NAMES:
        in_an_address = quote(name, safe="")
        assert found.find(unquote(in_an_address)).spec.context == name


ID = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@pytest.fixture
def one_server(tmp_path: Path) -> Iterator[Fleet]:
    """The four contexts of one API server with eight cores."""
    with fake_fleet(tmp_path, c=8) as found:
        clusters = {"c": {"server": found["c"].api.url}}
        contexts = {name: {"cluster": "c", "user": "u"} for name in NAMES}
        found.kubeconfig = write(tmp_path / "awkward.yaml", config(clusters, {"u": {"token": "made-up"}}, contexts))
        yield found


def test_the_list_has_four_members_and_work_goes_to_the_one_that_stands_for_all(
    one_server: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> object:
        with pytest.raises(SystemExit) as done:
            main((*arguments, "--kubeconfig", str(one_server.kubeconfig), "--json"))
        assert not done.value.code
        return json.loads(capsys.readouterr().out)

    listed = run("fleet", "list", "--wait", "5")
    assert isinstance(listed, dict)
    rows = {one["context"]: one for one in listed["clusters"]}
    assert sorted(rows) == sorted(NAMES)
    ids = {one["name"] for one in rows.values()}
    assert len(ids) == 4
    assert all(ID.fullmatch(one) for one in ids)
    (first,) = (one["name"] for one in rows.values() if one["state"] == "ready")
    others = [one for one in rows.values() if one["name"] != first]
    assert {one["why"] for one in others} == {f"is the same API server as {first}, which stands for it"}
    assert {one["nodes"] for one in others} == {None}  # counted once, and not as zero either
    body = tmp_path / "web.yaml"
    body.write_text(yaml.safe_dump(manifest("web", 3)))
    placed = run("place", "-f", str(body), "--database", str(tmp_path / "place.db"))
    assert isinstance(placed, list)
    assert [(one["cluster"], one["replicas"]) for one in placed[0]["placements"]] == [(first, 3)]


def test_the_service_finds_members_by_their_known_names_and_metrics_tell_four_apart(
    one_server: Fleet, tmp_path: Path
) -> None:
    folder = tmp_path / "service"
    folder.mkdir()
    with serving(folder, "--kubeconfig", str(one_server.kubeconfig)) as service:
        found = {name: service.until(f"/v1/clusters/{quote(name, safe='')}") for name in NAMES}
        assert {name: one["context"] for name, one in found.items()} == {name: name for name in NAMES}
        ids = {one["name"] for one in found.values()}
        with urllib.request.urlopen(service.url.rstrip("/") + "/metrics", timeout=10) as answer:
            told = answer.read().decode()
        assert set(re.findall(r'prewarm_cluster_state{cluster="([^"]*)"', told)) == ids
        assert len(ids) == 4

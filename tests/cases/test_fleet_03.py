"""Reported: names that clouds give to contexts were cut to fit a label, and two clusters became one."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, unquote

import yaml

from federation.kubeconfig.listing import Listing
from federation.kubeconfig.source import FleetSource, Places

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

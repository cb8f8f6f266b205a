"""Reported: a kubeconfig with null sections, or one context that leads nowhere, and no member was left at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from federation.kubeconfig.listing import Listing
from federation.kubeconfig.source import FleetSource, Places, kubeconfig_paths

EMPTY = """\
apiVersion: v1
kind: Config
clusters: null
contexts: null
users: null
preferences: {}
"""
FLEET = """\
apiVersion: v1
kind: Config
clusters:
- name: north
  cluster: {server: "https://127.0.0.1:6443", insecure-skip-tls-verify: true}
contexts:
- name: north-admin
  context: {cluster: north, user: north-admin}
- name: ghost
  context: {cluster: does-not-exist, user: north-admin}
- name: north-anonymous
  context: {cluster: north}
users:
- name: north-admin
  user: {token: made-up-token-north}
"""


@pytest.fixture(params=["KUBECONFIG", "--kubeconfig"])
async def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Listing:
    """Both files, in both ways of naming them."""
    empty, full = tmp_path / "empty.yaml", tmp_path / "fleet.yaml"
    empty.write_text(EMPTY)
    full.write_text(FLEET)
    if request.param == "KUBECONFIG":
        return await FleetSource(Places(merged=kubeconfig_paths(f"{empty}:{full}")), {}).read()
    return await FleetSource(Places(files=(empty, full)), {}).read()


def test_the_members_that_can_work_are_there(fleet: Listing) -> None:
    assert sorted(member.spec.context for member in fleet.members) == ["north-admin", "north-anonymous"]
    assert fleet.current_context is None


def test_the_one_that_leads_nowhere_says_so(fleet: Listing) -> None:
    (ghost,) = fleet.broken
    assert ghost.context == "ghost"
    assert "cluster 'does-not-exist' is missing" in ghost.why


def test_the_empty_file_is_one_notice(fleet: Listing) -> None:
    (notice,) = fleet.notices
    assert "empty.yaml" in notice


async def test_each_member_sends_only_what_is_its_own(fleet: Listing) -> None:
    assert dict(await fleet.find("north-anonymous").open().headers()) == {}
    assert dict(await fleet.find("north-admin").open().headers()) == {"Authorization": "Bearer made-up-token-north"}

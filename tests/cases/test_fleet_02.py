"""Reported: two sites set up by the same tool have the same names, and one was called with the other's token."""

from __future__ import annotations

from pathlib import Path

import pytest

from federation.kubeconfig.access import MemberError
from federation.kubeconfig.listing import Listing
from federation.kubeconfig.source import FleetSource, Places

SITES = {"site-a": "10.10.0.1", "site-b": "10.20.0.1"}


def site(folder: Path, address: str) -> Path:
    """A site's kubeconfig, with something beside it that is no certificate."""
    (folder / "pki").mkdir(parents=True)
    (folder / "pki/ca.crt").write_text("placeholder: not a certificate\n")
    file = folder / "kubeconfig.yaml"
    file.write_text(f"""\
apiVersion: v1
kind: Config
current-context: admin@kubernetes
clusters:
- name: kubernetes
  cluster: {{server: "https://{address}:6443", certificate-authority: pki/ca.crt}}
contexts:
- name: admin@kubernetes
  context: {{cluster: kubernetes, user: admin}}
users:
- name: admin
  user: {{token: made-up-token-{folder.name}}}
""")
    return file


@pytest.fixture
async def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Listing:
    """Both sites, read from a third folder."""
    files = tuple(site(tmp_path / name, address) for name, address in SITES.items())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return await FleetSource(Places(files=files), {}).read()


async def test_each_site_is_a_member_with_its_own_server_and_token(fleet: Listing) -> None:
    assert len({member.spec.id for member in fleet.members}) == 2
    for name, address in SITES.items():
        member = fleet.find(f"{name}/kubeconfig.yaml#admin@kubernetes")
        assert member.spec.server == f"https://{address}:6443"
        assert (await member.open().headers())["Authorization"] == f"Bearer made-up-token-{name}"


async def test_a_wrong_certificate_is_named_by_the_file_of_its_own_site(fleet: Listing, tmp_path: Path) -> None:
    for name in SITES:
        member = fleet.find(f"{name}/kubeconfig.yaml#admin@kubernetes")
        with pytest.raises(MemberError, match="is not a certificate") as caught:
            await member.open().tls()
        assert str(tmp_path / name / "pki/ca.crt") in str(caught.value)

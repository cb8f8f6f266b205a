"""ClusterProfiles as a source of members, and the pod's own account as another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from federation.kubeconfig.source import FleetSource, Places
from prewarm.domain import InputError
from tests.federation.kubeconfig.made import SERVER, Tree, config, write

EXTENSION = "clusterprofiles.multicluster.x-k8s.io/exec/additional-"


def profile(name: str, *offered: str, field: str = "accessProviders", **more: Any) -> Tree:
    """A ClusterProfile that takes credentials of these kinds."""
    cluster = {"server": SERVER, **more}
    return {
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {"name": name, "namespace": "fleet", "labels": {"x-k8s.io/cluster-manager": "hub", "region": "?"}},
        "spec": {"displayName": name, "clusterManager": {"name": "hub"}},
        "status": {
            "properties": [{"name": "region", "value": "north"}, {"name": "price", "value": "0.12"}],
            field: [{"name": kind, "cluster": cluster} for kind in offered],
        },
    }


def provider(name: str, command: str = "./login", **more: Any) -> Tree:
    """How credentials of a kind are got."""
    version = "client.authentication.k8s.io/v1"
    return {"name": name, "execConfig": {"apiVersion": version, "command": command, **more.pop("exec", {})}, **more}


def places(folder: Path, *kinds: Tree) -> Places:
    """A folder of profiles and the providers' file beside it."""
    (folder / "profiles").mkdir(exist_ok=True)
    file = write(folder / "providers.json", {"providers": list(kinds)})
    return Places(profiles=folder / "profiles", providers=file)


async def test_a_profile_is_a_member_with_its_properties_as_labels(tmp_path: Path) -> None:
    where = places(tmp_path, provider("cloud"))
    file = write(tmp_path / "profiles/a.yaml", profile("a", "other", "cloud", **{"tls-server-name": "api"}))
    (member,) = (await FleetSource(where, {}).read()).members
    assert member.spec.context == "fleet/a"
    assert member.spec.id.startswith("fleet-a-")
    assert (member.spec.source, member.spec.server, member.spec.tls_server_name) == (file, SERVER, "api")
    assert member.labels == {"region": "north", "price": "0.12", "x-k8s.io/cluster-manager": "hub"}
    assert member.login.plugin is not None
    assert member.login.plugin.command == str(tmp_path / "login")


async def test_the_older_field_is_read_and_the_newer_one_wins(tmp_path: Path) -> None:
    where = places(tmp_path, provider("cloud"))
    older = profile("old", "cloud", field="credentialProviders")
    both = profile("both", "cloud", server="https://new")
    both["status"]["credentialProviders"] = [{"name": "cloud", "cluster": {"server": "https://old"}}]
    write(tmp_path / "profiles/list.json", {"apiVersion": "v1", "kind": "List", "items": [older, both]})
    found = await FleetSource(where, {}).read()
    assert found.find("fleet/old").spec.server == SERVER
    assert found.find("fleet/both").spec.server == "https://new"


async def test_our_order_of_providers_decides(tmp_path: Path) -> None:
    where = places(tmp_path, provider("second", "two"), provider("first", "one"))
    write(tmp_path / "profiles/a.yaml", profile("a", "first", "second"))
    (member,) = (await FleetSource(where, {}).read()).members
    assert member.login.plugin is not None
    assert member.login.plugin.command == "two"


@pytest.mark.parametrize(
    ("policies", "args", "env"),
    [
        ({}, ("--ours",), {"A": "ours"}),
        (
            {"profileSourcedCLIArgsPolicy": "Ignore", "profileSourcedEnvVarsPolicy": "Ignore"},
            ("--ours",),
            {"A": "ours"},
        ),
        ({"profileSourcedCLIArgsPolicy": "Append"}, ("--ours", "--theirs"), {"A": "ours"}),
        ({"profileSourcedEnvVarsPolicy": "AppendIfNotExists"}, ("--ours",), {"A": "ours", "B": "theirs"}),
        ({"profileSourcedEnvVarsPolicy": "Replace"}, ("--ours",), {"A": "theirs", "B": "theirs"}),
    ],
)
async def test_what_a_profile_adds_counts_only_where_we_let_it(
    tmp_path: Path, policies: Tree, args: tuple[str, ...], env: dict[str, str]
) -> None:
    ours = {"args": ["--ours"], "env": [{"name": "A", "value": "ours"}]}
    extensions = [
        {"name": f"{EXTENSION}args", "extension": ["--theirs"]},
        {"name": f"{EXTENSION}envs", "extension": {"A": "theirs", "B": "theirs"}},
        {"name": "client.authentication.k8s.io/exec", "extension": {"id": 7}},
    ]
    where = places(tmp_path, provider("cloud", exec=ours, **policies))
    write(tmp_path / "profiles/a.yaml", profile("a", "cloud", extensions=extensions))
    (member,) = (await FleetSource(where, {}).read()).members
    assert member.login.plugin is not None
    assert member.login.plugin.args == args
    assert dict(member.login.plugin.env) == env
    assert member.endpoint.plugin_config == '{"id": 7}'


async def test_a_profile_that_cannot_be_a_member_says_why(tmp_path: Path) -> None:
    where = places(tmp_path, provider("cloud"))
    write(tmp_path / "profiles/a.yaml", profile("a", "other", "more"))
    write(tmp_path / "profiles/b.yaml", profile("b", "cloud", server=""))
    no_cluster = profile("c", "cloud")
    no_cluster["status"]["accessProviders"] = [{"name": "cloud"}]
    write(tmp_path / "profiles/c.yaml", no_cluster)
    write(tmp_path / "profiles/d.yaml", {**profile("d"), "status": None})
    found = await FleetSource(where, {}).read()
    assert found.members == ()
    why = {broken.context: broken.why for broken in found.broken}
    assert "none of its access providers is in the providers' file (it offers: more, other)" in why["fleet/a"]
    assert why["fleet/b"].endswith("server is missing")
    assert why["fleet/c"].endswith("cluster is missing")
    assert "it offers: none" in why["fleet/d"]


async def test_profiles_come_and_go_with_their_files(tmp_path: Path) -> None:
    where = places(tmp_path, provider("cloud"))
    a = write(tmp_path / "profiles/a.yaml", profile("a", "cloud"))
    source = FleetSource(where, {})
    first = await source.read()
    b = write(tmp_path / "profiles/b.json", profile("b", "cloud"))
    write(tmp_path / "profiles/..data.yaml", profile("hidden", "cloud"))
    write(tmp_path / "profiles/README.txt", "no profile")
    assert [member.spec.context for member in (await source.read()).members] == ["fleet/a", "fleet/b"]
    b.unlink()
    assert await source.read() == first
    a.write_text("kind: Pod")
    kept = await source.read()
    assert kept.members == first.members
    assert "must be a ClusterProfile" in kept.notices[0]
    (tmp_path / "profiles").rename(tmp_path / "away")
    gone = await source.read()
    assert gone.members == first.members
    assert any("its last members stay" in notice for notice in gone.notices)


async def test_a_profile_described_twice_is_one_member(tmp_path: Path) -> None:
    where = places(tmp_path, provider("cloud"))
    for name in ("a", "b"):
        write(tmp_path / f"profiles/{name}.yaml", profile("same", "cloud"))
    found = await FleetSource(where, {}).read()
    assert len(found.members) == 1
    assert found.notices == (
        f"{tmp_path}/profiles/b.yaml: ClusterProfile 'same': is described twice; this one is not used",
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ({"name": "x"}, "name and execConfig are needed"),
        (provider("x", profileSourcedCLIArgsPolicy="Replace"), "is not one of the known ones"),
        (provider("x", ""), "command is missing"),
        ({**provider("x"), "extra": 1}, "'extra' is not supported"),
    ],
)
async def test_a_wrong_providers_file_is_an_error_at_the_start(tmp_path: Path, kind: Tree, said: str) -> None:
    with pytest.raises(InputError, match=r"providers\.json: providers\[0\]") as caught:
        await FleetSource(places(tmp_path, kind), {}).read()
    assert said in str(caught.value)
    with pytest.raises(InputError, match="No such file"):
        await FleetSource(Places(profiles=tmp_path / "missing"), {}).read()


def account(folder: Path) -> Path:
    """The files that a pod finds."""
    for name, text in (("token", "made-up\n"), ("ca.crt", "x"), ("namespace", "prewarm\n")):
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
async def test_the_pods_own_cluster_is_a_member(tmp_path: Path, host: str, server: str) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    file = write(tmp_path / "config", config({"c": {"server": SERVER}}, {}, {"in-cluster": {"cluster": "c"}}))
    source = FleetSource(Places(files=(file,), pod=True, account=account(tmp_path)), environ)
    found = await source.read()
    pod = found.find("in-cluster")
    assert (pod.spec.server, pod.spec.namespace, pod.spec.source) == (server, "prewarm", "in-cluster")
    assert (await pod.open().headers())["Authorization"] == "Bearer made-up"
    assert found.find("config#in-cluster").spec.id != "in-cluster"


async def test_outside_a_pod_there_is_no_such_member(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not in a pod"):
        await FleetSource(Places(pod=True, account=account(tmp_path)), {}).read()
    environ = {"KUBERNETES_SERVICE_HOST": "a", "KUBERNETES_SERVICE_PORT": "1"}
    (tmp_path / "ca.crt").unlink()
    with pytest.raises(InputError, match=r"ca\.crt is missing"):
        await FleetSource(Places(pod=True, account=tmp_path), environ).read()

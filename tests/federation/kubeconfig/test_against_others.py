"""Whatever kubectl and the official Python client read from the same files, we read too."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from federation.kubeconfig.listing import Listing, Member
from tests.federation.kubeconfig.made import Tree, config, plugin, read

NAMES = ["a", "b", "c"]
PEM = b"-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----\n"


def pem(name: str) -> st.SearchStrategy[Tree]:
    """A file or its bytes in place; kubectl does not flatten an entry that has both."""
    inline = base64.b64encode(PEM % b"aW4gcGxhY2U=").decode()
    return st.sampled_from([{}, {name: "pki/one.crt"}, {name: "../shared.crt"}, {f"{name}-data": inline}])


clusters = st.builds(
    lambda server, authority, more: {"server": server, **authority, **more},
    st.sampled_from(
        [
            "https://127.0.0.1:6443",
            "https://[::1]:6443",
            "http://10.0.0.1:8080",
            "https://rancher.example/k8s/clusters/c-x1",
        ]
    ),
    pem("certificate-authority") | st.just({"insecure-skip-tls-verify": True}),
    st.fixed_dictionaries(
        {},
        optional={
            "tls-server-name": st.sampled_from(["kubernetes", "api.example"]),
            "proxy-url": st.sampled_from(["http://proxy:3128", "socks5://[::1]:1080"]),
            "disable-compression": st.booleans(),
        },
    ),
)
pairs = st.builds(
    lambda data, path: {**data, **path},
    st.sampled_from([{"client-certificate": "pki/one.crt"}, {"client-certificate-data": "Y2VydA=="}]),
    st.sampled_from([{"client-key": "pki/one.key"}, {"client-key-data": "a2V5"}]),
)
users = st.one_of(
    st.sampled_from([{}, None]),
    st.builds(lambda token: {"token": token}, st.sampled_from(["made-up-1", "1:30", "2026-01-01", "yes", "0x1F"])),
    st.just({"tokenFile": "pki/token"}),
    st.just({"username": "ann", "password": "p:w"}),
    pairs,
    st.just(
        {"token": "made-up", "as": "bob", "as-uid": "7", "as-groups": ["g", "h"], "as-user-extra": {"k": ["1", "2"]}}
    ),
    st.just(plugin("./bin/login", args=["--x"], env=[{"name": "A", "value": "1"}], provideClusterInfo=True)),
    st.just(plugin("aws", installHint="install it")),
)
contexts = st.fixed_dictionaries(
    {"cluster": st.sampled_from([*NAMES, "none"])},
    optional={"user": st.sampled_from([*NAMES, "none"]), "namespace": st.sampled_from(["shop", "default"])},
)
trees = st.builds(
    lambda c, u, x, current: config(c, u, x, **({"current-context": current} if current else {})),
    st.dictionaries(st.sampled_from(NAMES), clusters),
    st.dictionaries(st.sampled_from(NAMES), users),
    st.dictionaries(st.sampled_from([*NAMES, "Team A/prod"]), contexts),
    st.sampled_from(["", "a", "b"]),
)
nothing = st.sampled_from(["", "# nothing\n", "clusters: null\ncontexts: null\nusers: null\n", "{}"])
texts = st.one_of(trees.map(yaml.safe_dump), trees.map(lambda tree: json.dumps(tree, indent="\t")), nothing)


def lay_out(folder: Path, files: list[str]) -> list[Path]:
    """The files, each in a folder of its own with its certificates; then a missing one, and the first once more."""
    paths = []
    for i, text in enumerate(files):
        pki = folder / f"site{i}" / "pki"
        pki.mkdir(parents=True)
        for name in ("one.crt", "one.key", "token"):
            (pki / name).write_bytes(PEM % f"{i} {name}".encode())
        paths.append(pki.parent / "config")
        paths[-1].write_text(text)
    (folder / "shared.crt").write_bytes(PEM % b"shared")
    return [*paths, folder / "missing", paths[0]]


def view(kubectl: Path, paths: list[Path]) -> dict[str, Any]:
    """What kubectl makes of the files, with everything put in place."""
    environ = {"KUBECONFIG": os.pathsep.join(map(str, paths)), "HOME": str(paths[0].parent)}
    command = [str(kubectl), "config", "view", "--raw", "--merge", "--flatten", "-o", "json"]
    done = subprocess.run(command, env=environ, capture_output=True, timeout=30, cwd="/")
    assert done.returncode == 0, done.stderr
    tree: dict[str, Any] = json.loads(done.stdout)
    return tree


def table(tree: dict[str, Any], section: str, inner: str) -> dict[str, Any]:
    """A section by name."""
    return {entry["name"]: entry[inner] or {} for entry in tree.get(section) or []}


def as_cluster(member: Member) -> Tree:
    """Our endpoint in kubectl's words."""
    way = member.endpoint
    found: Tree = {
        "server": way.server,
        "tls-server-name": way.tls_server_name,
        "insecure-skip-tls-verify": way.insecure,
        "certificate-authority-data": base64.b64encode(way.ca.read()).decode() if way.ca else None,
        "proxy-url": way.proxy_url,
        "disable-compression": way.disable_compression,
    }
    return {name: value for name, value in found.items() if value}


def as_user(member: Member) -> Tree:
    """Our login in kubectl's words."""
    who, headers = member.login, member.login.impersonation
    found: Tree = {
        "token": who.token,
        "tokenFile": who.token_file and str(who.token_file),
        "username": who.basic and who.basic[0],
        "password": who.basic and who.basic[1],
        "client-certificate-data": who.certificate and base64.b64encode(who.certificate.read()).decode(),
        "client-key-data": who.key and base64.b64encode(who.key.read()).decode(),
        "as": next((text for name, text in headers if name == "Impersonate-User"), None),
        "as-uid": next((text for name, text in headers if name == "Impersonate-Uid"), None),
        "as-groups": [text for name, text in headers if name == "Impersonate-Group"],
        "as-user-extra": {"k": extra} if (extra := [t for n, t in headers if n == "Impersonate-Extra-k"]) else None,
        "exec": who.plugin
        and {
            "apiVersion": who.plugin.api_version,
            "command": who.plugin.command,
            "args": list(who.plugin.args) or None,
            "env": [{"name": name, "value": value} for name, value in who.plugin.env] or None,
            "installHint": who.plugin.install_hint,
            "interactiveMode": "Never",
            "provideClusterInfo": who.plugin.provide_cluster_info,
        },
    }
    return {name: value for name, value in found.items() if value}


def home(paths: list[Path], section: str, name: str) -> Path:
    """The folder of the first file whose section has the name."""
    return first(paths, section, name)[0].parent


def first(paths: list[Path], section: str, name: str) -> tuple[Path, Tree]:
    """The first file whose section has the name, and what it says there."""
    for path in filter(Path.exists, paths):
        text = path.read_text()
        tree = (json.loads if text.startswith("{") else yaml.safe_load)(text) or {}
        for entry in tree.get(section) or []:
            if entry["name"] == name:
                return path, entry
    raise AssertionError(name)


def assert_same(ours: Listing, theirs: dict[str, Any], paths: list[Path]) -> None:
    """Every context of kubectl's is a member that says the same, or refers to something that kubectl lacks too."""
    contexts = table(theirs, "contexts", "context")
    clusters, users = table(theirs, "clusters", "cluster"), table(theirs, "users", "user")
    assert {m.spec.context for m in ours.members} | {b.context for b in ours.broken} == set(contexts)
    assert ours.current_context == (theirs.get("current-context") or None)
    for member in ours.members:
        context = contexts[member.spec.context]
        assert as_cluster(member) == clusters[context["cluster"]]
        user = dict(users[context["user"]]) if context.get("user") else {}
        if "exec" in user:  # kubectl prints what is empty too, or leaves out what is null
            user["exec"] = {"args": None, "env": None, "installHint": None, **user["exec"]}
            user["exec"]["installHint"] = user["exec"]["installHint"] or None
        # kubectl resolves these two when they are used, not when they are shown
        if "tokenFile" in user:
            user["tokenFile"] = str(home(paths, "users", context["user"]) / user["tokenFile"])
        if user.get("exec", {}).get("command", "").startswith("./"):
            user["exec"]["command"] = str(home(paths, "users", context["user"]) / user["exec"]["command"])
        assert as_user(member) == user
        assert member.spec.namespace == context.get("namespace", "default")
    for broken in ours.broken:
        context = contexts[broken.context]
        missing = context["cluster"] not in clusters or context["user"] not in users
        assert missing, broken.why


@settings(max_examples=25, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(files=st.lists(texts, min_size=1, max_size=3))
def test_a_merged_fleet_is_what_kubectl_shows_of_the_same_files(kubectl: Path, files: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = lay_out(Path(folder), files)
        assert_same(asyncio.run(read(merged=paths)), view(kubectl, paths), paths)


@settings(max_examples=15, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(files=st.lists(trees.map(yaml.safe_dump), min_size=1, max_size=3))
def test_each_member_is_what_the_official_client_would_connect_to(files: list[str]) -> None:
    from kubernetes import client
    from kubernetes.config import kube_config

    with tempfile.TemporaryDirectory() as folder:
        paths = lay_out(Path(folder), files)[:-2]
        names = os.pathsep.join(map(str, paths))
        for member in asyncio.run(read(merged=paths)).members:
            context = first(paths, "contexts", member.spec.context)[1]["context"]
            user = context.get("user")
            if member.login.plugin or (user and first(paths, "users", user)[1]["user"] is None):
                continue  # it would run the plugin, and refuse a user of whom nothing is said, which kubectl accepts
            theirs = client.Configuration()
            try:
                kube_config.load_kube_config(names, context=member.spec.context, client_configuration=theirs)
            except kube_config.ConfigException as error:
                pytest.fail(f"{member.spec.context}: {error}")
            together = not user or home(paths, "clusters", context["cluster"]) == home(paths, "users", user)
            assert_connects(member, theirs, together=together)


def assert_connects(member: Member, theirs: Any, *, together: bool) -> None:
    """Our member and the official client's configuration mean the same connection. together: cluster and user are from
    one file; if not, the official client looks for the user's certificate beside the cluster's file, kubectl as we.
    """
    assert member.endpoint.server == theirs.host
    if member.login.token:
        assert list(theirs.api_key.values()) == [f"Bearer {member.login.token}"]  # its key changed between releases
    if not member.endpoint.encrypted:
        return  # the official client then forgets the certificates
    assert member.endpoint.insecure is not theirs.verify_ssl
    assert member.endpoint.tls_server_name == theirs.tls_server_name
    assert (member.endpoint.ca and member.endpoint.ca.read()) == content(theirs.ssl_ca_cert)
    if together:
        assert (member.login.certificate and member.login.certificate.read()) == content(theirs.cert_file)


def content(path: str | None) -> bytes | None:
    """What is in a file that the official client made or names."""
    return Path(path).read_bytes() if path else None

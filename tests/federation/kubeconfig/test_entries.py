"""Entries are judged before any connection: what is wrong names file, entry and field, and breaks this member only."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.federation.kubeconfig.made import SERVER, config, only, plugin, read, single, why_broken, write

SECRET = "made-up-secret"


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ({}, "server is missing"),
        ({"server": None}, "server is missing"),
        ({"server": 6443}, "server must be text, is a number"),
        ({"server": "ftp://a"}, "server must be an http or https URL"),
        ({"server": "https://u:made-up-secret@a"}, "server must be an http or https URL without user name"),
        ({"server": "https://a:0"}, "server must be"),
        ({"server": "https://a:66000"}, "server must be a URL"),
        ({"server": "https://[::1"}, "server must be a URL"),
        ({"server": "https://a/?b=c"}, "server must be"),
        ({"server": "a/b"}, "server must be"),
        ({"server": "https://a b"}, "server must be"),
        ({"server": SERVER, "proxy-url": "socks4://p"}, "proxy-url must be an http, https or socks5 URL with a host"),
        ({"server": SERVER, "proxy-url": "p:3128"}, "proxy-url must be"),
        ({"server": SERVER, "proxy-url": "http://"}, "proxy-url must be"),
        ({"server": SERVER, "proxy-url": "http://u:made-up-secret@p:x"}, "proxy-url must be"),
        (
            {"server": SERVER, "certificate-authority-data": "made-up-secret!"},
            "certificate-authority-data must be base64",
        ),
        (
            {"server": SERVER, "insecure-skip-tls-verify": "true"},
            "insecure-skip-tls-verify must be true or false, is text",
        ),
        ({"server": SERVER, "insecure-skip-tls-verify": True, "certificate-authority": "a"}, "contradicts"),
        ({"server": SERVER, "extensions": {}}, "extensions must be a list, is a mapping"),
        ({"server": SERVER, "tls-server-name": "a\nb"}, "tls-server-name must not hold line breaks"),
        ({"server": SERVER, "certificate-autority": "x"}, "'certificate-autority' is not supported"),
    ],
)
async def test_a_cluster_entry_that_cannot_work(tmp_path: Path, cluster: dict[str, Any], said: str) -> None:
    why = await why_broken(tmp_path, cluster)
    assert why.startswith(f"{tmp_path / 'config'}: cluster 'c'")
    assert said in why
    assert SECRET not in why


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ({"token": 7}, "token must be text, is a number"),
        ({"token": f"{SECRET}\n"}, "token must not hold line breaks"),
        ({"token": SECRET, "username": "ann"}, "token and username are both given"),
        ({"tokenFile": "t", "password": SECRET}, "token and username are both given"),
        ({"username": f"a:{SECRET}"}, "username must not hold a colon"),
        ({"client-certificate-data": "eA=="}, "must be given together"),
        ({"client-key": "k"}, "must be given together"),
        ({"client-key-data": SECRET}, "client-key-data must be base64"),
        ({"auth-provider": {"name": "gcp"}}, "auth-provider is legacy and not supported"),
        ({"as-groups": ["g"]}, "need as"),
        ({"as": "a", "as-groups": "g"}, "as-groups must be a list, is text"),
        ({"as": "a", "as-groups": [1]}, "as-groups must be a list of texts"),
        ({"as": "a", "as-user-extra": {"k": "v"}}, "k must be a list, is text"),
        ({"as": "a", "as-user-extra": {"k": ["v\r\nX: y"]}}, "must not hold line breaks"),
        ({"bearer": SECRET}, "'bearer' is not supported"),
        (plugin(""), "exec: command is missing"),
        (plugin("x", interactiveMode="Always"), "interactiveMode Always needs a person"),
        (plugin("x", interactiveMode=None), "interactiveMode must be Never or IfAvailable"),
        (plugin("x", interactiveMode="Sometimes"), "interactiveMode must be Never or IfAvailable"),
        (plugin("x", apiVersion="client.authentication.k8s.io/v1alpha1"), "apiVersion must be"),
        (plugin("x", args="a"), "args must be a list, is text"),
        (plugin("x", env=[{"name": "", "value": SECRET}]), "exec.env[0]: name must be"),
        (plugin("x", env=[{"name": "A", "value": f"{SECRET}\0"}]), "exec.env[0]: value must not"),
        (plugin("x", env=["A=b"]), "exec.env[0]: must be a mapping, is text"),
        (plugin("x", policy="new"), "'policy' is not supported"),
        ({"exec": [1]}, "exec: must be a mapping, is a list"),
    ],
)
async def test_a_user_entry_that_cannot_work(tmp_path: Path, user: dict[str, Any], said: str) -> None:
    why = await why_broken(tmp_path, {"server": SERVER}, user)
    assert why.startswith(f"{tmp_path / 'config'}: user 'u'")
    assert said in why
    assert SECRET not in why


@pytest.mark.parametrize(
    ("given", "server"),
    [
        ("https://127.0.0.1:6443/", "https://127.0.0.1:6443"),
        ("https://[::1]:6443", "https://[::1]:6443"),
        ("HTTPS://Api.Example/k8s/clusters/c-1", "https://Api.Example/k8s/clusters/c-1"),
        ("http://10.0.0.1:8080", "http://10.0.0.1:8080"),
        ("localhost:8080", "http://localhost:8080"),
    ],
)
async def test_servers_of_every_kind(tmp_path: Path, given: str, server: str) -> None:
    assert (await only(tmp_path, {"server": given})).spec.server == server


async def test_a_server_without_a_scheme_is_https_where_certificates_are_spoken_of(tmp_path: Path) -> None:
    one = await only(tmp_path, {"server": "10.0.0.1:6443", "insecure-skip-tls-verify": True})
    assert one.spec.server == "https://10.0.0.1:6443"


@pytest.mark.parametrize("proxy", ["http://p:3128", "https://u:p@p", "socks5://[::1]:1080"])
async def test_proxies_of_every_kind(tmp_path: Path, proxy: str) -> None:
    one = await only(tmp_path, {"server": SERVER, "proxy-url": proxy})
    assert one.spec.proxy_url == proxy
    assert proxy not in repr(one)


async def test_everything_that_the_rest_of_the_fleet_may_know_is_in_the_spec(tmp_path: Path) -> None:
    cluster = {
        "server": SERVER,
        "tls-server-name": "api",
        "insecure-skip-tls-verify": True,
        "disable-compression": True,
    }
    tree = config({"c": cluster}, {}, {"only": {"cluster": "c", "namespace": "shop"}})
    spec = (await read(write(tmp_path / "config", tree))).members[0].spec
    assert (spec.id, spec.context, spec.source) == ("only", "only", tmp_path / "config")
    assert (spec.tls_server_name, spec.insecure, spec.disable_compression) == ("api", True, True)
    assert spec.namespace == "shop"


@pytest.mark.parametrize(
    ("cluster", "user", "said"),
    [
        ({"server": SERVER, "insecure-skip-tls-verify": True}, {}, "certificate is not checked"),
        ({"server": "http://a"}, {}, "plain http"),
        ({"server": SERVER}, {"token": SECRET, "tokenFile": "t"}, "token is used only while tokenFile cannot be read"),
        ({"server": SERVER}, {"token": SECRET, **plugin("x")}, "the exec plug-in is not run"),
        (
            {"server": SERVER, "certificate-authority": "ca.crt", "certificate-authority-data": "eA=="},
            {},
            "ca.crt is not read: certificate-authority-data wins",
        ),
    ],
)
async def test_what_works_but_should_be_known_is_a_warning(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], said: str
) -> None:
    (warning,) = (await only(tmp_path, cluster, user)).spec.warnings
    assert said in warning


async def test_data_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("the file")
    data = base64.b64encode(b"the data").decode()
    cluster = {"server": SERVER, "certificate-authority": "ca.crt", "certificate-authority-data": data}
    ca = (await only(tmp_path, cluster)).endpoint.ca
    assert ca is not None
    assert ca.read() == b"the data"


async def test_relative_paths_are_cleaned_and_taken_from_the_file_they_stand_in(tmp_path: Path) -> None:
    user = {"tokenFile": "../run/./token", **plugin("../bin/login")}
    one = await only(tmp_path / "site", {"server": SERVER, "certificate-authority": "pki/ca.crt"}, user)
    assert one.endpoint.ca is not None
    assert one.endpoint.ca.path == tmp_path / "site/pki/ca.crt"
    assert one.login.token_file == tmp_path / "run/token"
    assert one.login.plugin is not None
    assert one.login.plugin.command == str(tmp_path / "bin/login")
    other = await only(tmp_path, {"server": SERVER}, plugin("aws"))
    assert other.login.plugin is not None
    assert other.login.plugin.command == "aws"


async def test_no_secret_shows_in_any_repr(tmp_path: Path) -> None:
    inline = base64.b64encode(SECRET.encode()).decode()
    user: dict[str, Any] = {
        **plugin("x", args=[SECRET], env=[{"name": "A", "value": SECRET}]),
        "token": SECRET,
        "client-certificate-data": inline,
        "client-key-data": inline,
        "as": "bob",
    }
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"secret": SECRET}}
    found = await read(write(tmp_path / "config", single({"server": SERVER, "extensions": [extension]}, user)))
    (one,) = found.members
    session = one.open()
    shown = "".join(map(repr, (found, one, one.endpoint, one.login, session, one.login.certificate)))
    assert SECRET not in shown
    assert inline not in shown

"""Exec plug-ins are real programs here: what they are told, what is taken from them, and what they may not do."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from federation.kubeconfig.credentials.plugin import Credential, PluginError, run
from federation.kubeconfig.login import Endpoint, Pem, Plugin, PluginLimits
from tests.federation.fakeapi import until
from tests.federation.kubeconfig.made import program

V1, V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"
LIMITS = PluginLimits(timeout_s=10.0, output_bytes=4096)
ENDPOINT = Endpoint("https://127.0.0.1:6443")
SECRET = "made-up-secret"


def answer(status: object, **more: object) -> str:
    """The shell command that prints an ExecCredential."""
    tree = {"apiVersion": V1, "kind": "ExecCredential", "status": status, **more}
    return f"cat <<'END'\n{json.dumps(tree)}\nEND"


async def outcome(folder: Path, body: str, limits: PluginLimits = LIMITS, **more: Any) -> Credential:
    """What a plug-in with this body gives."""
    command = program(folder / "login", body)
    return await run(Plugin(str(command), more.pop("api_version", V1), **more), ENDPOINT, limits)


async def failure(folder: Path, body: str, limits: PluginLimits = LIMITS, **more: Any) -> str:
    """Why a plug-in with this body gives nothing."""
    with pytest.raises(PluginError) as caught:
        await outcome(folder, body, limits, **more)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


async def test_a_token_with_its_end(tmp_path: Path) -> None:
    got = await outcome(tmp_path, answer({"token": SECRET, "expirationTimestamp": "2026-01-01T00:00:00Z"}))
    assert got == Credential(SECRET, expires_at=1_767_225_600.0)
    assert SECRET not in repr(got)


async def test_a_certificate_with_its_key_and_no_end(tmp_path: Path) -> None:
    status = {"clientCertificateData": "cert\n", "clientKeyData": "key\n", "expirationTimestamp": None}
    assert await outcome(tmp_path, answer(status)) == Credential(None, b"cert\n", b"key\n")


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_the_version_asked_for_is_told_and_must_come_back(tmp_path: Path, version: str) -> None:
    body = f'echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/info\n' + answer({"token": "t"}, apiVersion=version)
    assert (await outcome(tmp_path, body, api_version=version)).token == "t"
    told = json.loads((tmp_path / "info").read_text())
    assert told == {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    other = V1 if version == V1BETA1 else V1BETA1
    assert f"must be an ExecCredential of {other}" in await failure(tmp_path, body, api_version=other)


async def test_a_plugin_that_asks_for_the_cluster_is_told_of_it(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"authority")
    command = program(tmp_path / "login", f'echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/info\n' + answer({"token": "t"}))
    endpoint = Endpoint(
        "https://[::1]:6443",
        ca=Pem("ca", path=tmp_path / "ca.crt"),
        tls_server_name="api",
        proxy_url="socks5://proxy",
        disable_compression=True,
        plugin_config='{"audience": "fleet"}',
    )
    await run(Plugin(str(command), V1, provide_cluster_info=True), endpoint, LIMITS)
    assert json.loads((tmp_path / "info").read_text())["spec"]["cluster"] == {
        "server": "https://[::1]:6443",
        "tls-server-name": "api",
        "certificate-authority-data": base64.b64encode(b"authority").decode(),
        "proxy-url": "socks5://proxy",
        "disable-compression": True,
        "config": {"audience": "fleet"},
    }


async def test_an_authority_that_cannot_be_told_is_named(tmp_path: Path) -> None:
    endpoint = Endpoint("https://a", ca=Pem(f"certificate-authority {tmp_path}/no", path=tmp_path / "no"))
    with pytest.raises(PluginError, match=r"certificate-authority .*/no: No such file"):
        await run(Plugin("true", V1, provide_cluster_info=True), endpoint, LIMITS)


async def test_arguments_and_environment_reach_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "from us")
    body = f'printf "%s|" "$@" "$A" "$OURS" > {tmp_path}/seen\n' + answer({"token": "t"})
    await outcome(tmp_path, body, args=("x y", "--z"), env=(("A", "1 2"),))
    assert (tmp_path / "seen").read_text() == "x y|--z|1 2|from us|"


async def test_a_program_that_reads_its_input_finds_the_end_of_it(tmp_path: Path) -> None:
    assert (await outcome(tmp_path, "read answer\n" + answer({"token": "t"}))).token == "t"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({}, "holds neither a token nor a certificate"),
        ({"token": ""}, "holds neither a token nor a certificate"),
        (None, "has no status"),
        (SECRET, "status: must be a mapping, is text"),
        ({"clientCertificateData": SECRET}, "must hold both of"),
        ({"token": SECRET + "\r\nX: y"}, "token must not hold line breaks"),
        ({"token": [SECRET]}, "token must be text, is a list"),
        ({"token": SECRET, "expirationTimestamp": "soon"}, "expirationTimestamp: must be an RFC 3339 time"),
        ({"token": SECRET, "expirationTimestamp": 7}, "expirationTimestamp must be text"),
    ],
)
async def test_an_answer_that_is_no_credential(tmp_path: Path, status: object, said: str) -> None:
    assert said in await failure(tmp_path, answer(status))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (f"echo {SECRET}", "printed no JSON"),
        ("true", "printed no JSON"),
        (f"echo '[\"{SECRET}\"]'", "its answer: must be a mapping, is a list"),
        ("printf '[%.0s' $(seq 3000)", "printed no JSON"),
        ("exit 3", "exit status 3"),
        ("kill -9 $$", "exit status -9"),
        ("echo first >&2; echo 'session has ended, log in again' >&2; exit 1", "exit status 1: session has ended, log"),
        (f"echo 'refused token={SECRET}' >&2; exit 1", "refused token=…"),
        (f"echo 'Authorization: Bearer {SECRET}' >&2; exit 1", "Bearer …"),
        ("echo eyJhbGciOiJSUzI1NiIsImtpZCI6Ik5.x.y >&2; exit 1", "exit status 1: …"),
        (f"echo 'I was told {SECRET}' >&2; exit 1", "I was told …"),
    ],
)
async def test_a_program_that_fails_says_why_without_its_secrets(tmp_path: Path, body: str, said: str) -> None:
    why = await failure(tmp_path, body, env=(("PASS", SECRET),))
    assert why.startswith(f"exec plug-in {tmp_path}/login: ")
    assert said in why
    assert len(why) < 400


async def test_a_program_that_is_not_there_comes_with_its_hint(tmp_path: Path) -> None:
    missing = Plugin("no-such-login-program", V1, install_hint="Get it:\n  brew install login")
    with pytest.raises(PluginError) as caught:
        await run(missing, ENDPOINT, LIMITS)
    assert str(caught.value) == (
        "exec plug-in no-such-login-program: No such file or directory; Get it: brew install login"
    )
    (tmp_path / "plain").write_text("no program")
    with pytest.raises(PluginError, match=r"Permission denied|Exec format error"):
        await run(Plugin(str(tmp_path / "plain"), V1), ENDPOINT, LIMITS)


async def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    body = f"sleep 300 & echo $! > {tmp_path}/child\necho $$ > {tmp_path}/self\nwait"
    began = time.monotonic()
    why = await failure(tmp_path, body, PluginLimits(timeout_s=0.5))
    assert why.endswith("no answer within 0.5 s")
    assert time.monotonic() - began < 5
    started = [int((tmp_path / name).read_text()) for name in ("self", "child")]
    await until(lambda: all(map(is_gone, started)))  # both were killed; a busy machine takes a moment to end the child


async def test_what_a_program_leaves_behind_ends_too_whether_it_holds_the_output_or_not(tmp_path: Path) -> None:
    holding = f"sleep 300 & echo $! > {tmp_path}/holding\nexit 0"
    why = await failure(tmp_path, holding, PluginLimits(timeout_s=0.5))
    assert why.endswith("no answer within 0.5 s")
    quiet = f"sleep 300 > /dev/null 2>&1 & echo $! > {tmp_path}/quiet\n" + answer({"token": SECRET})
    assert await outcome(tmp_path, quiet) == Credential(SECRET)
    left = [int((tmp_path / name).read_text()) for name in ("holding", "quiet")]
    await until(lambda: all(map(is_gone, left)))


@pytest.mark.parametrize("stream", ["1", "2"])
async def test_a_program_that_prints_without_end(tmp_path: Path, stream: str) -> None:
    limits = PluginLimits(timeout_s=3.0 if stream == "1" else 0.5, output_bytes=4096)
    why = await failure(tmp_path, f"while :; do echo {SECRET} >&{stream}; done", limits)
    assert why.endswith("printed more than 4096 bytes" if stream == "1" else "no answer within 0.5 s")


def is_gone(process: int) -> bool:
    """Whether the process has ended, though perhaps nobody has asked for its status yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return not os.path.isdir(f"/proc/{process}")  # noqa: PTH112

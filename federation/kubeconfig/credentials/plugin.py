"""Runs an exec plug-in once and reads the ExecCredential that it prints.

A plug-in is a stranger's program in our service: it gets no standard input (one that asks for a password would wait for
ever), a deadline, a bound on its output and a process group of its own, so that whatever it started ends with it. What
it prints on standard output is a secret and never shown; of its complaints the last line is, with secrets blotted out.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

from federation.kubeconfig.login import Endpoint, Plugin, PluginLimits
from federation.kubeconfig.syntax.fields import Fields, fields
from prewarm.domain import InputError, PrewarmError, parse_time

_CHUNK = 1 << 16
_GLANCE_S = 0.01
_END_S = 1.0
_COMPLAINT = 200
_SECRET = re.compile(
    r"(?i)((?:token|password|secret|key)\w*[\"']?\s*[:=]\s*|bearer\s+)\S+|(?<![\w/.~-])[\w+=][\w.~+/=-]{23,}"
)


class PluginError(PrewarmError):
    """A plug-in gave no credential; the text says why."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What authenticates us now: a token, or a client certificate with its key (PEM); both may be absent.

    `expires_at` is in seconds since the epoch, None where no end is known.
    """

    token: str | None = field(default=None, repr=False)
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    expires_at: float | None = None


async def run(plugin: Plugin, endpoint: Endpoint, limits: PluginLimits) -> Credential:
    """The credential that the plug-in prints. PluginError; never runs longer than its deadline."""
    info = await asyncio.to_thread(_info, plugin, endpoint)
    output = await _output(plugin, info, limits)
    try:
        return _credential(json.loads(output), plugin)
    except InputError as error:
        raise PluginError(f"{_name(plugin)}: {error}") from None
    except (ValueError, RecursionError):
        raise PluginError(f"{_name(plugin)}: printed no JSON") from None


async def _output(plugin: Plugin, info: str, limits: PluginLimits) -> bytes:
    environment = {**os.environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": info}
    try:
        process = _started([plugin.command, *plugin.args], environment)
    except (OSError, ValueError) as error:
        raise PluginError(_not_started(plugin, error)) from None
    try:
        async with asyncio.timeout(limits.timeout_s):
            output, complaint = await asyncio.gather(_read(process, limits.output_bytes), _read_end(process))
            status = await _exit(process)
    except TimeoutError:
        raise PluginError(f"{_name(plugin)}: no answer within {limits.timeout_s:g} s") from None
    finally:
        await _end(process)
    if len(output) > limits.output_bytes:
        raise PluginError(f"{_name(plugin)}: printed more than {limits.output_bytes} bytes")
    if status != 0:
        raise PluginError(f"{_name(plugin)}: exit status {status}{_quote(complaint, plugin)}")
    return output


def _started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Not asyncio's own: a task cancelled while that connects the pipes waits for ever (seen with Python 3.11)."""
    return subprocess.Popen(
        command,
        bufsize=0,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )


async def _read(process: subprocess.Popen[bytes], limit: int) -> bytes:
    """At most one chunk more than `limit` of its output; a program that prints more is ended."""
    kept = b""
    async for chunk in _chunks(process.stdout):
        if len(kept) <= limit:
            kept += chunk
        else:
            _kill(process)
    return kept


async def _read_end(process: subprocess.Popen[bytes]) -> bytes:
    kept = b""
    async for chunk in _chunks(process.stderr):
        kept = (kept + chunk)[-_CHUNK:]
    return kept


async def _chunks(pipe: IO[bytes] | None) -> AsyncIterator[bytes]:
    """What comes through a pipe, as it comes."""
    assert pipe is not None
    loop, place = asyncio.get_running_loop(), pipe.fileno()
    os.set_blocking(place, False)
    while True:
        ready = asyncio.Event()
        loop.add_reader(place, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(place)
        try:
            chunk = os.read(place, _CHUNK)
        except BlockingIOError:
            continue
        if not chunk:
            return
        yield chunk


async def _exit(process: subprocess.Popen[bytes]) -> int:
    """Its exit status. It has closed its output, so it is about to end.

    It is left for `_end` to collect: until then no other group of processes can have its number.
    """
    while (status := _ended(process)) is None:  # noqa: ASYNC110  a process has no event to wait for
        await asyncio.sleep(_GLANCE_S)
    return status


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


async def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of it is left running. What the system cannot end at once is collected when the next one starts."""
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()
    _kill(process)
    with suppress(TimeoutError):
        async with asyncio.timeout(_END_S):
            await _exit(process)
    process.poll()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """It and whatever it started; what has ended and is not collected yet still names the group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _info(plugin: Plugin, endpoint: Endpoint) -> str:
    spec: dict[str, object] = {"interactive": False}
    if plugin.provide_cluster_info:
        try:
            authority = endpoint.ca.read() if endpoint.ca else b""
        except OSError as error:
            raise PluginError(f"{endpoint.ca and endpoint.ca.place}: {error.strerror}") from None
        cluster = {
            "server": endpoint.server,
            "tls-server-name": endpoint.tls_server_name,
            "insecure-skip-tls-verify": endpoint.insecure,
            "certificate-authority-data": base64.b64encode(authority).decode(),
            "proxy-url": endpoint.proxy_url,
            "disable-compression": endpoint.disable_compression,
            "config": json.loads(endpoint.plugin_config) if endpoint.plugin_config else None,
        }
        spec["cluster"] = {name: value for name, value in cluster.items() if value}
    return json.dumps({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec})


def _credential(answer: object, plugin: Plugin) -> Credential:
    tree = fields(answer, "its answer")
    if tree.text("kind") != "ExecCredential" or tree.text("apiVersion") != plugin.api_version:
        raise tree.fail(f"must be an ExecCredential of {plugin.api_version}")
    status = tree.inner("status")
    if status is None:
        raise tree.fail("has no status")
    token, certificate, key = status.line("token"), _pem(status, "clientCertificateData"), _pem(status, "clientKeyData")
    if (certificate is None) != (key is None):
        raise status.fail("must hold both of clientCertificateData and clientKeyData, or neither")
    if token is None and certificate is None:
        raise status.fail("holds neither a token nor a certificate")
    expires = status.text("expirationTimestamp")
    return Credential(token, certificate, key, parse_time(expires, "expirationTimestamp") if expires else None)


def _pem(status: Fields, name: str) -> bytes | None:
    text = status.text(name)
    return text.encode() if text else None


def _not_started(plugin: Plugin, error: Exception) -> str:
    why = error.strerror or "cannot be started" if isinstance(error, OSError) else "cannot be started"
    hint = " ".join((plugin.install_hint or "").split())[:300]
    return f"{_name(plugin)}: {why}" + (f"; {hint}" if hint else "")


def _name(plugin: Plugin) -> str:
    return f"exec plug-in {plugin.command}"


def _quote(complaint: bytes, plugin: Plugin) -> str:
    lines = complaint.decode(errors="replace").strip().splitlines()
    text = lines[-1] if lines else ""
    for _, value in plugin.env:
        text = text.replace(value, "…") if value else text
    text = "".join(sign if sign.isprintable() else " " for sign in _SECRET.sub(r"\1…", text))[:_COMPLAINT]
    return f": {text}" if text else ""

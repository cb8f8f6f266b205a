"""From a cluster entry and a user entry to an `Endpoint` and a `Login`, by client-go's rules.

Where client-go refuses a combination, so do we; where it lets one credential hide another, a warning says which one is
used. Everything is judged here, before any connection, so that a member that cannot work is listed with its reason.
"""

from __future__ import annotations

import json
import os.path
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

from federation.kubeconfig.login import Endpoint, Login, Pem, Plugin
from federation.kubeconfig.syntax.fields import Fields, fields

PLUGIN_EXTENSION = "client.authentication.k8s.io/exec"
"""Name of the cluster extension that is handed to plug-ins."""
API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

_CLUSTER = frozenset(
    {
        "api-version",
        "certificate-authority",
        "certificate-authority-data",
        "disable-compression",
        "extensions",
        "insecure-skip-tls-verify",
        "proxy-url",
        "server",
        "tls-server-name",
    }
)
_USER = frozenset(
    {
        "as",
        "as-groups",
        "as-uid",
        "as-user-extra",
        "auth-provider",
        "client-certificate",
        "client-certificate-data",
        "client-key",
        "client-key-data",
        "exec",
        "extensions",
        "password",
        "token",
        "tokenFile",
        "username",
    }
)
_EXEC = frozenset({"apiVersion", "args", "command", "env", "installHint", "interactiveMode", "provideClusterInfo"})
_HEADER_NAME = "!#$&'*+-.^_`|~"  # what may stand in a header's name as it is, letters and digits apart


def endpoint(value: object, place: str, folder: Path) -> Endpoint:
    """A cluster entry; relative paths are taken from `folder`. InputError."""
    entry = fields(value, place)
    entry.only(_CLUSTER)
    insecure, authority = entry.flag("insecure-skip-tls-verify"), _pem(entry, "certificate-authority", folder)
    if insecure and authority:
        raise entry.fail("insecure-skip-tls-verify contradicts the certificate-authority that is given")
    return Endpoint(
        server=_server(entry, secure=insecure or authority is not None),
        ca=authority,
        insecure=insecure,
        tls_server_name=entry.line("tls-server-name"),
        proxy_url=_proxy(entry),
        disable_compression=entry.flag("disable-compression"),
        plugin_config=extension(entry, PLUGIN_EXTENSION),
    )


def login(value: object, place: str, folder: Path) -> Login:
    """A user entry; relative paths are taken from `folder`. InputError."""
    entry = fields(value, place)
    entry.only(_USER)
    if entry.values.get("auth-provider") is not None:
        raise entry.fail("auth-provider is legacy and not supported; use an exec plug-in")
    token, token_file, basic = entry.line("token"), entry.line("tokenFile"), _basic(entry)
    if basic and (token or token_file):
        raise entry.fail("token and username are both given; only one is allowed")
    certificate, key = _pem(entry, "client-certificate", folder), _pem(entry, "client-key", folder)
    if (certificate is None) != (key is None):
        raise entry.fail("client-certificate and client-key must be given together")
    inner = entry.inner("exec")
    return Login(
        token=token,
        token_file=_path(folder, token_file),
        basic=basic,
        certificate=certificate,
        key=key,
        plugin=plugin(inner, folder) if inner else None,
        impersonation=_impersonation(entry),
    )


def plugin(entry: Fields, folder: Path) -> Plugin:
    """An exec section. A command with a slash is a path from `folder`; any other is looked for on PATH."""
    entry.only(_EXEC)
    command, version, mode = entry.line("command"), entry.text("apiVersion"), entry.text("interactiveMode")
    if not command:
        raise entry.fail("command is missing")
    if version not in API_VERSIONS:
        raise entry.fail(f"apiVersion must be {' or '.join(API_VERSIONS)}")
    if mode == "Always":
        raise entry.fail("interactiveMode Always needs a person at a terminal")
    if mode not in ("Never", "IfAvailable") and (mode or version == API_VERSIONS[0]):
        raise entry.fail("interactiveMode must be Never or IfAvailable")
    return Plugin(
        command=str(_path(folder, command)) if "/" in command else command,
        api_version=version or "",
        args=entry.texts("args"),
        env=tuple(_variable(item, f"{entry.place}.env[{i}]") for i, item in enumerate(entry.items("env"))),
        install_hint=entry.text("installHint"),
        provide_cluster_info=entry.flag("provideClusterInfo"),
    )


def warnings(way: Endpoint, who: Login) -> tuple[str, ...]:
    """What a person should know of this way in, in one sentence each."""
    bearer = who.token or who.token_file
    pems = [pem for pem in (way.ca, who.certificate, who.key) if pem and pem.data is not None and pem.path]
    found = (
        (way.insecure and way.encrypted, "the server's certificate is not checked (insecure-skip-tls-verify)"),
        (not way.encrypted, "plain http: neither credentials nor data are encrypted"),
        (bool(who.token and who.token_file), "token is used only while tokenFile cannot be read"),
        (bool(bearer and who.plugin), "the exec plug-in is not run since a token is given"),
        *((True, f"{pem.path} is not read: {pem.place.rsplit('.', 1)[-1]} wins") for pem in pems),
    )
    return tuple(text for holds, text in found if holds)


def extension(entry: Fields, name: str) -> str | None:
    """The cluster extension `name` as JSON, None where there is none."""
    for i, item in enumerate(entry.items("extensions")):
        inner = fields(item, f"{entry.place}.extensions[{i}]")
        if inner.text("name") == name and inner.values.get("extension") is not None:
            try:
                return json.dumps(inner.values["extension"], sort_keys=True)
            except (TypeError, ValueError, RecursionError):
                raise inner.fail("extension cannot be written as JSON") from None
    return None


def _server(entry: Fields, *, secure: bool) -> str:
    server = entry.line("server")
    if not server:
        raise entry.fail("server is missing")
    bare = "://" not in server
    try:
        url = urlsplit(f"{'https' if secure else 'http'}://{server}" if bare else server)
        good = url.scheme in ("http", "https") and url.hostname and url.port != 0 and url.username is None
    except ValueError:
        raise entry.fail("server must be a URL") from None
    if not good or url.query or url.fragment or " " in server or (bare and url.path.strip("/")):
        raise entry.fail("server must be an http or https URL without user name, query and fragment, or host:port")
    return url.geturl().rstrip("/")


def _proxy(entry: Fields) -> str | None:
    proxy = entry.line("proxy-url")
    if proxy is None:
        return None
    try:
        url = urlsplit(proxy)
        good = url.scheme in ("http", "https", "socks5") and url.hostname and url.port != 0
    except ValueError:
        good = False
    if not good:
        raise entry.fail("proxy-url must be an http, https or socks5 URL with a host")
    return proxy


def _pem(entry: Fields, name: str, folder: Path) -> Pem | None:
    data, path = entry.data(f"{name}-data"), entry.line(name)
    if data is None and path is None:
        return None
    file = _path(folder, path)
    return Pem(f"{name} {file}" if data is None else f"{entry.place}.{name}-data", data, file)


def _path(folder: Path, text: str | None) -> Path | None:
    """Joined and cleaned as Go's filepath.Join does it, without following links."""
    return Path(os.path.normpath(folder / text)) if text else None


def _basic(entry: Fields) -> tuple[str, str] | None:
    username, password = entry.line("username"), entry.line("password")
    if username is None and password is None:
        return None
    if ":" in (username or ""):
        raise entry.fail("username must not hold a colon")
    return username or "", password or ""


def _variable(value: object, place: str) -> tuple[str, str]:
    entry = fields(value, place)
    name = entry.line("name")
    if not name or "=" in name:
        raise entry.fail("name must be the name of an environment variable")
    value_text = entry.text("value") or ""
    if "\0" in value_text:
        raise entry.fail("value must not hold a zero byte")
    return name, value_text


def _impersonation(entry: Fields) -> tuple[tuple[str, str], ...]:
    who, uid = entry.line("as"), entry.line("as-uid")
    groups, inner = entry.texts("as-groups"), entry.inner("as-user-extra")
    extra: Mapping[str, object] = inner.values if inner else {}
    if not who:
        if uid or groups or extra:
            raise entry.fail("as-uid, as-groups and as-user-extra need as")
        return ()
    found = [("Impersonate-User", who), *([("Impersonate-Uid", uid)] if uid else [])]
    found += [("Impersonate-Group", group) for group in groups]
    for key in sorted(extra, key=str):
        name = f"Impersonate-Extra-{quote(str(key), safe=_HEADER_NAME)}"
        found += [(name, text) for text in (inner.texts(key) if inner else ())]
    if any("\n" in text or "\r" in text or "\0" in text for _, text in found):
        raise entry.fail("as-groups and as-user-extra must not hold line breaks")
    return tuple(found)

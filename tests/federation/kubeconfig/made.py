"""Kubeconfig files, programs and certificates for tests, written to a folder of the test's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from federation.kubeconfig.listing import Listing, Member
from federation.kubeconfig.source import FleetSource, Places

SERVER = "https://127.0.0.1:6443"
Tree = dict[str, Any]


def config(
    clusters: Mapping[str, object] | None = None,
    users: Mapping[str, object] | None = None,
    contexts: Mapping[str, object] | None = None,
    **more: object,
) -> Tree:
    """A kubeconfig as a tree."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": value} for name, value in (clusters or {}).items()],
        "users": [{"name": name, "user": value} for name, value in (users or {}).items()],
        "contexts": [{"name": name, "context": value} for name, value in (contexts or {}).items()],
        **more,
    }


def single(cluster: Mapping[str, object], user: Mapping[str, object] | None = None) -> Tree:
    """A kubeconfig with one context, `only`."""
    named = {"cluster": "c"} if user is None else {"cluster": "c", "user": "u"}
    return config({"c": cluster}, {} if user is None else {"u": user}, {"only": named})


def write(path: Path, tree: object) -> Path:
    """`tree` as a file, JSON where its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree) if path.suffix == ".json" else yaml.safe_dump(tree))
    return path


async def read(*files: Path, merged: Sequence[Path] = ()) -> Listing:
    """What one reading of these files gives."""
    return await FleetSource(Places(merged=tuple(merged), files=files), {}).read()


async def only(folder: Path, cluster: Mapping[str, object], user: Mapping[str, object] | None = None) -> Member:
    """The only member of a new file `config` in `folder`."""
    found = await read(write(folder / "config", single(cluster, user)))
    assert found.broken == ()
    (one,) = found.members
    return one


async def why_broken(folder: Path, cluster: Mapping[str, object], user: Mapping[str, object] | None = None) -> str:
    """Why the only member of a new file is broken."""
    found = await read(write(folder / "config", single(cluster, user)))
    assert found.members == ()
    (one,) = found.broken
    return one.why


def program(path: Path, body: str) -> Path:
    """A real program, of the shell."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def plugin(command: Path | str, **more: object) -> Tree:
    """A user entry with an exec plug-in."""
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": str(command), "interactiveMode": "Never", **more}}


class HandClock:
    """Seconds since the epoch that only a test moves."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time."""
        return self.now

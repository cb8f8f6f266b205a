"""Members from ClusterProfile objects (KEP-4322, multicluster.x-k8s.io/v1alpha1), as files that a hub's export leaves.

A profile says where a cluster is and which kinds of credential it takes; how to get one is ours to say, in the
providers' file of KEP-5339: {"providers": [{"name", "execConfig", ...}]}. The first provider of that file that a
profile names is used. What a profile adds to a plug-in's arguments or environment counts only where the providers' file
lets it, since it is the hub that writes profiles and we who run programs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from federation.kubeconfig.access import BrokenMember
from federation.kubeconfig.listing import Member, specify
from federation.kubeconfig.login import Login, Plugin
from federation.kubeconfig.names import member_id
from federation.kubeconfig.syntax import entries
from federation.kubeconfig.syntax.documents import load
from federation.kubeconfig.syntax.fields import Fields, fields
from federation.snapshot import frozen
from prewarm.domain import InputError

GROUP = "multicluster.x-k8s.io"
_EXTENSION = "clusterprofiles.multicluster.x-k8s.io/exec/additional-"
_ARGUMENTS = {"", "Ignore", "Append"}
_VARIABLES = {"", "Ignore", "AppendIfNotExists", "Replace"}


@dataclass(frozen=True, slots=True)
class Provider:
    """How credentials of one kind are got, and what a profile may add: see KEP-5339 for the two policies."""

    name: str
    plugin: Plugin
    arguments: str = ""
    variables: str = ""


def providers(data: bytes, file: Path) -> tuple[Provider, ...]:
    """The providers' file; relative commands are taken from its folder. InputError."""
    tree = fields(load(data, file), str(file))
    tree.only(("providers",))
    return tuple(
        _provider(fields(item, f"{file}: providers[{i}]"), file.parent)
        for i, item in enumerate(tree.items("providers"))
    )


def profiles(data: bytes, file: Path) -> tuple[Fields, ...]:
    """The ClusterProfiles in a file: one, or a list as kubectl prints it. InputError."""
    return tuple(_profiles(load(data, file), str(file)))


def member(profile: Fields, file: Path, known: tuple[Provider, ...]) -> Member | BrokenMember:
    """The member that a profile describes; its properties and labels become labels, properties first."""
    metadata = profile.inner("metadata") or fields({}, profile.place)
    context = "/".join(text for text in (metadata.text("namespace"), metadata.text("name")) if text)
    one = member_id(context, f"{GROUP}/clusterprofile")
    try:
        status = profile.inner("status") or fields({}, profile.place)
        provider, cluster = _way(status, known)
        way = entries.endpoint(cluster.values, cluster.place, file.parent)
        who = Login(plugin=_extended(provider, cluster))
        labels = {**_labels(metadata), **_properties(status)}
        return Member(specify(one, context, file, way=way, who=who), way, who, frozen(labels))
    except InputError as error:
        return BrokenMember(one, context, file, str(error))


def _provider(entry: Fields, folder: Path) -> Provider:
    entry.only(("name", "execConfig", "profileSourcedCLIArgsPolicy", "profileSourcedEnvVarsPolicy"))
    name, inner = entry.text("name"), entry.inner("execConfig")
    if not name or inner is None:
        raise entry.fail("name and execConfig are needed")
    # No person sits at the terminal of a controller, so the standard's own reader sets this whatever the file says.
    unattended = Fields(inner.place, {**inner.values, "interactiveMode": "Never"})
    arguments = entry.text("profileSourcedCLIArgsPolicy") or ""
    variables = entry.text("profileSourcedEnvVarsPolicy") or ""
    if arguments not in _ARGUMENTS or variables not in _VARIABLES:
        raise entry.fail("profileSourcedCLIArgsPolicy or profileSourcedEnvVarsPolicy is not one of the known ones")
    return Provider(name, entries.plugin(unattended, folder), arguments, variables)


def _profiles(tree: object, place: str) -> Iterator[Fields]:
    if tree is None:
        return
    entry = fields(tree, place)
    kind, version = entry.text("kind"), entry.text("apiVersion") or ""
    if kind in ("List", "ClusterProfileList"):
        for i, item in enumerate(entry.items("items")):
            yield from _profiles(item, f"{place}: items[{i}]")
    elif kind != "ClusterProfile" or version != f"{GROUP}/v1alpha1":
        raise entry.fail(f"must be a ClusterProfile of {GROUP}/v1alpha1")
    else:
        metadata = entry.inner("metadata")
        if metadata is None or not metadata.text("name"):
            raise entry.fail("metadata.name is missing")
        yield Fields(f"{place}: ClusterProfile {metadata.text('name')!r}", entry.values)


def _way(status: Fields, known: tuple[Provider, ...]) -> tuple[Provider, Fields]:
    offered: dict[str, Fields] = {}
    for field in ("credentialProviders", "accessProviders"):  # the older name first, so that the newer one wins
        for i, item in enumerate(status.items(field)):
            entry = fields(item, f"{status.place}.{field}[{i}]")
            offered[entry.text("name") or ""] = entry
    for provider in known:
        if provider.name in offered:
            cluster = offered[provider.name].inner("cluster")
            if cluster is None:
                raise offered[provider.name].fail("cluster is missing")
            return provider, cluster
    names = ", ".join(sorted(filter(None, offered))) or "none"
    raise status.fail(f"none of its access providers is in the providers' file (it offers: {names})")


def _extended(provider: Provider, cluster: Fields) -> Plugin:
    plugin = provider.plugin
    if provider.arguments == "Append" and (text := entries.extension(cluster, f"{_EXTENSION}args")):
        found = json.loads(text)
        plugin = replace(
            plugin, args=plugin.args + Fields(cluster.place, {"additional-args": found}).texts("additional-args")
        )
    if provider.variables in ("AppendIfNotExists", "Replace") and (
        text := entries.extension(cluster, f"{_EXTENSION}envs")
    ):
        added = fields(json.loads(text), f"{cluster.place}: additional-envs")
        theirs = {name: added.text(name) or "" for name in added.values}
        ours = dict(plugin.env)
        merged = {**theirs, **ours} if provider.variables == "AppendIfNotExists" else {**ours, **theirs}
        plugin = replace(plugin, env=tuple(sorted(merged.items())))
    return plugin


def _labels(metadata: Fields) -> Mapping[str, str]:
    inner = metadata.inner("labels")
    return {name: inner.text(name) or "" for name in inner.values} if inner else {}


def _properties(status: Fields) -> Mapping[str, str]:
    items = (fields(item, f"{status.place}.properties[{i}]") for i, item in enumerate(status.items("properties")))
    return {name: item.text("value") or "" for item in items if (name := item.text("name"))}

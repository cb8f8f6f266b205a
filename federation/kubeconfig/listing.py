"""The fleet as its files describe it at one moment: members, contexts that cannot be members, and what else to know.

Every context is a member, whether or not it is current, and each is judged alone: whatever is wrong with one is the
reason beside its name and never an error of the listing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from federation.kubeconfig.access import Access, BrokenMember, MemberSpec
from federation.kubeconfig.credentials.session import Session
from federation.kubeconfig.login import DEFAULT_LIMITS, Endpoint, Login, PluginLimits
from federation.kubeconfig.names import member_id
from federation.kubeconfig.syntax import entries
from federation.kubeconfig.syntax.documents import Document, Entry
from federation.kubeconfig.syntax.fields import fields
from prewarm.domain import InputError


@dataclass(frozen=True, slots=True)
class Member:
    """A member and the way in to it. While two listings have equal ones, its client can stay as it is.

    labels: what its source says of it (properties of a ClusterProfile).
    """

    spec: MemberSpec
    endpoint: Endpoint = field(repr=False)
    login: Login = field(repr=False)
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)

    def open(self, limits: PluginLimits = DEFAULT_LIMITS, now: Callable[[], float] = time.time) -> Access:
        """A fresh access of its own; `now` is seconds since the epoch, by which credentials expire."""
        return Session(self.spec, self.endpoint, self.login, limits=limits, now=now)


@dataclass(frozen=True, slots=True)
class Listing:
    """Members and broken ones in the order of their ids; notices are sentences that name a file."""

    members: tuple[Member, ...] = ()
    broken: tuple[BrokenMember, ...] = ()
    notices: tuple[str, ...] = ()
    current_context: str | None = None

    def find(self, text: str) -> Member:
        """The member of that id, or of that context where one file only has it, or of `file#context`. InputError.

        `file` may be the end of its path. InputError says why where the name is that of a broken member.
        """
        everyone: tuple[Member | BrokenMember, ...] = (*self.members, *self.broken)
        found = [one for one in everyone if _spec(one).id == text]
        found = found or [one for one in everyone if _spec(one).context == text]
        found = found or [one for one in everyone if _stands_in(_spec(one), text)]
        if not found:
            raise InputError(f"member {text!r}: there is none of that name")
        if len(found) > 1:
            raise InputError(f"member {text!r}: could be any of {', '.join(_spec(one).id for one in found)}")
        (one,) = found
        if isinstance(one, BrokenMember):
            raise InputError(f"member {text!r}: is broken: {one.why}")
        return one


def contexts(document: Document, *, separate: bool) -> tuple[list[Member], list[BrokenMember]]:
    """Every context of `document`; `separate` where other files are sources of their own, so that ids name the file."""
    members: list[Member] = []
    broken: list[BrokenMember] = []
    for name, entry in document.contexts.items():
        one = member_id(name, str(entry.file) if separate else None)
        try:
            members.append(_member(document, one, name, entry))
        except InputError as error:
            broken.append(BrokenMember(one, name, entry.file, str(error)))
    return members, broken


def listing(
    members: Iterable[Member], broken: Iterable[BrokenMember], notices: Iterable[str], current: str | None
) -> Listing:
    """All of it in the order of the ids, which is the same in whatever order files and entries came."""
    return Listing(
        tuple(sorted(members, key=lambda member: member.spec.id)),
        tuple(sorted(broken, key=lambda member: member.id)),
        tuple(notices),
        current,
    )


def specify(
    one: str, context: str, source: Path | str, *, way: Endpoint, who: Login, namespace: str = "default"
) -> MemberSpec:
    """What the rest of the fleet may see of a way in; `one` is the member's id."""
    return MemberSpec(
        id=one,
        context=context,
        source=source,
        server=way.server,
        namespace=namespace,
        proxy_url=way.proxy_url,
        tls_server_name=way.tls_server_name,
        insecure=way.insecure,
        disable_compression=way.disable_compression,
        warnings=entries.warnings(way, who),
    )


def _member(document: Document, one: str, name: str, entry: Entry) -> Member:
    place = f"{entry.file}: context {name!r}"
    context = fields(_value(entry, place), place)
    context.only(("cluster", "user", "namespace", "extensions"))
    cluster, user = context.text("cluster"), context.text("user")
    if cluster is None:
        raise context.fail("names no cluster")
    way, at = _lookup(document.clusters, cluster, f"{place}: cluster")
    target = entries.endpoint(way, at, document.clusters[cluster].file.parent)
    who = Login()
    if user is not None:
        value, at = _lookup(document.users, user, f"{place}: user")
        who = entries.login(value, at, document.users[user].file.parent)
    namespace = context.line("namespace") or "default"
    return Member(specify(one, name, entry.file, way=target, who=who, namespace=namespace), target, who)


def _lookup(table: Mapping[str, Entry], name: str, place: str) -> tuple[object, str]:
    if name not in table:
        raise InputError(f"{place} {name!r} is missing")
    place = f"{table[name].file}: {place.rsplit(': ', 1)[1]} {name!r}"
    return _value(table[name], place), place


def _value(entry: Entry, place: str) -> object:
    if entry.count > 1:
        raise InputError(f"{place}: stands there {entry.count} times; which one is meant cannot be known")
    return {} if entry.value is None else entry.value  # as Go reads null


def _spec(one: Member | BrokenMember) -> MemberSpec | BrokenMember:
    return one.spec if isinstance(one, Member) else one


def _stands_in(one: MemberSpec | BrokenMember, text: str) -> bool:
    if not text.endswith(f"#{one.context}"):
        return False
    given = Path(text[: -len(one.context) - 1]).parts
    return bool(given) and Path(one.source).parts[-len(given) :] == given

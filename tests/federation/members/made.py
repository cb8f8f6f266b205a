"""Members of a fleet for tests: the way in to a fake API server, as a kubeconfig would have said it."""

from __future__ import annotations

from federation.kubeconfig.access import Access, BrokenMember, MemberSpec
from federation.kubeconfig.listing import Listing, Member
from federation.kubeconfig.login import Endpoint, Login, PluginLimits


def member(name: str, server: str, token: str = "made-up", **labels: str) -> Member:
    """A member with a bearer token."""
    spec = MemberSpec(id=name, context=f"ctx-{name}", source="test", server=server, insecure=False)
    return Member(spec, Endpoint(server), Login(token=token), labels=labels)


def open_access(one: Member) -> Access:
    """The real way in."""
    return one.open(PluginLimits())


class Source:
    """A source whose listing a test changes."""

    def __init__(self, *members: Member, broken: tuple[BrokenMember, ...] = ()) -> None:
        self.members = list(members)
        self.broken = broken
        self.error: Exception | None = None
        self.asked = 0

    async def read(self) -> Listing:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return Listing(tuple(self.members), self.broken)

"""What a rollout is carried out with: writers, a journal, an eye on readiness, and limits on time and number."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from federation.apply.rollout.journal import Journal
from federation.apply.state.objects import Ref
from federation.apply.writer import Writer
from federation.members.api import UnreachableError

T = TypeVar("T")


class Observer(Protocol):
    """Says when instances are ready."""

    async def wait_ready(self, member: str, ref: Ref, replicas: int) -> str | None:
        """None once that many are ready; the reason once it is clear that they will not be."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How much at a time, and for how long."""

    members: int = 8
    """Members that are written side by side."""
    member_s: float = 15.0
    """For all calls to one member in one phase."""
    journal_s: float = 10.0
    """For the journal to be durable; without it nothing is begun."""
    ready_s: float = 600.0
    """For new instances to be ready, before the rollout is taken back."""


@dataclass(frozen=True, slots=True)
class Means:
    """Everything that a rollout needs.

    writers: a member's writer, made when it is used, since members come and go; UnreachableError where the fleet has no
    such member.
    """

    writers: Callable[[str], Writer]
    journal: Journal
    observer: Observer
    limits: Limits = field(default_factory=Limits)

    async def within(self, member: str, work: Awaitable[T]) -> T:
        """`work` under the member's deadline; UnreachableError where it takes longer."""
        try:
            async with asyncio.timeout(self.limits.member_s):
                return await work
        except TimeoutError:
            raise UnreachableError(member, f"no answer within {self.limits.member_s:g} s") from None

    async def side_by_side(self, works: Iterable[Awaitable[T]]) -> list[T]:
        """All of them, at most `members` at a time, results in their order."""
        free = asyncio.Semaphore(self.limits.members)

        async def one(work: Awaitable[T]) -> T:
            async with free:
                return await work

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(work)) for work in works]
        return [task.result() for task in tasks]

"""A fleet in memory, and rollouts over it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from federation.apply.rollout.carry import Carrier
from federation.apply.rollout.journal import Intent, intent_json, intent_of
from federation.apply.rollout.means import Limits, Means
from federation.apply.rollout.work import Rollout, works_of
from federation.apply.state.objects import Ref, path_of
from federation.apply.writer import writers_of
from prewarm.store import StoreBusyError
from tests.federation.apply.fake import FakeApi
from tests.federation.manifest.made import deployment

Json = dict[str, Any]

REF = Ref("apps/v1", "Deployment", "shop", "checkout")
PATH = path_of(REF)
NOW = 1_700_000_000.0


@dataclass
class MemoryJournal:
    """Keeps intents as the JSON that would be stored. `broken_at`: from this save on nothing is kept."""

    kept: dict[str, Json] = field(default_factory=dict)
    saves: int = 0
    broken_at: int | None = None
    elsewhere: set[str] = field(default_factory=set)
    """Workloads that another process is carrying out."""

    async def load(self) -> tuple[Intent, ...]:
        return tuple(sorted((intent_of(body) for body in self.kept.values()), key=lambda one: one.at))

    async def save(self, intent: Intent) -> None:
        self.saves += 1
        if self.broken_at is not None and self.saves >= self.broken_at:
            raise StoreBusyError("store: 10000 writes are waiting, no room for more")
        self.kept[intent.id] = intent_json(intent)

    async def clear(self, intent_id: str) -> None:
        self.kept.pop(intent_id, None)

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[bool]:
        yield key not in self.elsewhere


@dataclass
class Says:
    """An observer that answers at once; `why` by member where instances will not be ready."""

    why: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str, int]] = field(default_factory=list)

    async def wait_ready(self, member: str, ref: Ref, replicas: int) -> str | None:
        self.asked.append((member, str(ref), replicas))
        return self.why.get(member)


class Fleet:
    """Members in memory and a carrier over them."""

    def __init__(self, *names: str) -> None:
        self.apis = {name: FakeApi(name) for name in names}
        self.journal = MemoryJournal()
        self.observer = Says()
        self.means = Means(
            writers_of(lambda: self.apis),
            self.journal,
            self.observer,
            Limits(member_s=0.2, ready_s=0.2),
        )
        self.carrier = Carrier(self.means)

    def restarted(self) -> Carrier:
        """A new process over the same journal, with members that behave again."""
        for api in self.apis.values():
            api.fault = api.after = lambda _: None
        self.carrier = Carrier(self.means)
        return self.carrier

    def replicas(self) -> dict[str, int | None]:
        """Instances of the workload by member, None where it is not."""
        return {
            name: api.live(PATH)["spec"]["replicas"] if PATH in api.objects else None for name, api in self.apis.items()
        }

    def versions(self) -> dict[str, dict[str, int]]:
        """Every object's version."""
        return {name: {path: one.version for path, one in api.objects.items()} for name, api in self.apis.items()}

    async def place(self, name: str, after: Mapping[str, int], before: Mapping[str, int], **more: Any) -> Any:
        return await self.carrier.carry_out(rollout(name, after, before, **more), now=NOW)


def rollout(
    name: str,
    after: Mapping[str, int],
    before: Mapping[str, int],
    *,
    body: Json | None = None,
    beside: Mapping[str, list[Json]] | None = None,
    force: bool = False,
) -> Rollout:
    """From `before` to `after`."""
    return Rollout(name, "shop/checkout", works_of(body or deployment(), after, before, beside=beside or {}), force)


def without_waiting(made: Rollout) -> Rollout:
    """The same, not waiting for instances."""
    return replace(made, works=tuple(replace(work, waits=0) for work in made.works))

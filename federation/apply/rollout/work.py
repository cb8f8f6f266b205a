"""Work over several members as a value: what to make where, in which phase, and how it is told afterwards.

`surge` adds instances and whatever they need, `traffic` moves calls, `drain` takes instances away. Until the drain
begins everything can be taken back and nobody has lost an instance; after that the work can only be finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from federation.apply.state.objects import WORKLOAD_KINDS, Ref, ref_of
from federation.apply.state.plan import Step
from federation.manifest.fields import Json
from federation.manifest.share import marked, object_for


class Stage(StrEnum):
    """The phases in their order."""

    SURGE = "surge"
    TRAFFIC = "traffic"
    DRAIN = "drain"


@dataclass(frozen=True, slots=True)
class Work:
    """What one member gets in one phase. `waits`: instances that must be ready there before the next phase."""

    member: str
    stage: Stage
    objects: tuple[Json, ...] = ()
    gone: tuple[Ref, ...] = ()
    waits: int = 0

    @property
    def refs(self) -> tuple[Ref, ...]:
        """Everything that it touches."""
        return (*(ref_of(body) for body in self.objects), *self.gone)


@dataclass(frozen=True, slots=True)
class Rollout:
    """The work of one placement. `id` is the placement's; force: take fields from other owners (a person said so)."""

    id: str
    key: str
    works: tuple[Work, ...]
    force: bool = False

    def of(self, stage: Stage) -> tuple[Work, ...]:
        """The works of one phase."""
        return tuple(work for work in self.works if work.stage is stage)

    @property
    def members(self) -> frozenset[str]:
        """Everybody who is touched."""
        return frozenset(work.member for work in self.works)


class State(StrEnum):
    """How it went with one member in one phase."""

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    UNDONE = "undone"
    LEFT = "left"
    """Something there must not be touched; the steps say what and why."""
    STUCK = "stuck"
    """Could be neither finished nor undone now; kept in the journal."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One member in one phase."""

    member: str
    stage: Stage
    state: State
    steps: tuple[Step, ...] = ()
    why: str | None = None


class Verdict(StrEnum):
    """How it went with the whole."""

    DONE = "done"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    """Nothing was written."""
    UNDONE = "undone"
    UNFINISHED = "unfinished"
    """Something is left in the journal; `resume` takes it up."""
    REHEARSED = "rehearsed"


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a rollout, member by member."""

    id: str
    key: str
    verdict: Verdict
    outcomes: tuple[Outcome, ...] = ()
    why: str | None = None


def works_of(
    body: Json, replicas: Mapping[str, int], before: Mapping[str, int], *, beside: Mapping[str, Iterable[Json]]
) -> tuple[Work, ...]:
    """The works that take a workload from `before` to `replicas` (instances by member).

    beside: objects that must exist in a member first (companions, copied dependencies); applied with our mark.
    A Job is not waited for: it ends by itself.
    """
    ref = ref_of(body)
    waits = (ref.api_version, ref.kind) != WORKLOAD_KINDS["job"]
    works = []
    for member in sorted({*replicas, *before}):
        mine = object_for(body, replicas, member)
        if mine is None:
            if before.get(member):
                works.append(Work(member, Stage.DRAIN, gone=(ref,)))
            continue
        now, then = replicas[member], before.get(member, 0)
        objects = (*(marked(one) for one in beside.get(member, ())), mine)
        if now < then:
            works.append(Work(member, Stage.DRAIN, objects))
        else:
            works.append(Work(member, Stage.SURGE, objects, waits=now if waits and now > then else 0))
    return tuple(works)


def work_json(work: Work) -> dict[str, Any]:
    """A work as it is kept; the values of secrets are not."""
    return {
        "member": work.member,
        "stage": work.stage.value,
        "objects": [without_secret(body) for body in work.objects],
        "gone": [ref_json(ref) for ref in work.gone],
        "waits": work.waits,
    }


def work_of(raw: Mapping[str, Any]) -> Work:
    """The inverse."""
    gone = tuple(Ref(*ref) for ref in raw["gone"])
    return Work(raw["member"], Stage(raw["stage"]), tuple(raw["objects"]), gone, raw["waits"])


def ref_json(ref: Ref) -> list[str]:
    """A reference as it is kept."""
    return [ref.api_version, ref.kind, ref.namespace, ref.name]


def without_secret(body: Json) -> Json:
    """The object without values that must not be kept."""
    if body["kind"] != "Secret":
        return body
    return {name: value for name, value in body.items() if name not in ("data", "stringData")}

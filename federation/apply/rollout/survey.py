"""What every member holds now of what a rollout touches, and the plan that follows; and how each object is put back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from federation.apply.rollout.journal import Undo
from federation.apply.rollout.means import Means
from federation.apply.rollout.work import Work
from federation.apply.state.objects import Ref, is_secret
from federation.apply.state.owned import joined, owned_part, part_like
from federation.apply.state.plan import Step, Verb, plan_objects
from federation.manifest.fields import Json
from federation.members.api import MemberError

STAYS = "the values of secrets are not kept, so it stays as it was written"


@dataclass(frozen=True, slots=True)
class Survey:
    """One work and its plan; `lost` where the member could not be asked."""

    work: Work
    steps: tuple[Step, ...] = ()
    observed: Mapping[Ref, Json | None] = field(default_factory=dict)
    lost: MemberError | None = None


async def survey_work(work: Work, means: Means) -> Survey:
    """The plan of one work against what its member holds now."""
    try:
        observed = await means.within(work.member, _read(work, means))
    except MemberError as error:
        return Survey(work, lost=error)
    return Survey(work, plan_objects(work.objects, work.gone, observed), observed)


async def survey_all(works: Iterable[Work], means: Means) -> list[Survey]:
    """The plans of all works, members side by side."""
    return await means.side_by_side(survey_work(work, means) for work in works)


async def _read(work: Work, means: Means) -> dict[Ref, Json | None]:
    writer = means.writers(work.member)
    return {ref: await writer.read(ref) for ref in work.refs}


def undo_of(surveys: Iterable[Survey], *, force: bool) -> tuple[Undo, ...]:
    """How everything that these plans write is put back, last written first."""
    found = [
        _undo(survey, step, force=force)
        for survey in surveys
        for step in survey.steps
        if step.verb in (Verb.CREATE, Verb.UPDATE)
    ]
    return tuple(reversed(found))


def _undo(survey: Survey, step: Step, *, force: bool) -> Undo:
    live = survey.observed[step.ref]
    if live is None:
        return Undo(survey.work.member, step.ref, None)
    if is_secret(step.ref):
        return Undo(survey.work.member, step.ref, None, STAYS)
    before = owned_part(live)
    if force:  # what is taken from others goes back with its value, though it stays ours
        before = joined(before, part_like(live, step.body))
    return Undo(survey.work.member, step.ref, before)

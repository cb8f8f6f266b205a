"""A rollout carried out: written down, added, waited for, drained; taken back where it cannot be completed.

Members are written side by side, each under a deadline of its own, so that one in the dark is reported and holds up
nobody. The rule after a failure or a crash: before anything was drained everything is undone, since nobody has lost an
instance yet and the decision may be old; once draining began it is finished, since the new instances serve already.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from dataclasses import replace

from federation.apply.rollout.journal import Intent, Undo, intent_for
from federation.apply.rollout.means import Means
from federation.apply.rollout.survey import Survey, survey_all, survey_work, undo_of
from federation.apply.rollout.work import Outcome, Report, Rollout, Stage, State, Verdict, Work
from federation.apply.state.objects import ref_of
from federation.apply.state.plan import Step, Verb
from federation.apply.writer import Writer
from federation.members.api import MemberError
from prewarm.domain import PrewarmError

log = logging.getLogger("federation.apply")


class _Progress:
    """An intent that is marked while members are written side by side.

    A mark that cannot be made durable in time is not made: what it would have closed stays open, and is done again.
    """

    def __init__(self, intent: Intent, means: Means) -> None:
        self.intent = intent
        self._means = means
        self._one_at_a_time = asyncio.Lock()

    async def mark(self, intent: Intent) -> bool:
        """Keep a state that no other task changes; False where it could not be kept."""
        kept = await self._durable(self._means.journal.save(intent))
        self.intent = intent if kept else self.intent
        return kept

    async def clear(self) -> bool:
        """It is over; False where that could not be kept."""
        return await self._durable(self._means.journal.clear(self.intent.id))

    async def _durable(self, write: Awaitable[None]) -> bool:
        try:
            async with asyncio.timeout(self._means.limits.journal_s):
                await write
        except (PrewarmError, TimeoutError) as error:
            log.warning("journal not written", extra={"intent": self.intent.id, "why": str(error) or "no answer"})
            return False
        return True

    async def written(self, member: str) -> None:
        """`member` took what it got."""
        async with self._one_at_a_time:
            await self.mark(replace(self.intent, written=(*self.intent.written, member)))

    async def settled(self, member: str) -> None:
        """Nothing is open at `member`."""
        async with self._one_at_a_time:
            await self.mark(self.intent.settle(member))


class Carrier:
    """Carries rollouts out, one at a time for each workload."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._busy: set[str] = set()

    async def carry_out(self, rollout: Rollout, *, now: float) -> Report:
        """Carry a rollout out as far as it goes; what went wrong is in the report, only a crash is raised.

        What a former rollout left open at one of these members is settled first, or nothing is written.
        """
        if rollout.key in self._busy:
            return _refused(rollout, "another placement of it is under way")
        self._busy.add(rollout.key)
        try:
            async with self._means.journal.hold(rollout.key) as alone:
                if not alone:
                    return _refused(rollout, "another process is carrying out a placement of it")
                if blocked := await self._settle_former(rollout):
                    return _refused(rollout, blocked)
                return await self._begin(rollout, now)
        finally:
            self._busy.discard(rollout.key)

    async def resume(self) -> tuple[Report, ...]:
        """Undo or finish what was left by a crash or in the dark; call before anything is placed, and now and then.

        What somebody is carrying out, here or in another process, is left to them.
        """
        reports = []
        for intent in await self._means.journal.load():
            if intent.key not in self._busy:
                self._busy.add(intent.key)
                try:
                    reports += await self._take_up(intent)
                finally:
                    self._busy.discard(intent.key)
        return tuple(reports)

    async def _take_up(self, intent: Intent) -> list[Report]:
        """The intent is read again: whoever was carrying it out may have come to its end meanwhile."""
        async with self._means.journal.hold(intent.key) as alone:
            left = [one for one in await self._means.journal.load() if one.id == intent.id] if alone else []
            return [await self._settle(_Progress(one, self._means)) for one in left]

    async def rehearse(self, rollout: Rollout) -> Report:
        """Everything that would be written is asked of the server and not kept; give it rehearsing writers."""
        outcomes = [
            _lost(survey) if survey.lost else await self._write(survey, force=rollout.force)
            for survey in await survey_all(rollout.works, self._means)
        ]
        return Report(rollout.id, rollout.key, Verdict.REHEARSED, tuple(outcomes))

    async def _begin(self, rollout: Rollout, now: float) -> Report:
        surveys = await survey_all(rollout.works, self._means)
        early = [survey for survey in surveys if survey.work.stage is not Stage.DRAIN]
        if lost := tuple(_lost(survey) for survey in early if survey.lost):
            return Report(rollout.id, rollout.key, Verdict.REFUSED, lost, "nothing was written")
        if not any(survey.lost or any(step.writes for step in survey.steps) for survey in surveys):
            quiet = tuple(_told(survey.work, survey.steps) for survey in surveys)
            return Report(rollout.id, rollout.key, Verdict.UNCHANGED, quiet)
        progress = _Progress(intent_for(rollout, undo_of(early, force=rollout.force), now), self._means)
        if not await progress.mark(progress.intent):
            return _refused(rollout, "the journal cannot be written, so nothing else was")
        return await self._add(early, progress)

    async def _add(self, surveys: list[Survey], progress: _Progress) -> Report:
        outcomes: list[Outcome] = []
        for stage in (Stage.SURGE, Stage.TRAFFIC):
            works = [survey for survey in surveys if survey.work.stage is stage]
            done = await self._means.side_by_side(self._write_early(one, progress) for one in works)
            if all(one.state is not State.FAILED for one in done):
                done = await self._means.side_by_side(
                    self._wait(survey.work, one) for survey, one in zip(works, done, strict=True)
                )
            outcomes += done
            if any(one.state is State.FAILED for one in done):
                back = await self._settle(progress)
                return replace(back, outcomes=(*outcomes, *back.outcomes), why=_first_failure(outcomes))
        if not await progress.mark(progress.intent.drained_next()):
            why = "the journal cannot be written, so nothing is drained"
            return Report(progress.intent.id, progress.intent.key, Verdict.UNFINISHED, tuple(outcomes), why)
        end = await self._settle(progress)
        return replace(end, outcomes=(*outcomes, *end.outcomes))

    async def _write_early(self, survey: Survey, progress: _Progress) -> Outcome:
        outcome = await self._write(survey, force=progress.intent.force)
        if outcome.state is not State.FAILED:
            await progress.written(survey.work.member)
        return outcome

    async def _write(self, survey: Survey, *, force: bool) -> Outcome:
        work = survey.work
        try:
            writer = self._means.writers(work.member)
            steps = await self._means.within(work.member, _write_steps(writer, survey.steps, force=force))
        except MemberError as error:
            return Outcome(work.member, work.stage, State.FAILED, survey.steps, str(error))
        return _told(work, steps)

    async def _wait(self, work: Work, outcome: Outcome) -> Outcome:
        if not work.waits:
            return outcome
        ref = ref_of(work.objects[-1])
        try:
            async with asyncio.timeout(self._means.limits.ready_s):
                why = await self._means.observer.wait_ready(work.member, ref, work.waits)
        except TimeoutError:
            why = f"{work.waits} instances of {ref} were not ready within {self._means.limits.ready_s:g} s"
        except MemberError as error:
            why = str(error)
        return replace(outcome, state=State.FAILED, why=why) if why else outcome

    async def _settle_former(self, rollout: Rollout) -> str | None:
        """Why the rollout cannot begin; None once nothing of a former one is open at its members."""
        for intent in await self._means.journal.load():
            if intent.key == rollout.key and intent.open_members & rollout.members:
                report = await self._settle(_Progress(intent, self._means))
                if report.verdict is Verdict.UNFINISHED:
                    return f"a former placement ({intent.id}) is not settled: {_first_failure(report.outcomes)}"
        return None

    async def _settle(self, progress: _Progress) -> Report:
        """Finish the drain where it was begun, undo everything where it was not."""
        drains = progress.intent.stage is Stage.DRAIN
        outcomes = await (self._drain(progress) if drains else self._undo(progress))
        intent = progress.intent
        if intent.open_members or not await progress.clear():
            why = _first_failure(outcomes) or "the journal cannot be written"
            return Report(intent.id, intent.key, Verdict.UNFINISHED, tuple(outcomes), why)
        return Report(intent.id, intent.key, Verdict.DONE if drains else Verdict.UNDONE, tuple(outcomes))

    async def _drain(self, progress: _Progress) -> list[Outcome]:
        """Works that are still open, planned anew: much may have changed while new instances started."""

        async def one(work: Work) -> Outcome:
            survey = await survey_work(work, self._means)
            outcome = _lost(survey) if survey.lost else await self._write(survey, force=progress.intent.force)
            if outcome.state is State.FAILED:
                return replace(outcome, state=State.STUCK)
            await progress.settled(work.member)
            return outcome

        left = [work for work in progress.intent.drain if work.member in progress.intent.open_members]
        return await self._means.side_by_side(one(work) for work in left)

    async def _undo(self, progress: _Progress) -> list[Outcome]:
        async def one(member: str) -> Outcome:
            mine = [undo for undo in progress.intent.undo if undo.member == member]
            try:
                writer = self._means.writers(member)
                steps = await self._means.within(member, _put_back(writer, mine, force=progress.intent.force))
            except MemberError as error:
                return Outcome(member, Stage.SURGE, State.STUCK, why=str(error))
            await progress.settled(member)
            return Outcome(member, Stage.SURGE, State.UNDONE, steps)

        return await self._means.side_by_side(one(member) for member in sorted(progress.intent.open_members))


async def _write_steps(writer: Writer, steps: Iterable[Step], *, force: bool) -> tuple[Step, ...]:
    """The steps as they were done: a delete that the live object forbids becomes a `leave`."""
    done = []
    for step in steps:
        if step.verb in (Verb.CREATE, Verb.UPDATE) and step.body is not None:
            await writer.apply(step.body, force=force)
        elif step.verb is Verb.DELETE and (refusal := await writer.remove(step.ref)):
            step = replace(step, verb=Verb.LEAVE, why=refusal)
        done.append(step)
    return tuple(done)


async def _put_back(writer: Writer, undo: Iterable[Undo], *, force: bool) -> tuple[Step, ...]:
    """Every object as it was; one that is gone meanwhile stays gone."""
    done = []
    for one in undo:
        if one.kept:
            done.append(Step(Verb.LEAVE, one.ref, why=one.kept))
        elif one.before is None:
            refusal = await _still_used(writer, one) or await writer.remove(one.ref)
            done.append(Step(Verb.LEAVE if refusal else Verb.DELETE, one.ref, why=refusal))
        elif await writer.read(one.ref) is not None:
            await writer.apply(one.before, force=force)
            done.append(Step(Verb.UPDATE, one.ref, one.before))
    return tuple(done)


async def _still_used(writer: Writer, undo: Undo) -> str | None:
    """Who needs what was made for a workload that is undone: another one may have been placed upon it meanwhile."""
    if undo.ref.kind not in ("ConfigMap", "Secret", "ServiceAccount"):
        return None
    user = (await writer.users(undo.ref.namespace)).get(undo.ref)
    return f"is needed by {user}" if user else None


def _told(work: Work, steps: tuple[Step, ...]) -> Outcome:
    left = [f"{step.ref} {step.why}" for step in steps if step.verb is Verb.LEAVE]
    if left:
        return Outcome(work.member, work.stage, State.LEFT, steps, "; ".join(left))
    state = State.WRITTEN if any(step.writes for step in steps) else State.UNCHANGED
    return Outcome(work.member, work.stage, state, steps)


def _lost(survey: Survey) -> Outcome:
    return Outcome(survey.work.member, survey.work.stage, State.FAILED, why=str(survey.lost))


def _first_failure(outcomes: Iterable[Outcome]) -> str | None:
    return next((one.why for one in outcomes if one.state in (State.FAILED, State.STUCK)), None)


def _refused(rollout: Rollout, why: str) -> Report:
    return Report(rollout.id, rollout.key, Verdict.REFUSED, why=why)

"""Rollouts over several members: done once, in order, and taken back or finished whatever happens between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from federation.apply.rollout.carry import Carrier
from federation.apply.rollout.journal import Intent
from federation.apply.rollout.means import Limits, Means
from federation.apply.rollout.work import Report, Stage, State, Verdict
from federation.apply.state.objects import Ref, path_of
from federation.apply.state.plan import Verb
from federation.apply.writer import RehearsalWriter, ServerWriter, writers_of
from federation.manifest.share import marked
from federation.members.api import RefusedError
from tests.federation.apply.fake import Call, Crash, FakeApi, dark, on_write
from tests.federation.apply.made import NOW, PATH, Fleet, MemoryJournal, Says, rollout
from tests.federation.manifest.made import container, deployment, job, service

SETTINGS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "namespace": "shop"},
    "data": {"a": "1"},
}
SETTINGS_PATH = path_of(Ref("v1", "ConfigMap", "shop", "settings"))
TOKEN = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "token", "namespace": "shop"},
    "data": {"t": "c2VjcmV0"},
}
TOKEN_PATH = path_of(Ref("v1", "Secret", "shop", "token"))


def told(report: Report) -> list[tuple[str, str, str]]:
    return [(one.member, one.stage.value, one.state.value) for one in report.outcomes]


async def test_a_first_placement_makes_the_parts_and_waits_for_them() -> None:
    fleet = Fleet("eu-1", "eu-2")
    report = await fleet.place("p1", {"eu-1": 4, "eu-2": 2}, {})
    assert report.verdict is Verdict.DONE
    assert fleet.replicas() == {"eu-1": 4, "eu-2": 2}
    assert sorted(fleet.observer.asked) == [
        ("eu-1", "Deployment shop/checkout", 4),
        ("eu-2", "Deployment shop/checkout", 2),
    ]
    assert fleet.journal.kept == {}


async def test_the_same_rollout_again_writes_nothing_at_all() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 4, "eu-2": 2}, {})
    before, saves = fleet.versions(), fleet.journal.saves
    writes = {name: len(api.writes) for name, api in fleet.apis.items()}
    report = await fleet.place("p2", {"eu-1": 4, "eu-2": 2}, {})
    assert report.verdict is Verdict.UNCHANGED
    assert {name: len(api.writes) for name, api in fleet.apis.items()} == writes
    assert (fleet.versions(), fleet.journal.saves) == (before, saves)


async def test_a_move_adds_and_waits_before_it_takes_away() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 4}, {})
    order: list[str] = []
    for name, api in fleet.apis.items():
        api.after = lambda call, name=name: order.append(f"{call.method} {name}") if call.method != "GET" else None  # type: ignore[misc]
    wait = fleet.observer.wait_ready

    async def watched(member: str, ref: Ref, replicas: int) -> str | None:
        order.append(f"ready {member}")
        return await wait(member, ref, replicas)

    fleet.observer.wait_ready = watched  # type: ignore[method-assign]
    report = await fleet.place("p2", {"eu-2": 4}, {"eu-1": 4})
    assert order == ["PATCH eu-2", "ready eu-2", "DELETE eu-1"]
    assert told(report) == [("eu-2", "surge", "written"), ("eu-1", "drain", "written")]
    assert fleet.replicas() == {"eu-1": None, "eu-2": 4}


async def test_shrinking_happens_only_once_the_new_ones_are_ready() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 4, "eu-2": 1}, {})
    report = await fleet.place("p2", {"eu-1": 2, "eu-2": 3}, {"eu-1": 4, "eu-2": 1})
    assert told(report) == [("eu-2", "surge", "written"), ("eu-1", "drain", "written")]
    assert fleet.replicas() == {"eu-1": 2, "eu-2": 3}


async def test_an_unhealthy_target_aborts_before_anything_is_drained() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 4, "eu-2": 1}, {})
    fleet.observer.why["eu-2"] = "image cannot be pulled"
    report = await fleet.place("p2", {"eu-1": 2, "eu-2": 3}, {"eu-1": 4, "eu-2": 1})
    assert (report.verdict, report.why) == (Verdict.UNDONE, "image cannot be pulled")
    assert told(report) == [("eu-2", "surge", "failed"), ("eu-2", "surge", "undone")]
    assert fleet.replicas() == {"eu-1": 4, "eu-2": 1}
    assert fleet.journal.kept == {}


async def test_a_target_that_is_never_ready_runs_into_the_limit() -> None:
    fleet = Fleet("eu-1")

    async def never(member: str, ref: Ref, replicas: int) -> str | None:
        await asyncio.Event().wait()
        return None

    fleet.observer.wait_ready = never  # type: ignore[method-assign]
    report = await fleet.place("p1", {"eu-1": 4}, {})
    assert report.verdict is Verdict.UNDONE
    assert report.why == "4 instances of Deployment shop/checkout were not ready within 0.2 s"
    assert fleet.replicas() == {"eu-1": None}


async def test_a_job_is_not_waited_for() -> None:
    fleet = Fleet("eu-1")
    await fleet.place("p1", {"eu-1": 4}, {}, body=job({"parallelism": 4}))
    assert fleet.observer.asked == []


async def test_one_member_that_refuses_takes_the_others_back() -> None:
    fleet = Fleet("eu-1", "eu-2", "eu-3")
    await fleet.place("p1", {"eu-1": 2, "eu-2": 2, "eu-3": 2}, {})
    before = {name: api.live(PATH)["spec"] for name, api in fleet.apis.items()}
    fleet.apis["eu-2"].fault = on_write(1, RefusedError("eu-2", 403, reason="Forbidden", message="may not patch"))
    report = await fleet.place("p2", {"eu-1": 4, "eu-2": 4, "eu-3": 4}, {"eu-1": 2, "eu-2": 2, "eu-3": 2})
    assert report.verdict is Verdict.UNDONE
    assert report.why == "eu-2: 403 Forbidden: may not patch"
    assert {name: api.live(PATH)["spec"] for name, api in fleet.apis.items()} == before
    assert fleet.observer.asked[3:] == []


async def test_what_was_created_is_removed_again_and_what_was_there_is_put_back() -> None:
    fleet = Fleet("eu-1", "eu-2")
    fleet.apis["eu-1"].put(SETTINGS_PATH, SETTINGS | {"data": {"b": "2"}})
    theirs = fleet.apis["eu-1"].live(SETTINGS_PATH)["data"]
    fleet.apis["eu-2"].fault = on_write(1, RefusedError("eu-2", 422, reason="Invalid", message="no"))
    report = await fleet.place("p1", {"eu-1": 1, "eu-2": 1}, {}, beside={"eu-1": [SETTINGS, TOKEN]})
    assert report.verdict is Verdict.UNDONE
    assert set(fleet.apis["eu-1"].objects) == {SETTINGS_PATH}
    assert fleet.apis["eu-1"].live(SETTINGS_PATH)["data"] == theirs
    assert [entry["manager"] for entry in fleet.apis["eu-1"].live(SETTINGS_PATH)["metadata"]["managedFields"]] == [
        "kubectl"
    ]


async def test_values_taken_by_force_are_put_back_as_well() -> None:
    fleet = Fleet("eu-1", "eu-2")
    fleet.apis["eu-1"].put(PATH, deployment(replicas=9), "helm")
    fleet.apis["eu-2"].fault = on_write(1, RefusedError("eu-2", 422, reason="Invalid", message="no"))
    await fleet.place("p1", {"eu-1": 1, "eu-2": 1}, {}, force=True)
    assert fleet.replicas() == {"eu-1": 9, "eu-2": None}


async def test_a_conflict_is_reported_with_its_owner_and_nothing_stays() -> None:
    fleet = Fleet("eu-1", "eu-2")
    fleet.apis["eu-2"].put(PATH, deployment(replicas=9), "helm")
    report = await fleet.place("p1", {"eu-1": 1, "eu-2": 1}, {})
    assert report.why == "eu-2: Deployment shop/checkout: spec.replicas is owned by helm"
    assert fleet.replicas() == {"eu-1": None, "eu-2": 9}


async def test_a_target_in_the_dark_is_known_before_anything_is_written() -> None:
    fleet = Fleet("eu-1", "eu-2")
    fleet.apis["eu-2"].fault = dark("eu-2")
    report = await fleet.place("p1", {"eu-1": 1, "eu-2": 1}, {})
    assert (report.verdict, report.why) == (Verdict.REFUSED, "nothing was written")
    assert told(report) == [("eu-2", "surge", "failed")]
    assert fleet.apis["eu-1"].writes == []
    assert fleet.journal.saves == 0


async def test_a_source_in_the_dark_holds_up_nobody_and_is_drained_when_it_comes_back() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 4}, {})
    fleet.apis["eu-1"].fault = dark("eu-1")
    report = await fleet.place("p2", {"eu-2": 4}, {"eu-1": 4})
    assert report.verdict is Verdict.UNFINISHED
    assert told(report) == [("eu-2", "surge", "written"), ("eu-1", "drain", "stuck")]
    assert fleet.replicas() == {"eu-1": 4, "eu-2": 4}
    [again] = await fleet.carrier.resume()
    assert again.verdict is Verdict.UNFINISHED
    [last] = await fleet.restarted().resume()
    assert last.verdict is Verdict.DONE
    assert fleet.replicas() == {"eu-1": None, "eu-2": 4}
    assert fleet.journal.kept == {}


async def test_a_member_that_does_not_answer_costs_its_deadline_and_no_more() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 1, "eu-2": 1}, {})

    async def hang(method: str, path: str, **more: object) -> dict[str, object]:
        await asyncio.Event().wait()
        return {}

    fleet.apis["eu-1"].call = hang  # type: ignore[method-assign]
    started = asyncio.get_running_loop().time()
    report = await fleet.place("p2", {"eu-2": 2}, {"eu-1": 1, "eu-2": 1})
    assert asyncio.get_running_loop().time() - started < 2
    assert report.why == "eu-1: no answer within 0.2 s"
    assert fleet.replicas()["eu-2"] == 2


async def test_a_failed_undo_stays_in_the_journal_until_it_succeeds() -> None:
    fleet = Fleet("eu-1", "eu-2")
    fleet.apis["eu-2"].fault = on_write(1, RefusedError("eu-2", 429, reason="TooManyRequests", message="slow down"))

    def fall_silent(call: Call) -> None:
        if call.method == "PATCH":
            fleet.apis["eu-1"].fault = dark("eu-1")

    fleet.apis["eu-1"].after = fall_silent
    report = await fleet.place("p1", {"eu-1": 1, "eu-2": 1}, {})
    assert report.verdict is Verdict.UNFINISHED
    assert told(report)[2:] == [("eu-1", "surge", "stuck"), ("eu-2", "surge", "undone")]
    assert fleet.replicas() == {"eu-1": 1, "eu-2": None}
    [last] = await fleet.restarted().resume()
    assert (last.verdict, told(last)) == (Verdict.UNDONE, [("eu-1", "surge", "undone")])
    assert fleet.replicas() == {"eu-1": None, "eu-2": None}


@pytest.mark.parametrize("write", [1, 2])
async def test_a_crash_between_two_members_is_undone_at_the_next_start(write: int) -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 1, "eu-2": 1}, {})
    before = {name: api.live(PATH)["spec"] for name, api in fleet.apis.items()}
    counted = on_write(write, Crash())
    for api in fleet.apis.values():
        api.after = counted
    with pytest.raises(BaseExceptionGroup):
        await fleet.place("p2", {"eu-1": 3, "eu-2": 3}, {"eu-1": 1, "eu-2": 1})
    assert list(fleet.journal.kept) == ["p2"]
    assert 3 in fleet.replicas().values()
    [report] = await fleet.restarted().resume()
    assert report.verdict is Verdict.UNDONE
    assert {name: api.live(PATH)["spec"] for name, api in fleet.apis.items()} == before
    assert await fleet.carrier.resume() == ()


async def test_a_crash_while_draining_is_finished_at_the_next_start() -> None:
    fleet = Fleet("eu-1", "eu-2", "eu-3")
    await fleet.place("p1", {"eu-1": 2, "eu-2": 2}, {})
    fleet.apis["eu-1"].after = on_write(1, Crash())
    fleet.apis["eu-2"].fault = on_write(1, Crash())
    with pytest.raises(BaseExceptionGroup):
        await fleet.place("p2", {"eu-3": 4}, {"eu-1": 2, "eu-2": 2})
    [report] = await fleet.restarted().resume()
    assert report.verdict is Verdict.DONE
    assert fleet.replicas() == {"eu-1": None, "eu-2": None, "eu-3": 4}


async def test_a_crash_before_the_first_write_leaves_nothing_to_undo() -> None:
    fleet = Fleet("eu-1")
    fleet.apis["eu-1"].fault = on_write(1, Crash())
    with pytest.raises(BaseExceptionGroup):
        await fleet.place("p1", {"eu-1": 3}, {})
    assert list(fleet.journal.kept) == ["p1"]
    [report] = await fleet.restarted().resume()
    assert report.verdict is Verdict.UNDONE
    assert fleet.replicas() == {"eu-1": None}


async def test_an_object_that_is_gone_meanwhile_is_not_made_again_by_an_undo() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 1, "eu-2": 1}, {})
    fleet.apis["eu-2"].after = on_write(1, Crash())
    with pytest.raises(BaseExceptionGroup):
        await fleet.place("p2", {"eu-1": 3, "eu-2": 3}, {"eu-1": 1, "eu-2": 1})
    del fleet.apis["eu-1"].objects[PATH]
    [report] = await fleet.restarted().resume()
    assert report.verdict is Verdict.UNDONE
    assert fleet.replicas() == {"eu-1": None, "eu-2": 1}


async def test_a_new_placement_settles_what_a_former_one_left_open() -> None:
    fleet = Fleet("eu-1", "eu-2")
    fleet.apis["eu-1"].after = on_write(1, Crash())
    with pytest.raises(BaseExceptionGroup):
        await fleet.place("p1", {"eu-1": 3}, {}, beside={"eu-1": [SETTINGS]})
    fleet.restarted()
    report = await fleet.place("p2", {"eu-1": 2}, {})
    assert report.verdict is Verdict.DONE
    assert set(fleet.apis["eu-1"].objects) == {PATH}
    assert fleet.journal.kept == {}


async def test_nothing_is_begun_where_a_former_placement_cannot_be_settled() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 4}, {})
    fleet.apis["eu-1"].fault = dark("eu-1")
    await fleet.place("p2", {"eu-2": 4}, {"eu-1": 4})
    report = await fleet.place("p3", {"eu-1": 1, "eu-2": 4}, {"eu-1": 4, "eu-2": 4})
    assert report.verdict is Verdict.REFUSED
    assert report.why == "a former placement (p2) is not settled: eu-1: no answer within 3 s"
    elsewhere = await fleet.place("p4", {"eu-2": 5}, {"eu-2": 4})
    assert elsewhere.verdict is Verdict.DONE


async def test_one_workload_is_rolled_out_once_at_a_time() -> None:
    fleet = Fleet("eu-1")
    first, second = await asyncio.gather(fleet.place("p1", {"eu-1": 1}, {}), fleet.place("p2", {"eu-1": 2}, {}))
    assert (first.verdict, second.verdict) == (Verdict.DONE, Verdict.REFUSED)
    assert second.why == "another placement of it is under way"


async def test_what_must_not_be_touched_is_left_and_told() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 4}, {})
    fleet.apis["eu-1"].touch(PATH, {("f:metadata", "f:labels", "f:x"): "y"}, "argocd")
    report = await fleet.place("p2", {"eu-2": 4}, {"eu-1": 4})
    [left] = [one for one in report.outcomes if one.stage is Stage.DRAIN]
    assert (left.state, left.why) == (State.LEFT, "Deployment shop/checkout fields of it are owned by argocd")
    assert fleet.replicas() == {"eu-1": 4, "eu-2": 4}


async def test_a_member_that_left_the_fleet_keeps_its_intent() -> None:
    fleet = Fleet("eu-1", "eu-2")
    fleet.apis["eu-1"].after = on_write(1, Crash())
    with pytest.raises(BaseExceptionGroup):
        await fleet.place("p1", {"eu-1": 3}, {})
    gone = Carrier(Means(writers_of(dict), fleet.journal, fleet.observer))
    [report] = await gone.resume()
    assert (report.verdict, report.why) == (Verdict.UNFINISHED, "eu-1: is not a member of the fleet")
    assert list(fleet.journal.kept) == ["p1"]


async def test_secrets_are_never_in_the_journal_and_an_updated_one_stays() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 1}, {}, beside={"eu-1": [TOKEN]})
    seen: list[str] = []
    save = fleet.journal.save

    async def watched(intent: object) -> None:
        await save(intent)  # type: ignore[arg-type]
        seen.append(str(fleet.journal.kept))

    fleet.journal.save = watched  # type: ignore[method-assign]
    fleet.apis["eu-2"].fault = on_write(1, RefusedError("eu-2", 403, reason="Forbidden", message="no"))
    newer = TOKEN | {"data": {"t": "bmV3ZXI="}}
    report = await fleet.place("p2", {"eu-1": 2, "eu-2": 1}, {"eu-1": 1}, beside={"eu-1": [newer], "eu-2": [newer]})
    assert seen
    assert not any(value in text for text in seen for value in ("c2VjcmV0", "bmV3ZXI="))
    undone = next(one for one in report.outcomes if one.member == "eu-1" and one.state is State.UNDONE)
    assert [(step.verb, step.ref.kind) for step in undone.steps] == [
        (Verb.UPDATE, "Deployment"),
        (Verb.LEAVE, "Secret"),
    ]
    assert fleet.apis["eu-1"].live(TOKEN_PATH)["data"] == {"t": "bmV3ZXI="}


async def test_at_most_so_many_members_are_written_at_a_time() -> None:
    names = [f"m{number}" for number in range(6)]
    busy, most = 0, 0
    apis = {name: FakeApi(name) for name in names}

    class Slow(RehearsalWriter):
        async def read(self, ref: Ref) -> dict[str, object] | None:
            nonlocal busy, most
            busy += 1
            most = max(most, busy)
            await asyncio.sleep(0)
            busy -= 1
            return await super().read(ref)

    means = Means(writers_of(lambda: apis, kind=Slow), MemoryJournal(), Says(), Limits(members=2))
    report = await Carrier(means).rehearse(rollout("p1", dict.fromkeys(names, 1), {}))
    assert len(report.outcomes) == 6
    assert most == 2


async def test_a_rehearsal_has_the_shape_of_the_real_thing_and_keeps_nothing() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 4}, {})
    before = fleet.versions()
    fleet.apis["eu-2"].fault = on_write(1, RefusedError("eu-2", 422, reason="Invalid", message="denied by policy"))
    means = Means(writers_of(lambda: fleet.apis, kind=RehearsalWriter), MemoryJournal(), Says())
    report = await Carrier(means).rehearse(rollout("p2", {"eu-1": 3, "eu-2": 1}, {"eu-1": 4}))
    assert report.verdict is Verdict.REHEARSED
    assert told(report) == [("eu-1", "drain", "written"), ("eu-2", "surge", "failed")]
    assert report.outcomes[1].why == "eu-2: 422 Invalid: denied by policy"
    assert [str(change) for step in report.outcomes[0].steps for change in step.changes] == ["~ spec.replicas: 4 -> 3"]
    assert fleet.versions() == before


async def test_without_a_journal_nothing_is_begun() -> None:
    fleet = Fleet("eu-1")
    fleet.journal.broken_at = 1
    report = await fleet.place("p1", {"eu-1": 1}, {})
    assert (report.verdict, report.why) == (Verdict.REFUSED, "the journal cannot be written, so nothing else was")
    assert fleet.apis["eu-1"].writes == []


async def test_a_journal_that_breaks_before_the_drain_stops_it_and_the_next_start_undoes() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 2}, {})
    fleet.journal.broken_at = fleet.journal.saves + 2
    report = await fleet.place("p2", {"eu-2": 2}, {"eu-1": 2})
    assert report.verdict is Verdict.UNFINISHED
    assert report.why == "the journal cannot be written, so nothing is drained"
    assert fleet.replicas() == {"eu-1": 2, "eu-2": 2}
    fleet.journal.broken_at = None
    assert [one.verdict for one in await fleet.restarted().resume()] == [Verdict.UNDONE]
    assert fleet.replicas() == {"eu-1": 2, "eu-2": None}


async def test_a_journal_that_breaks_while_draining_repeats_what_is_done_already() -> None:
    fleet = Fleet("eu-1", "eu-2")
    await fleet.place("p1", {"eu-1": 2}, {})
    fleet.journal.broken_at = fleet.journal.saves + 4
    report = await fleet.place("p2", {"eu-2": 2}, {"eu-1": 2})
    assert (report.verdict, report.why) == (Verdict.UNFINISHED, "the journal cannot be written")
    fleet.journal.broken_at = None
    assert [one.verdict for one in await fleet.restarted().resume()] == [Verdict.DONE]
    assert fleet.replicas() == {"eu-1": None, "eu-2": 2}


async def test_an_undo_leaves_what_another_workload_was_placed_upon_meanwhile() -> None:
    fleet = Fleet("eu-1")
    uses: dict[str, Any] = {"containers": [container(envFrom=[{"configMapRef": {"name": "settings"}}])]}
    other = marked(deployment("stock", pod=uses))

    async def place_another(member: str, ref: Ref, replicas: int) -> str | None:
        await ServerWriter(fleet.apis["eu-1"]).apply(other)
        return "image cannot be pulled"

    fleet.observer.wait_ready = place_another  # type: ignore[method-assign]
    report = await fleet.place("p1", {"eu-1": 2}, {}, body=deployment(pod=uses), beside={"eu-1": [SETTINGS, TOKEN]})
    undone = report.outcomes[-1]
    assert [(str(step.ref), step.verb, step.why) for step in undone.steps] == [
        ("Deployment shop/checkout", Verb.DELETE, None),
        ("ConfigMap shop/settings", Verb.LEAVE, "is needed by Deployment shop/stock"),
        ("Secret shop/token", Verb.DELETE, None),
    ]
    assert SETTINGS_PATH in fleet.apis["eu-1"].objects


async def test_a_kind_that_a_member_does_not_know_is_said_in_words() -> None:
    fleet = Fleet("eu-1")
    message = "the server could not find the requested resource"
    fleet.apis["eu-1"].fault = on_write(1, RefusedError("eu-1", 404, reason="NotFound", message=message))
    report = await fleet.place("p1", {"eu-1": 1}, {}, body=service())
    assert report.why == "eu-1: Service shop/checkout: serving.knative.dev/v1 is not known there"


async def test_what_another_process_is_carrying_out_is_left_to_it() -> None:
    fleet = Fleet("eu-1", "eu-2")
    fleet.apis["eu-2"].after = on_write(1, Crash())
    with pytest.raises(BaseExceptionGroup):
        await fleet.place("p1", {"eu-1": 4, "eu-2": 2}, {})
    fleet.journal.elsewhere.add("shop/checkout")
    there, other = fleet.versions(), fleet.restarted()
    assert await other.resume() == ()
    report = await other.carry_out(rollout("p2", {"eu-1": 1}, {}), now=NOW)
    assert (report.verdict, report.why) == (Verdict.REFUSED, "another process is carrying out a placement of it")
    assert fleet.versions() == there
    fleet.journal.elsewhere.clear()
    assert [one.verdict for one in await other.resume()] == [Verdict.UNDONE]


async def test_what_has_ended_while_others_were_settled_is_not_undone() -> None:
    fleet = Fleet("eu-1")
    former = fleet.journal.load
    fleet.apis["eu-1"].after = on_write(1, Crash())
    with pytest.raises(BaseExceptionGroup):
        await fleet.place("p1", {"eu-1": 4}, {})
    early = await former()
    fleet.journal.kept.clear()
    answers = [early]

    async def stale() -> tuple[Intent, ...]:
        return answers.pop() if answers else await former()

    fleet.journal.load = stale  # type: ignore[method-assign]
    assert await fleet.restarted().resume() == ()
    assert fleet.replicas() == {"eu-1": 4}

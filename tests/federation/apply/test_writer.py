"""One member's objects: applied under our name, never taken by accident, removed only when they are ours."""

from __future__ import annotations

import pytest

from federation.apply.state.objects import Ref, path_of
from federation.apply.state.owned import is_ours, other_owners, owned_part
from federation.apply.writer import Contest, ContestedError, RehearsalWriter, ServerWriter
from federation.manifest.share import marked
from federation.members.api import RefusedError
from tests.federation.apply.fake import Call, FakeApi, on_write
from tests.federation.manifest.made import deployment

REF = Ref("apps/v1", "Deployment", "shop", "checkout")
PATH = path_of(REF)
REPLICAS = ("f:spec", "f:replicas")


async def test_what_was_applied_is_ours_and_comes_back_as_it_was_applied() -> None:
    api = FakeApi("eu-1")
    body = marked(deployment())
    await ServerWriter(api).apply(body)
    live = await ServerWriter(api).read(REF)
    assert live is not None
    assert is_ours(live)
    assert owned_part(live) == body


async def test_the_same_apply_again_changes_nothing() -> None:
    api = FakeApi("eu-1")
    writer = ServerWriter(api)
    first = await writer.apply(marked(deployment()))
    second = await writer.apply(marked(deployment()))
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


async def test_a_field_of_another_owner_is_reported_with_its_owner_and_not_taken() -> None:
    api = FakeApi("eu-1")
    writer = ServerWriter(api)
    await writer.apply(marked(deployment(replicas=3)))
    api.touch(PATH, {REPLICAS: 7}, "kubectl-edit")
    with pytest.raises(
        ContestedError, match=r"^eu-1: Deployment shop/checkout: spec\.replicas is owned by kubectl-edit$"
    ):
        await writer.apply(marked(deployment(replicas=4)))
    assert api.live(PATH)["spec"]["replicas"] == 7


async def test_a_field_is_taken_where_a_person_said_so() -> None:
    api = FakeApi("eu-1")
    writer = ServerWriter(api)
    api.put(PATH, deployment(replicas=9), "helm")
    with pytest.raises(ContestedError) as caught:
        await writer.apply(marked(deployment(replicas=4)))
    assert caught.value.contests == (Contest("helm", "spec.replicas"),)
    after = await writer.apply(marked(deployment(replicas=4)), force=True)
    assert after["spec"]["replicas"] == 4
    assert "helm" in other_owners(after)


async def test_what_our_own_scaling_set_is_no_conflict() -> None:
    api = FakeApi("eu-1")
    writer = ServerWriter(api)
    await writer.apply(marked(deployment(replicas=3)))
    api.touch(PATH, {REPLICAS: 5}, "prewarm", "scale")
    after = await writer.apply(marked(deployment(replicas=4)))
    assert after["spec"]["replicas"] == 4


async def test_a_refusal_of_another_kind_stays_what_it_is() -> None:
    api = FakeApi("eu-1")
    api.fault = on_write(1, RefusedError("eu-1", 403, reason="Forbidden", message="no"))
    with pytest.raises(RefusedError, match="403 Forbidden: no"):
        await ServerWriter(api).apply(marked(deployment()))


async def test_removing_takes_only_what_we_made() -> None:
    api = FakeApi("eu-1")
    writer = ServerWriter(api)
    assert await writer.remove(REF) is None
    api.put(PATH, deployment())
    assert await writer.remove(REF) == "was not made by prewarm"
    api.put(PATH, marked(deployment()))  # somebody copied our label
    assert await writer.remove(REF) == "was not made by prewarm"
    assert PATH in api.objects


async def test_what_others_own_fields_of_is_left_and_they_are_named() -> None:
    api = FakeApi("eu-1")
    writer = ServerWriter(api)
    await writer.apply(marked(deployment()))
    api.touch(PATH, {("f:metadata", "f:annotations", "f:owner"): "me"}, "argocd")
    assert await writer.remove(REF) == "fields of it are owned by argocd"
    assert PATH in api.objects


async def test_controllers_and_autoscalers_do_not_make_it_somebody_elses() -> None:
    api = FakeApi("eu-1")
    writer = ServerWriter(api)
    await writer.apply(marked(deployment()))
    api.touch(PATH, {("f:status", "f:replicas"): 3}, "somebody", "status")
    api.touch(PATH, {("f:metadata", "f:annotations", "f:revision"): "1"}, "kube-controller-manager")
    api.touch(PATH, {REPLICAS: 8}, "keda", "scale")
    assert await writer.remove(REF) is None
    assert PATH not in api.objects


async def test_an_object_that_changes_while_it_is_judged_is_judged_again() -> None:
    api = FakeApi("eu-1")
    writer = ServerWriter(api)
    await writer.apply(marked(deployment()))
    others = iter(["kube-controller-manager", "argocd"])

    def meddle(call: Call) -> None:
        if call.method == "GET" and (other := next(others, None)):
            api.touch(PATH, {("f:metadata", "f:labels", "f:y"): other}, other)

    api.after = meddle
    assert await writer.remove(REF) == "fields of it are owned by argocd"
    assert [call.method for call in api.calls[-5:]] == ["GET", "DELETE", "GET", "DELETE", "GET"]
    assert PATH in api.objects


async def test_an_object_that_never_holds_still_is_given_up() -> None:
    api = FakeApi("eu-1")
    writer = ServerWriter(api)
    await writer.apply(marked(deployment()))
    api.after = lambda _: api.touch(PATH, {("f:status", "f:x"): len(api.calls)}, "kube-controller-manager")
    with pytest.raises(RefusedError, match="409"):
        await writer.remove(REF)
    assert [call.method for call in api.writes].count("DELETE") == 3


async def test_what_is_being_deleted_already_is_gone() -> None:
    api = FakeApi("eu-1")
    writer = ServerWriter(api)
    await writer.apply(marked(deployment()))
    api.touch(PATH, {("f:metadata", "f:deletionTimestamp"): "2026-11-30T00:00:00Z"}, "kube-apiserver")
    assert await writer.remove(REF) is None
    assert "DELETE" not in [call.method for call in api.calls]


async def test_a_rehearsal_says_what_would_be_and_keeps_nothing() -> None:
    api = FakeApi("eu-1")
    writer = RehearsalWriter(api)
    after = await writer.apply(marked(deployment(replicas=4)))
    assert after["spec"]["replicas"] == 4
    assert api.objects == {}
    await ServerWriter(api).apply(marked(deployment(replicas=4)))
    assert await writer.remove(REF) is None
    assert PATH in api.objects
    first, _, last = api.writes
    assert (first.query["dryRun"], last.body["dryRun"]) == ("All", ["All"])


async def test_a_rehearsal_does_not_ask_about_a_namespace_that_is_still_to_be_made() -> None:
    api = FakeApi("eu-1")
    writer = RehearsalWriter(api)
    await writer.apply(marked({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}))
    body = marked(deployment())
    assert await writer.apply(body) is body
    assert len(api.writes) == 1

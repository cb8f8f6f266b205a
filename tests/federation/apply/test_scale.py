"""Pool decisions carried out: one field by one right, never against another owner, never held up by one member."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from federation.apply.scale import ClusterApplier, scale
from federation.apply.state.objects import Ref, path_of
from federation.apply.writer import ContestedError, ServerWriter
from federation.manifest.share import marked
from federation.members.api import MemberError
from prewarm.domain import Decision, FunctionKey, Mode, PolicyTag
from tests.federation.apply.fake import FakeApi, dark
from tests.federation.apply.made import PATH
from tests.federation.manifest.made import deployment, service

SERVICE = path_of(Ref("serving.knative.dev/v1", "Service", "shop", "checkout"))
FLOOR = "autoscaling.knative.dev/min-scale"


def decision(number: int = 1, cluster: str | None = "eu-1", to: int = 4, **more: Any) -> Decision:
    told: dict[str, Any] = {"function": FunctionKey("shop/checkout"), "mode": Mode.ACTIVE, **more}
    policy = PolicyTag("prewarm", "1")
    return Decision(
        id=f"d{number}",
        at=0.0,
        cluster=cluster,
        from_count=3,
        to_count=to,
        applied=False,
        policy=policy,
        inputs={},
        reasons=(),
        **told,
    )


async def running(name: str = "eu-1", replicas: int = 3) -> FakeApi:
    api = FakeApi(name)
    await ServerWriter(api).apply(marked(deployment(replicas=replicas)))
    api.calls.clear()
    return api


async def test_a_deployment_that_we_placed_is_scaled_and_stays_ours() -> None:
    api = await running()
    applier = ClusterApplier(lambda: {"eu-1": api})
    assert await applier.apply((decision(to=6),)) == {"d1"}
    assert api.live(PATH)["spec"]["replicas"] == 6
    assert {call.path for call in api.writes} == {f"{PATH}/scale"}
    assert applier.refused == {}


async def test_the_same_number_again_changes_nothing() -> None:
    api = await running()
    await scale(api, "shop/checkout", 6)
    version = api.objects[PATH].version
    await scale(api, "shop/checkout", 6)
    assert api.objects[PATH].version == version


async def test_what_others_deployed_is_scaled_while_nobody_claims_its_number() -> None:
    api = FakeApi("eu-1")
    api.put(PATH, deployment(replicas=None))
    await scale(api, "shop/checkout", 2)
    assert api.live(PATH)["spec"]["replicas"] == 2


async def test_an_autoscaler_that_owns_the_number_is_named_and_not_overwritten() -> None:
    api = await running()
    api.touch(PATH, {("f:spec", "f:replicas"): 9}, "keda", "scale")
    applier = ClusterApplier(lambda: {"eu-1": api})
    assert await applier.apply((decision(to=6),)) == frozenset()
    why = applier.refused["shop/checkout", "eu-1"]
    assert why == "eu-1: Deployment shop/checkout: spec.replicas is owned by keda"
    assert api.live(PATH)["spec"]["replicas"] == 9


async def test_a_refusal_is_forgotten_once_it_worked() -> None:
    api = await running()
    applier = ClusterApplier(lambda: {"eu-1": api})
    api.fault = dark("eu-1")
    await applier.apply((decision(),))
    assert applier.refused["shop/checkout", "eu-1"] == "eu-1: no answer within 3 s"
    api.fault = lambda _: None
    assert await applier.apply((decision(),)) == {"d1"}
    assert applier.refused == {}


async def test_a_service_that_we_made_gets_its_floor_and_keeps_the_rest() -> None:
    api = FakeApi("eu-1")
    body = marked(service({"min-scale": "1", "max-scale": "9"}))
    await ServerWriter(api).apply(body)
    await scale(api, "shop/checkout", 3)
    live = api.live(SERVICE)
    assert live["spec"]["template"]["metadata"]["annotations"] == {
        FLOOR: "3",
        "autoscaling.knative.dev/max-scale": "9",
    }
    assert live["spec"]["template"]["spec"] == body["spec"]["template"]["spec"]


async def test_a_floor_that_stands_already_makes_no_new_revision() -> None:
    api = FakeApi("eu-1")
    await ServerWriter(api).apply(marked(service({"min-scale": "3"})))
    api.calls.clear()
    await scale(api, "shop/checkout", 3)
    assert [call.method for call in api.calls] == ["PATCH", "GET"]
    assert api.calls[0].path == f"{PATH}/scale"


async def test_the_floor_of_somebody_elses_service_is_not_written() -> None:
    api = FakeApi("eu-1")
    api.put(SERVICE, service())
    with pytest.raises(MemberError, match="was not made by prewarm"):
        await scale(api, "shop/checkout", 3)


async def test_what_is_not_there_is_said() -> None:
    with pytest.raises(MemberError, match="no Deployment and no Knative Service shop/checkout"):
        await scale(FakeApi("eu-1"), "shop/checkout", 3)


async def test_only_pool_decisions_that_are_active_and_decided_are_carried_out() -> None:
    api = await running()
    applier = ClusterApplier(lambda: {"eu-1": api})
    others = (
        decision(1, mode=Mode.SHADOW),
        decision(2, held="no data for 340 s; kept 3"),
        decision(3, kind="placement"),
    )
    assert await applier.apply(others) == frozenset()
    assert api.calls == []


async def test_a_single_member_needs_no_cluster_in_the_decision() -> None:
    api = await running()
    assert await ClusterApplier(lambda: {"eu-1": api}).apply((decision(cluster=None),)) == {"d1"}
    other = FakeApi("eu-2")
    applier = ClusterApplier(lambda: {"eu-1": api, "eu-2": other})
    assert await applier.apply((decision(cluster=None),)) == frozenset()
    assert applier.refused == {("shop/checkout", "(no cluster)"): "is not a member of the fleet"}


async def test_a_silent_member_costs_its_deadline_and_the_others_nothing() -> None:
    good, silent = await running("eu-1"), await running("eu-2")

    async def hang(method: str, path: str, **more: object) -> dict[str, object]:
        await asyncio.Event().wait()
        return {}

    silent.call = hang  # type: ignore[method-assign]
    applier = ClusterApplier(lambda: {"eu-1": good, "eu-2": silent}, member_s=0.05)
    done = await applier.apply((decision(1, "eu-1"), decision(2, "eu-2")))
    assert done == {"d1"}
    assert applier.refused == {("shop/checkout", "eu-2"): "eu-2: no answer within 0.05 s"}


async def test_few_calls_at_a_time_to_one_member() -> None:
    busy, most = 0, 0
    api = await running()
    answer = api.call

    async def counted(method: str, path: str, **more: Any) -> dict[str, Any]:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0)
        busy -= 1
        return await answer(method, path, **more)

    api.call = counted  # type: ignore[method-assign]
    applier = ClusterApplier(lambda: {"eu-1": api}, at_once=3)
    await applier.apply(tuple(decision(number) for number in range(12)))
    assert most == 3


async def test_a_contest_between_two_of_our_own_claims_is_none() -> None:
    api = await running()
    await scale(api, "shop/checkout", 7)
    await ServerWriter(api).apply(marked(deployment(replicas=2)))
    assert api.live(PATH)["spec"]["replicas"] == 2
    api.touch(PATH, {("f:spec", "f:replicas"): 5}, "kubectl")
    with pytest.raises(ContestedError):
        await ServerWriter(api).apply(marked(deployment(replicas=2)))

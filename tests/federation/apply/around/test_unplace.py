"""The end of a workload: everything that we made for it, nothing that anybody else made or still needs."""

from __future__ import annotations

from federation.apply.around.dependencies import copied
from federation.apply.around.traffic import Route, route_object
from federation.apply.around.unplace import ending_of, rollout_to_end
from federation.apply.rollout.work import State, Verdict
from federation.apply.state.objects import Ref, path_of, ref_of
from federation.apply.usage import referred_to
from federation.apply.writer import ServerWriter
from federation.manifest.share import marked
from federation.placement.answer import Share
from tests.federation.apply.fake import FakeApi
from tests.federation.apply.made import NOW, PATH, REF, Fleet
from tests.federation.manifest.made import Json, container, deployment

SETTINGS: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}
SETTINGS_REF = Ref("v1", "ConfigMap", "shop", "settings")
USES: Json = {"containers": [container(envFrom=[{"configMapRef": {"name": "settings"}}])]}


async def placed(api: FakeApi) -> None:
    for body in (copied(SETTINGS, "eu-2"), marked(deployment(pod=USES))):
        await ServerWriter(api).apply(body)


async def test_a_workload_goes_with_what_was_copied_for_it() -> None:
    fleet = Fleet("eu-1")
    await placed(fleet.apis["eu-1"])
    ending = await ending_of(fleet.apis["eu-1"], "shop/checkout")
    assert ending.work is not None
    assert ending.work.gone == (REF, SETTINGS_REF)
    report = await fleet.carrier.carry_out(rollout_to_end("e1", "shop/checkout", [ending]), now=NOW)
    assert report.verdict is Verdict.DONE
    assert fleet.apis["eu-1"].objects == {}


async def test_its_route_goes_first_and_one_of_somebody_else_stays() -> None:
    fleet = Fleet("eu-1")
    api = fleet.apis["eu-1"]
    await ServerWriter(api).apply(marked(deployment()))
    route = route_object("shop/checkout", [Share("eu-1", 2, 0, 1.0)], Route("eu-1", "public"))
    await ServerWriter(api).apply(route)
    ending = await ending_of(api, "shop/checkout")
    assert ending.work is not None
    assert ending.work.gone == (ref_of(route), REF)
    await fleet.carrier.carry_out(rollout_to_end("e1", "shop/checkout", [ending]), now=NOW)
    assert api.objects == {}
    api.put(path_of(ref_of(route)), {**route, "metadata": {"name": "checkout", "namespace": "shop"}}, "helm")
    assert (await ending_of(api, "shop/checkout")).work is None


async def test_ending_twice_finds_nothing_the_second_time() -> None:
    api = FakeApi("eu-1")
    assert (await ending_of(api, "shop/checkout")).work is None
    assert rollout_to_end("e1", "shop/checkout", [await ending_of(api, "shop/checkout")]).works == ()


async def test_what_another_workload_needs_stays_and_the_user_is_named() -> None:
    api = FakeApi("eu-1")
    await placed(api)
    api.put(path_of(Ref("apps/v1", "Deployment", "shop", "stock")), deployment("stock", pod=USES), "helm")
    ending = await ending_of(api, "shop/checkout")
    assert ending.work is not None
    assert ending.work.gone == (REF,)
    assert ending.kept == ((SETTINGS_REF, "Deployment shop/stock needs it"),)


async def test_a_workload_of_somebody_else_is_not_ended() -> None:
    api = FakeApi("eu-1")
    api.put(PATH, deployment(pod=USES), "helm")
    ending = await ending_of(api, "shop/checkout")
    assert ending.work is None
    assert ending.kept == ((REF, "was not made by prewarm"),)


async def test_a_dependency_that_was_there_before_us_is_left() -> None:
    fleet = Fleet("eu-1")
    api = fleet.apis["eu-1"]
    api.put(path_of(SETTINGS_REF), SETTINGS, "helm")
    await ServerWriter(api).apply(marked(deployment(pod=USES)))
    report = await fleet.carrier.carry_out(
        rollout_to_end("e1", "shop/checkout", [await ending_of(api, "shop/checkout")]), now=NOW
    )
    [outcome] = report.outcomes
    assert (outcome.state, outcome.why) == (State.LEFT, "ConfigMap shop/settings was not made by prewarm")
    assert set(api.objects) == {path_of(SETTINGS_REF)}


async def test_companions_of_the_same_file_go_as_well() -> None:
    api = FakeApi("eu-1")
    await ServerWriter(api).apply(marked(deployment()))
    other = Ref("v1", "Service", "shop", "checkout")
    ending = await ending_of(api, "shop/checkout", companions=[other])
    assert ending.work is not None
    assert ending.work.gone == (REF, other)


async def test_an_unreadable_workload_of_others_needs_nothing() -> None:
    api = FakeApi("eu-1")
    broken = deployment("odd", pod={"tolerations": [{"operator": "Like"}]})
    api.put(path_of(Ref("apps/v1", "Deployment", "shop", "odd")), broken)
    assert await referred_to(api, "shop") == {}

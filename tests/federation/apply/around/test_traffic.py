"""Weights of a placement as a route of the Gateway API."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.apply.around.traffic import WHOLE, Route, check_gateway, route_object, traffic_work
from federation.apply.rollout.work import Rollout, Stage, Verdict, works_of
from federation.apply.state.objects import Ref, path_of
from federation.members.api import MemberError
from federation.placement.answer import Share
from prewarm.domain import InputError
from tests.federation.apply.fake import Call, FakeApi
from tests.federation.apply.made import NOW, PATH, Fleet
from tests.federation.manifest.made import deployment

ROUTE = Route("hub", "infra/public", ("shop.example",))
SHARES = (Share("eu-1", 4, 0, 0.667), Share("eu-2", 2, 0, 0.333))
ROUTE_PATH = path_of(Ref("gateway.networking.k8s.io/v1", "HTTPRoute", "shop", "checkout"))


def test_each_part_is_a_weighted_backend() -> None:
    body = route_object("shop/checkout", SHARES, ROUTE)
    assert (body["apiVersion"], body["kind"]) == ("gateway.networking.k8s.io/v1", "HTTPRoute")
    assert body["spec"] == {
        "parentRefs": [{"name": "public", "namespace": "infra"}],
        "hostnames": ["shop.example"],
        "rules": [
            {
                "backendRefs": [
                    {"group": "", "kind": "Service", "name": "checkout-eu-1", "port": 80, "weight": 667},
                    {"group": "", "kind": "Service", "name": "checkout-eu-2", "port": 80, "weight": 333},
                ]
            }
        ],
    }


def test_imported_services_are_named_by_their_group() -> None:
    route = Route("hub", "public", port=8080, group="multicluster.x-k8s.io", kind="ServiceImport")
    body = route_object("shop/checkout", SHARES[:1], route)
    assert body["spec"]["parentRefs"] == [{"name": "public"}]
    assert "hostnames" not in body["spec"]
    [backend] = body["spec"]["rules"][0]["backendRefs"]
    assert (backend["group"], backend["kind"], backend["port"]) == ("multicluster.x-k8s.io", "ServiceImport", 8080)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_weights_sum_to_the_whole_and_follow_the_shares(weights: list[float]) -> None:
    shares = tuple(Share(f"c{at}", 1, 0, weight) for at, weight in enumerate(weights))
    if not sum(round(weight * 1_000_000) for weight in weights):
        with pytest.raises(InputError, match="nothing to route to"):
            route_object("shop/checkout", shares, ROUTE)
        return
    backends = route_object("shop/checkout", shares, ROUTE)["spec"]["rules"][0]["backendRefs"]
    parts = [backend["weight"] for backend in backends]
    assert sum(parts) == WHOLE
    total = sum(weights)
    assert all(abs(part - WHOLE * weight / total) <= 1.01 for part, weight in zip(parts, weights, strict=True))


def test_a_pattern_that_does_not_tell_clusters_apart_is_refused() -> None:
    with pytest.raises(InputError, match="must tell clusters apart"):
        route_object("shop/checkout", SHARES, Route("hub", "public", backend="{name}"))


async def test_without_the_gateway_api_it_is_one_line() -> None:
    api = FakeApi("hub")
    await check_gateway(api)
    api.groups.clear()
    with pytest.raises(MemberError, match=r"^hub: has no Gateway API \(gateway\.networking\.k8s\.io/v1\), so traffic"):
        await check_gateway(api)


async def test_calls_move_after_the_new_instances_are_ready_and_before_the_old_ones_go() -> None:
    fleet = Fleet("eu-1", "eu-2", "hub")
    await fleet.place("p1", {"eu-1": 4}, {})
    order: list[str] = []

    def note(call: Call) -> None:
        if call.method != "GET":
            order.append(f"{call.method} {call.path.rpartition('/')[0].rpartition('/')[2]}")

    for api in fleet.apis.values():
        api.after = note
    works = (
        *works_of(deployment(), {"eu-2": 4}, {"eu-1": 4}, beside={}),
        traffic_work("shop/checkout", (Share("eu-2", 4, 0, 1.0),), ROUTE),
    )
    report = await fleet.carrier.carry_out(Rollout("p2", "shop/checkout", works), now=NOW)
    assert report.verdict is Verdict.DONE
    assert [one.stage for one in report.outcomes] == [Stage.SURGE, Stage.TRAFFIC, Stage.DRAIN]
    assert order == ["PATCH deployments", "PATCH httproutes", "DELETE deployments"]


async def test_a_route_that_is_refused_takes_the_surge_back() -> None:
    fleet = Fleet("eu-1", "hub")
    fleet.apis["hub"].put(ROUTE_PATH, route_object("shop/checkout", (Share("x", 1, 0, 1.0),), ROUTE), "argocd")
    works = (
        *works_of(deployment(), {"eu-1": 4}, {}, beside={}),
        traffic_work("shop/checkout", (Share("eu-1", 4, 0, 1.0),), ROUTE),
    )
    report = await fleet.carrier.carry_out(Rollout("p1", "shop/checkout", works), now=NOW)
    assert report.verdict is Verdict.UNDONE
    assert "owned by argocd" in (report.why or "")
    assert PATH not in fleet.apis["eu-1"].objects

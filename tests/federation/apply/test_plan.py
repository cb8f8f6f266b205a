"""Differences and plans as values: complete, idempotent, readable, and silent about secrets."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.apply.state.diff import HIDDEN, changes_to
from federation.apply.state.objects import Ref, path_of, ref_of
from federation.apply.state.owned import joined, owned_part, part_like
from federation.apply.state.paths import leaves
from federation.apply.state.plan import Verb, described, plan_objects, why_not_removed
from federation.apply.writer import ServerWriter
from federation.manifest.share import marked
from prewarm.domain import InputError
from tests.federation.apply.fake import FakeApi, flatten, unflatten
from tests.federation.manifest.made import Json, container, deployment, job, service

NAMES = st.sampled_from(["app", "side", "log", "x.y/z"])
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.booleans(), st.integers(-5, 5), st.text(max_size=4), st.just({}), st.lists(st.integers(0, 3))
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES}, optional={"image": st.text(max_size=3), "args": st.lists(st.text(max_size=2))}
    ),
    unique_by=lambda one: str(one["name"]),
    max_size=3,
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(0, 9),
        "containers": CONTAINERS,
        "labels": st.dictionaries(NAMES, SCALARS, max_size=3),
        "paused": st.booleans(),
    },
)


def config(spec: Json) -> Json:
    meta = {"name": "c", "namespace": "shop"}
    return marked({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "spec": spec})


def lines(live: Json, wanted: Json) -> list[str]:
    return [str(change) for change in changes_to(live, wanted, owned_part(live))]


async def applied(body: Json) -> tuple[FakeApi, Json]:
    api = FakeApi("eu-1")
    return api, await ServerWriter(api).apply(body)


@given(SPECS, SPECS)
async def test_after_an_apply_there_is_nothing_left_to_do(first: Json, second: Json) -> None:
    api, live = await applied(config(first))
    after = await ServerWriter(api).apply(config(second))
    ref = ref_of(config(second))
    [step] = plan_objects([config(second)], [], {ref: after})
    assert (step.verb, step.changes) == (Verb.KEEP, ())
    changed = after["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"]
    assert changed or not changes_to(live, config(second), owned_part(live))


@given(SPECS)
async def test_what_is_owned_is_what_was_applied(spec: Json) -> None:
    _, live = await applied(config(spec))
    assert dict(leaves(owned_part(live))) == dict(leaves(config(spec)))


@given(SPECS, SPECS)
async def test_putting_back_the_owned_part_undoes_an_apply(first: Json, second: Json) -> None:
    api, live = await applied(config(first))
    before = owned_part(live)
    await ServerWriter(api).apply(config(second))
    after = await ServerWriter(api).apply(before)
    assert dict(leaves(after.get("spec", {}))) == dict(leaves(live.get("spec", {})))


@given(SPECS, SPECS)
def test_the_part_alike_holds_nothing_else_and_joins_back(live: Json, wanted: Json) -> None:
    part = part_like(live, wanted)
    mine = dict(leaves(live))
    assert all(mine.get(path) == value or value in ({}, []) for path, value in leaves(part))
    assert dict(leaves(joined(part, live))) == mine or part == {}


@given(SPECS)
def test_the_memory_server_keeps_what_it_is_given(spec: Json) -> None:
    assert dict(leaves(unflatten(flatten(spec)))) == dict(leaves(spec))


@given(SPECS)
def test_comparing_changes_nothing(spec: Json) -> None:
    before = copy.deepcopy(spec)
    changes_to({"spec": spec}, {"spec": spec}, {"spec": spec})
    assert spec == before


async def test_every_kind_of_change_reads_as_one_line() -> None:
    api, _ = await applied(marked(deployment(pod={"hostNetwork": True})))
    path = path_of(Ref("apps/v1", "Deployment", "shop", "checkout"))
    api.touch(path, {("f:spec", "f:paused"): False}, "somebody")
    wanted = marked(deployment(replicas=5, pod={"containers": [container(image="new"), container("side")]}))
    wanted["spec"]["paused"] = False
    assert lines(api.live(path), wanted) == [
        "= spec.paused: false (becomes ours as well)",
        "~ spec.replicas: 3 -> 5",
        '~ spec.template.spec.containers[app].image: "registry.example/app:1" -> "new"',
        '- spec.template.spec.containers[app].resources.requests.cpu: "250m"',
        '- spec.template.spec.containers[app].resources.requests.memory: "256Mi"',
        '+ spec.template.spec.containers[side].image: "registry.example/side:1"',
        '+ spec.template.spec.containers[side].name: "side"',
        "- spec.template.spec.hostNetwork: true",
    ]


@pytest.mark.parametrize(
    ("now", "wanted"),
    [
        ({"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "1000m"}}}),
        ({"resources": {"limits": {"memory": "1Gi"}}}, {"resources": {"limits": {"memory": "1024Mi"}}}),
        ({"resources": {"limits": {"cpu": "2"}}}, {"resources": {"limits": {"cpu": 2}}}),
        ({"strategy": {"type": "RollingUpdate"}}, {"strategy": {}}),
        ({"note": "x"}, {"note": "x", "other": None}),
        ({"ports": [{"containerPort": 80, "protocol": "TCP"}]}, {"ports": [{"containerPort": 80}]}),
    ],
)
def test_another_spelling_of_the_same_is_no_change(now: Json, wanted: Json) -> None:
    assert changes_to({"spec": now}, {"spec": wanted}, {"spec": wanted}) == ()


@pytest.mark.parametrize(
    ("now", "wanted"),
    [
        ({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "value": "1.0"}]}),
        ({"args": ["a", "b"]}, {"args": ["b", "a"]}),
        ({"flag": True}, {"flag": 1}),
        ({"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "1x"}}}),
    ],
)
def test_what_only_looks_alike_is_a_change(now: Json, wanted: Json) -> None:
    assert len(changes_to({"spec": now}, {"spec": wanted}, {"spec": wanted})) == 1


def test_a_keyed_list_is_compared_by_key_and_not_by_place() -> None:
    two = [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]
    assert changes_to({"containers": two}, {"containers": two[::-1]}, {"containers": two}) == ()
    twice = [{"name": "a"}, {"name": "a"}]
    assert dict(leaves({"containers": twice})) == {("containers",): twice}


@pytest.mark.parametrize("dropped", [{}, [], "", 0, False])
async def test_a_value_that_the_server_drops_is_no_change_once_it_was_applied(dropped: object) -> None:
    api, _ = await applied(config({"replicas": 3}))
    path = path_of(ref_of(config({})))
    wanted = config({"replicas": 3, "extra": dropped})
    [step] = plan_objects([wanted], [], {ref_of(wanted): api.live(path)})
    assert [change.path for change in step.changes] == ["spec.extra"]
    await ServerWriter(api).apply(wanted)
    del api.objects[path].fields["f:spec", "f:extra"]
    assert plan_objects([wanted], [], {ref_of(wanted): api.live(path)})[0].verb is Verb.KEEP


async def test_what_a_webhook_filled_into_ours_is_no_change_and_a_meddler_is() -> None:
    api, _ = await applied(service_body := config({"template": [{"image": "a"}]}))
    path, ref = path_of(ref_of(service_body)), ref_of(service_body)
    stored = api.objects[path]
    stored.fields["f:spec", "f:template"] = [{"image": "a", "name": "user-container"}]
    [step] = plan_objects([service_body], [], {ref: api.live(path)})
    assert step.verb is Verb.UPDATE  # a list without keys is one value, so it cannot be told from meddling
    stored.fields["f:spec", "f:template"] = [{"image": "a"}]
    stored.fields["f:spec", "f:filled"] = "by a webhook"
    next(iter(stored.owners.values())).add(("f:spec", "f:filled"))
    assert plan_objects([service_body], [], {ref: api.live(path)})[0].verb is Verb.KEEP


def test_secret_values_are_never_shown() -> None:
    secret: Json = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "t", "namespace": "s"},
        "data": {"a": "bmV3"},
    }
    live = copy.deepcopy(secret) | {"data": {"a": "b2xk", "gone": "eA=="}}
    [step] = plan_objects([secret], [], {ref_of(secret): live})
    assert [(change.path, change.before, change.after) for change in step.changes] == [("data.a", HIDDEN, HIDDEN)]
    text = described([step])
    assert text == "update Secret s/t\n    ~ data.a: (hidden) -> (hidden)"
    assert "bmV3" not in text


def test_what_is_referred_to_is_made_first_and_removed_last() -> None:
    bodies = [
        deployment(),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
    ]
    steps = plan_objects(bodies, [], {})
    assert [(step.verb, step.ref.kind) for step in steps] == [
        (Verb.CREATE, "Namespace"),
        (Verb.CREATE, "ConfigMap"),
        (Verb.CREATE, "Deployment"),
    ]
    gone = plan_objects([], [step.ref for step in steps], {})
    assert [step.ref.kind for step in gone] == ["Deployment", "ConfigMap", "Namespace"]
    assert described(gone[:1]) == "keep Deployment shop/checkout (is not there)"


async def test_namespaces_and_claims_are_never_removed() -> None:
    space = marked({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    claim = marked(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "d", "namespace": "shop"},
            "spec": {"a": 1},
        }
    )
    for body, why in ((space, "removing a namespace"), (claim, "holds data")):
        _, live = await applied(body)
        assert why in (why_not_removed(ref_of(body), live) or "")


def test_only_kinds_in_the_table_can_be_written() -> None:
    with pytest.raises(InputError, match="ClusterRole"):
        ref_of({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "x"}})


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (deployment(), "/apis/apps/v1/namespaces/shop/deployments/checkout"),
        (service(), "/apis/serving.knative.dev/v1/namespaces/shop/services/checkout"),
        (job(), "/apis/batch/v1/namespaces/shop/jobs/report"),
        ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, "/api/v1/namespaces/shop"),
        ({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}, "/api/v1/namespaces/default/services/a"),
    ],
)
def test_every_kind_has_its_path(body: dict[str, Any], path: str) -> None:
    assert path_of(ref_of(body)) == path

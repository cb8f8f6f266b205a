"""What goes along with a workload, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from federation.apply.around.dependencies import beside, copied, missing_there, read_copies
from federation.apply.state.objects import Ref, path_of, ref_of
from federation.apply.state.owned import is_ours
from federation.apply.usage import needed_refs
from federation.apply.writer import ServerWriter, writers_of
from federation.labels import COPIED_FROM, FIELD_MANAGER, MANAGED_BY
from federation.manifest.share import marked
from federation.members.api import RefusedError
from tests.federation.apply.fake import FakeApi, dark, on_write

Json = dict[str, Any]
NEEDS = {
    "namespace": ["shop"],
    "configmap:shop": ["settings"],
    "secret:shop": ["token"],
    "serviceaccount:shop": ["runner"],
    "persistentvolumeclaim:shop": ["data"],
    "priorityclass": ["urgent"],
}


def of(kind: str, name: str, **fields: Any) -> Json:
    meta: Json = {"name": name} | ({} if kind == "Namespace" else {"namespace": "shop"})
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **fields}


def member(*bodies: Json, name: str = "eu-1") -> FakeApi:
    api = FakeApi(name)
    for body in bodies:
        api.put(path_of(ref_of(body)), body)
    return api


def whole_source() -> FakeApi:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pv-7"}
    return member(
        of("Namespace", "shop", spec={"finalizers": ["kubernetes"]}),
        of("ConfigMap", "settings", data={"a": "1"}),
        of("Secret", "token", data={"t": "c2VjcmV0"}, type="Opaque"),
        of("ServiceAccount", "runner", secrets=[{"name": "runner-token"}], imagePullSecrets=[{"name": "pull"}]),
        of("PersistentVolumeClaim", "data", spec=claim, status={"phase": "Bound"}),
    )


def test_needs_become_references_in_a_fixed_order() -> None:
    assert [str(ref) for ref in needed_refs(NEEDS)] == [
        "ConfigMap shop/settings",
        "Namespace shop",
        "PersistentVolumeClaim shop/data",
        "Secret shop/token",
        "ServiceAccount shop/runner",
    ]


async def test_a_copy_has_our_mark_and_nothing_of_the_sources_server() -> None:
    copies = await read_copies(ServerWriter(whole_source()), NEEDS)
    by_kind = {body["kind"]: body for body in copies.objects}
    assert "spec" not in by_kind["Namespace"]
    assert by_kind["ConfigMap"]["data"] == {"a": "1"}
    assert "secrets" not in by_kind["ServiceAccount"]
    assert by_kind["ServiceAccount"]["imagePullSecrets"] == [{"name": "pull"}]
    claim = by_kind["PersistentVolumeClaim"]
    assert claim["spec"] == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    assert "status" not in claim
    for body in copies.objects:
        meta = body["metadata"]
        assert meta["labels"] == {MANAGED_BY: FIELD_MANAGER}
        assert meta["annotations"][COPIED_FROM] == "eu-1"
        assert not {"uid", "resourceVersion", "managedFields"} & set(meta)


async def test_data_does_not_travel_and_that_is_said() -> None:
    copies = await read_copies(ServerWriter(whole_source()), NEEDS)
    assert copies.notes == ("PersistentVolumeClaim shop/data is created empty; its data stays in eu-1",)


async def test_what_the_source_lacks_is_said() -> None:
    copies = await read_copies(ServerWriter(FakeApi("eu-1")), {"secret:shop": ["token"]})
    assert copies.objects == ()
    assert copies.notes == ("Secret shop/token is needed and is not in eu-1",)


async def test_a_token_of_the_source_is_not_copied() -> None:
    source = member(of("Secret", "old", type="kubernetes.io/service-account-token", data={"token": "eA=="}))
    copies = await read_copies(ServerWriter(source), {"secret:shop": ["old"]})
    assert copies.objects == ()
    assert "worth nothing elsewhere" in copies.notes[0]


async def test_what_a_target_has_of_its_own_stays_as_it_is() -> None:
    copies = await read_copies(ServerWriter(whole_source()), NEEDS)
    target = member(of("ConfigMap", "settings", data={"a": "other"}), of("Namespace", "shop"), name="eu-2")
    wanted = await missing_there(ServerWriter(target), copies.objects)
    assert [body["kind"] for body in wanted] == ["PersistentVolumeClaim", "Secret", "ServiceAccount"]


async def test_every_target_gets_what_it_lacks_and_a_silent_one_is_left_to_the_rollout() -> None:
    copies = (await read_copies(ServerWriter(whole_source()), {"configmap:shop": ["settings"]})).objects
    apis = {"eu-2": FakeApi("eu-2"), "eu-3": member(of("ConfigMap", "settings"), name="eu-3"), "eu-4": FakeApi("eu-4")}
    apis["eu-4"].fault = dark("eu-4")
    assert await beside(writers_of(lambda: apis), apis, copies) == {"eu-2": copies, "eu-3": (), "eu-4": copies}


async def test_our_own_copy_is_brought_up_to_date() -> None:
    target = ServerWriter(FakeApi("eu-2"))
    await target.apply(copied(of("ConfigMap", "settings", data={"a": "old"}), "eu-1"))
    [body] = await missing_there(target, [copied(of("ConfigMap", "settings", data={"a": "new"}), "eu-1")])
    after = await target.apply(body)
    assert after["data"] == {"a": "new"}
    assert is_ours(after)


async def test_a_source_that_refuses_is_an_error_and_not_an_absence() -> None:
    source = whole_source()

    def refuse(call: object) -> None:
        raise RefusedError("eu-1", 403, reason="Forbidden", message="may not get secrets")

    source.fault = refuse
    with pytest.raises(RefusedError, match="may not get secrets"):
        await read_copies(ServerWriter(source), NEEDS)


async def test_an_error_about_a_secret_does_not_tell_its_value() -> None:
    target = FakeApi("eu-2")
    target.fault = on_write(1, RefusedError("eu-2", 403, reason="Forbidden", message="no"))
    with pytest.raises(RefusedError) as caught:
        await ServerWriter(target).apply(copied(of("Secret", "token", data={"t": "c2VjcmV0"}), "eu-1"))
    assert "c2VjcmV0" not in repr(caught.value)


def test_texts_of_a_secret_are_written_as_the_server_keeps_them() -> None:
    body = marked(of("Secret", "token", stringData={"a": "b"}, data={"c": "ZA=="}))
    assert body["data"] == {"c": "ZA==", "a": "Yg=="}
    assert "stringData" not in body


def test_a_reference_knows_its_place() -> None:
    assert path_of(Ref("v1", "Secret", "shop", "token")) == "/api/v1/namespaces/shop/secrets/token"

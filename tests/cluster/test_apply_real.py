"""What the writer claims, against a real API server: ownership, conflicts, rehearsals, removal, scaling, rights."""

from __future__ import annotations

import base64
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from federation.apply.around.dependencies import missing_there, read_copies
from federation.apply.around.traffic import check_gateway
from federation.apply.around.unplace import ending_of
from federation.apply.ready import ready_count
from federation.apply.rights import READ, WRITE, Reviewer
from federation.apply.scale import scale
from federation.apply.state.objects import Ref, path_of, ref_of
from federation.apply.state.owned import is_ours, other_owners, owned_part
from federation.apply.state.plan import Verb, plan_objects
from federation.apply.writer import Contest, ContestedError, RehearsalWriter, ServerWriter
from federation.manifest.share import marked
from federation.members.api import MemberError, RefusedError
from federation.members.client import MemberClient
from tests.cluster.reaching import member_of
from tests.cluster.real.accounts import Account, make_account
from tests.cluster.real.cluster import Cluster
from tests.cluster.real.manifests import deployment
from tests.cluster.real.manifests import namespace as namespace_manifest

pytestmark = pytest.mark.cluster

RBAC = Path(__file__).parents[2] / "deploy" / "rbac"
Json = dict[str, Any]


@pytest.fixture
def space(bare_cluster: Cluster) -> Iterator[str]:
    """A namespace of this test's own."""
    name = f"apply-{uuid.uuid4().hex[:8]}"
    bare_cluster.kubectl.apply([namespace_manifest(name)])
    yield name
    bare_cluster.kubectl.run("delete", "namespace", name, "--wait=false")


@pytest.fixture
async def client(bare_cluster: Cluster, tmp_path: Path) -> AsyncIterator[MemberClient]:
    """prewarm's own client, as the administrator."""
    async with member_of(tmp_path, bare_cluster.entry()) as client:
        yield client


def demanding(space: str, replicas: int = 3) -> Json:
    """A Deployment with everything that a server spells differently from people: amounts, ports, empty objects."""
    container = {
        "name": "app",
        "image": "registry.invalid/app:1",
        "args": ["--fast", "--fast"],
        "env": [
            {"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
        ],
        "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}],
        "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"cpu": 2}},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, {"name": "tmp", "mountPath": "/var/tmp"}],
        "securityContext": {},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "checkout", "namespace": space, "labels": {"app": "checkout"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "checkout"}},
            "strategy": {},
            "template": {
                "metadata": {"labels": {"app": "checkout"}},
                "spec": {
                    "containers": [container],
                    "volumes": [{"name": "tmp", "emptyDir": {}}],
                    "tolerations": [{"key": "gpu", "operator": "Exists"}],
                    "nodeSelector": {"kubernetes.io/arch": "amd64"},
                },
            },
        },
    }


def ref_in(space: str) -> Ref:
    return Ref("apps/v1", "Deployment", space, "checkout")


async def test_a_plan_against_what_was_just_applied_is_empty(client: MemberClient, space: str) -> None:
    writer, body = ServerWriter(client), marked(demanding(space))
    await writer.apply(body)
    live = await writer.read(ref_in(space))
    assert live is not None
    [step] = plan_objects([body], [], {ref_in(space): live})
    assert [str(change) for change in step.changes] == []
    assert step.verb is Verb.KEEP


async def test_values_that_the_server_drops_are_not_planned_again(client: MemberClient, space: str) -> None:
    body = demanding(space)
    body["spec"] |= {"paused": False, "minReadySeconds": 0}
    body["spec"]["template"]["metadata"]["annotations"] = {}
    body["spec"]["template"]["spec"]["containers"][0] |= {"command": [], "workingDir": "", "tty": False}
    live = await ServerWriter(client).apply(marked(body))
    assert "paused" not in live["spec"]
    [step] = plan_objects([marked(body)], [], {ref_in(space): live})
    assert step.verb is Verb.KEEP


async def test_the_same_apply_again_keeps_the_resource_version(client: MemberClient, space: str) -> None:
    writer = ServerWriter(client)
    first = await writer.apply(marked(demanding(space)))
    second = await writer.apply(marked(demanding(space)))
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


async def test_what_is_read_back_as_ours_is_what_was_applied(client: MemberClient, space: str) -> None:
    writer = ServerWriter(client)
    live = await writer.apply(marked(demanding(space)))
    assert is_ours(live)
    again = await writer.apply(owned_part(live))
    assert again["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]
    assert other_owners(again) == ()


async def test_the_plan_names_exactly_the_fields_that_the_server_then_changes(client: MemberClient, space: str) -> None:
    writer = ServerWriter(client)
    live = await writer.apply(marked(demanding(space)))
    wanted = marked(demanding(space, replicas=5))
    pod = wanted["spec"]["template"]["spec"]
    pod["containers"][0] |= {"image": "registry.invalid/app:2", "env": [{"name": "A", "value": "2"}]}
    del pod["tolerations"]
    [step] = plan_objects([wanted], [], {ref_in(space): live})
    app = "spec.template.spec.containers[app]"
    assert [str(change) for change in step.changes] == [
        "~ spec.replicas: 3 -> 5",
        f'~ {app}.env[A].value: "1" -> "2"',
        f'- {app}.env[B].name: "B"',
        f'- {app}.env[B].valueFrom.configMapKeyRef.key: "k"',
        f'- {app}.env[B].valueFrom.configMapKeyRef.name: "c"',
        f'~ {app}.image: "registry.invalid/app:1" -> "registry.invalid/app:2"',
        '- spec.template.spec.tolerations: [{"key":"gpu","operator":"Exists"}]',
    ]
    after = await writer.apply(wanted)
    assert after["spec"]["replicas"] == 5
    assert "tolerations" not in after["spec"]["template"]["spec"]
    assert [one["name"] for one in after["spec"]["template"]["spec"]["containers"][0]["env"]] == ["A"]
    [step] = plan_objects([wanted], [], {ref_in(space): after})
    assert step.verb is Verb.KEEP


async def test_a_second_writer_is_named_and_keeps_its_field(
    client: MemberClient, bare_cluster: Cluster, space: str
) -> None:
    writer = ServerWriter(client)
    await writer.apply(marked(demanding(space)))
    patch = '{"spec":{"replicas":7}}'
    bare_cluster.kubectl.run("-n", space, "patch", "deployment", "checkout", "-p", patch, "--field-manager=gitops")
    with pytest.raises(ContestedError) as caught:
        await writer.apply(marked(demanding(space, replicas=4)))
    assert caught.value.contests == (Contest("gitops", "spec.replicas"),)
    live = await writer.read(ref_in(space))
    assert live is not None
    assert live["spec"]["replicas"] == 7
    assert other_owners(live) == ("gitops",)
    taken = await writer.apply(marked(demanding(space, replicas=4)), force=True)
    assert taken["spec"]["replicas"] == 4


async def test_a_rehearsal_hears_the_server_and_leaves_nothing(client: MemberClient, space: str) -> None:
    rehearsal = RehearsalWriter(client)
    after = await rehearsal.apply(marked(demanding(space)))
    assert after["spec"]["progressDeadlineSeconds"] == 600
    assert await rehearsal.read(ref_in(space)) is None
    broken = marked(demanding(space))
    broken["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    with pytest.raises(RefusedError, match="selector") as caught:
        await rehearsal.apply(broken)
    assert caught.value.status == 422


async def test_a_misspelt_field_is_refused_by_name(client: MemberClient, space: str) -> None:
    broken = marked(demanding(space))
    broken["spec"]["replcas"] = 3
    with pytest.raises(RefusedError, match="replcas"):
        await ServerWriter(client).apply(broken)


async def test_only_what_we_made_is_removed(client: MemberClient, bare_cluster: Cluster, space: str) -> None:
    writer = ServerWriter(client)
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs", "namespace": space}}
    bare_cluster.kubectl.apply([marked(settings)])  # our label, but not our apply
    assert await writer.remove(ref_of(settings)) == "was not made by prewarm"
    ours = marked({**settings, "metadata": {"name": "ours", "namespace": space}, "data": {"a": "1"}})
    await writer.apply(ours)
    bare_cluster.kubectl.run("-n", space, "annotate", "configmap", "ours", "a=b", "--field-manager=argocd")
    assert await writer.remove(ref_of(ours)) == "fields of it are owned by argocd"
    await writer.apply(marked({**ours, "metadata": {"name": "plain", "namespace": space}}))
    plain = Ref("v1", "ConfigMap", space, "plain")
    assert await RehearsalWriter(client).remove(plain) is None
    assert await writer.read(plain) is not None
    assert await writer.remove(plain) is None
    assert await writer.read(plain) is None
    assert await writer.remove(plain) is None


async def test_scaling_owns_one_field_and_is_idempotent(client: MemberClient, space: str) -> None:
    writer, ref = ServerWriter(client), ref_in(space)
    await writer.apply(marked(demanding(space)))
    await scale(client, f"{space}/checkout", 6)
    live = await writer.read(ref)
    assert live is not None
    assert live["spec"]["replicas"] == 6
    assert is_ours(live)
    await scale(client, f"{space}/checkout", 6)
    again = await writer.read(ref)
    assert again is not None
    assert again["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]
    await writer.apply(marked(demanding(space, replicas=4)))
    assert await writer.remove(ref) is None


async def test_what_an_autoscaler_set_is_not_overwritten(
    client: MemberClient, bare_cluster: Cluster, space: str
) -> None:
    bare_cluster.kubectl.apply([deployment(f"{space}/checkout", 3)])
    bare_cluster.admin.call(
        "PATCH",
        f"{path_of(ref_in(space))}/scale?fieldManager=keda",
        {"spec": {"replicas": 9}},
        content_type="application/merge-patch+json",
    )
    with pytest.raises(ContestedError, match=r"spec\.replicas is owned by keda"):
        await scale(client, f"{space}/checkout", 2)


async def test_scaling_what_is_not_there_says_so(client: MemberClient, space: str) -> None:
    with pytest.raises(MemberError, match=f"there is no Deployment and no Knative Service {space}/nothing"):
        await scale(client, f"{space}/nothing", 2)


async def test_without_the_gateway_api_traffic_is_refused_in_one_line(client: MemberClient) -> None:
    with pytest.raises(MemberError, match=r"has no Gateway API \(gateway\.networking\.k8s\.io/v1\)"):
        await check_gateway(client)


async def test_dependencies_are_copied_and_pruned_with_their_last_user(
    client: MemberClient, bare_cluster: Cluster, space: str
) -> None:
    source = f"{space}-source"
    token = base64.b64encode(b"very secret").decode()
    bare_cluster.kubectl.apply(
        [
            namespace_manifest(source),
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "c", "namespace": source},
                "data": {"k": "v"},
            },
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "s", "namespace": source},
                "data": {"t": token},
            },
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner", "namespace": source}},
        ]
    )
    writer = ServerWriter(client)
    needs = {
        f"{kind}:{source}": [name] for kind, name in (("configmap", "c"), ("secret", "s"), ("serviceaccount", "runner"))
    }
    copies = await read_copies(writer, needs)
    assert [body["kind"] for body in copies.objects] == ["ConfigMap", "Secret", "ServiceAccount"]
    moved = [{**body, "metadata": {**body["metadata"], "namespace": space}} for body in copies.objects]
    for body in await missing_there(writer, moved):
        await writer.apply(body)
    first, second = marked(demanding(space)), marked(demanding(space))
    first["spec"]["template"]["spec"] |= {"serviceAccountName": "runner"}
    first["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"secretRef": {"name": "s"}}]
    second["metadata"] = {**second["metadata"], "name": "other"}
    for body in (first, second):
        await writer.apply(body)
    ending = await ending_of(client, f"{space}/checkout")
    assert ending.work is not None
    assert [str(ref) for ref in ending.work.gone] == [
        f"Deployment {space}/checkout",
        f"Secret {space}/s",
        f"ServiceAccount {space}/runner",
    ]
    assert ending.kept == ((Ref("v1", "ConfigMap", space, "c"), f"Deployment {space}/other needs it"),)
    for ref in ending.work.gone:
        assert await writer.remove(ref) is None


def rules_of(file: str, role: str) -> list[Json]:
    roles = yaml.safe_load_all((RBAC / file).read_text())
    return next(list(one["rules"]) for one in roles if one["metadata"]["name"] == role)


def account_with(cluster: Cluster, space: str, *roles: tuple[str, str]) -> Account:
    rules = [rule for file, role in roles for rule in rules_of(file, role)]
    return make_account(cluster, f"{space}/who-{uuid.uuid4().hex[:6]}", rules)


async def test_the_writers_role_is_enough_to_place_and_to_end(
    bare_cluster: Cluster, space: str, tmp_path: Path
) -> None:
    account = account_with(
        bare_cluster, space, ("writer.yaml", "prewarm-writer"), ("writer.yaml", "prewarm-dependencies")
    )
    async with member_of(tmp_path, replace(bare_cluster.entry(), credential=account.token())) as client:
        writer = ServerWriter(client)
        made = f"{space}-new"
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": made}}
        for body in (namespace_manifest(made), settings, demanding(made)):
            await writer.apply(marked(body))
        await scale(client, f"{made}/checkout", 2)
        ending = await ending_of(client, f"{made}/checkout")
        assert ending.work is not None
        for ref in ending.work.gone:
            assert await writer.remove(ref) is None
        for path in ("/api/v1/nodes", f"/api/v1/namespaces/{made}/pods", "/api/v1/secrets"):
            with pytest.raises(RefusedError) as caught:
                await client.call("GET", path)
            assert caught.value.status == 403
    bare_cluster.kubectl.run("delete", "namespace", made, "--wait=false")


async def test_the_scalers_role_scales_and_can_do_nothing_else(
    bare_cluster: Cluster, space: str, tmp_path: Path
) -> None:
    bare_cluster.kubectl.run("-n", space, "create", "deployment", "checkout", "--image=registry.invalid/a:1")
    account = account_with(bare_cluster, space, ("writer.yaml", "prewarm-scaler"))
    async with member_of(tmp_path, replace(bare_cluster.entry(), credential=account.token())) as client:
        with pytest.raises(ContestedError, match="kubectl-create"):
            await scale(client, f"{space}/checkout", 5)
        await scale(client, f"{space}/checkout", 1)
        with pytest.raises(RefusedError) as caught:
            await ServerWriter(client).apply(marked(demanding(space)))
        assert caught.value.status == 403


async def test_the_readers_role_reads_what_the_informer_reads_and_no_secret(
    bare_cluster: Cluster, space: str, tmp_path: Path
) -> None:
    account = account_with(bare_cluster, space, ("reader.yaml", "prewarm-reader"))
    async with member_of(tmp_path, replace(bare_cluster.entry(), credential=account.token())) as client:
        for path in ("/api/v1/nodes", "/api/v1/pods", "/api/v1/resourcequotas", "/apis/apps/v1/deployments"):
            assert "items" in await client.call("GET", path)
        for method, path in (("GET", "/api/v1/secrets"), ("DELETE", f"/api/v1/namespaces/{space}/pods/x")):
            with pytest.raises(RefusedError) as caught:
                await client.call(method, path)
            assert caught.value.status == 403


async def test_tokens_and_rights_are_what_the_cluster_says(bare_cluster: Cluster, space: str, tmp_path: Path) -> None:
    reviewer_account = account_with(bare_cluster, space, ("service.yaml", "prewarm-reviewer"))
    person = make_account(
        bare_cluster, f"{space}/person", rules_of("service.yaml", "prewarm-user-read"), everywhere=False
    )
    async with member_of(tmp_path, replace(bare_cluster.entry(), credential=reviewer_account.token())) as client:
        reviewer = Reviewer(client, lambda: 0.0)
        user = await reviewer.user_of(person.token())
        assert user is not None
        assert user.name == f"system:serviceaccount:{space}:person"
        assert await reviewer.user_of("nobody's token") is None
        assert (await reviewer.allows(user, READ, space)).yes
        assert not (await reviewer.allows(user, WRITE, space)).yes
        assert not (await reviewer.allows(user, READ, "default")).yes
        assert not (await reviewer.allows(user, READ, "")).yes


async def test_readiness_is_not_believed_before_the_controller_saw_the_change(client: MemberClient, space: str) -> None:
    live = await ServerWriter(client).apply(marked(demanding(space)))
    assert ready_count(live) == 0

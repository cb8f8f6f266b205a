"""What placement reads from a manifest: every field by its own story, and every complaint by its place."""

from __future__ import annotations

import pytest
import yaml

from federation import labels
from federation.manifest import read_bundle, read_manifest
from federation.placement.workload import Caller, GpuNeed, Requirement, Spread, Toleration, Workload
from prewarm.domain import InputError
from tests.federation.manifest.made import Json, container, deployment, job, service


def of(body: Json) -> Workload:
    return read_manifest(body, "file").workload


def refused(body: Json) -> str:
    with pytest.raises(InputError) as caught:
        read_manifest(body, "file")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_plain_deployment_is_read_with_its_requests_and_its_namespace() -> None:
    workload = of(deployment())
    assert (workload.key, workload.kind, workload.replicas) == ("shop/checkout", "deployment", 3)
    assert workload.requests == {"cpu": 250, "memory": 256 << 20}
    assert workload.needs == {"namespace": frozenset({"shop"})}
    assert workload.splittable
    assert workload.architecture == ()


def test_without_namespace_and_replicas_it_is_one_instance_in_the_default_namespace() -> None:
    workload = of(deployment(replicas=None, namespace=None))
    assert (workload.key, workload.replicas) == ("default/checkout", 1)


def test_the_caller_may_name_another_namespace_for_objects_that_name_none() -> None:
    manifest = read_manifest(deployment(namespace=None), "file", namespace="dev")
    assert manifest.workload.key == "dev/checkout"
    assert manifest.body is not None
    assert manifest.body["metadata"]["namespace"] == "dev"


def test_nothing_that_was_passed_in_is_changed() -> None:
    body = deployment(namespace=None)
    before = yaml.safe_dump(body)
    read_manifest(body, "file")
    assert yaml.safe_dump(body) == before


def test_placement_annotations_say_what_kubernetes_has_no_field_for() -> None:
    said = {
        labels.REGIONS: "eu, us",
        labels.CLUSTERS: "eu-1",
        labels.EXCLUDE: "eu-3",
        labels.RESIDENCY: "eu",
        labels.TENANT: "team-shop",
        labels.MAX_PER_CLUSTER: "4",
        labels.MIN_CLUSTERS: "2",
        labels.PRIORITY: "-5",
        labels.CALLERS: "eu=14.5, us=2",
        labels.READY_MINIMUM: "1",
    }
    workload = of(deployment(annotations=said))
    assert workload.affinity.regions == ("eu", "us")
    assert (workload.affinity.clusters, workload.affinity.exclude) == (("eu-1",), ("eu-3",))
    assert (workload.residency, workload.tenant) == (("eu",), "team-shop")
    assert workload.spread == Spread(4, 2)
    assert workload.priority == -5
    assert workload.callers == (Caller(14.5, region="eu"), Caller(2.0, region="us"))
    assert workload.ready_minimum == 1


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        (labels.MAX_PER_CLUSTER, "0", "from 1 to"),
        (labels.PRIORITY, "9999999999", "from -2147483648 to 2147483647"),
        (labels.RESIDENCY, ["eu"], "must be a text"),
        (labels.GPU_MODELS, 4, "must be a text"),
        ("prewarm.dev/residncy", "eu", "unknown; there are prewarm.dev/callers, "),
        (labels.MAX_PER_CLUSTER, "four", "whole number"),
        (labels.MIN_CLUSTERS, 2, "as a text"),
        (labels.PRIORITY, "1.5", "whole number"),
        (labels.CALLERS, "eu", "region=calls_per_s"),
        (labels.CALLERS, "eu=-1", "region=calls_per_s"),
        (labels.CALLERS, "eu=nan", "region=calls_per_s"),
        (labels.GANG, "yes", "'true' or 'false'"),
        (labels.GPU_MILLI, "1001", "at most 1000"),
    ],
)
def test_a_bad_annotation_is_named_with_its_rule(name: str, value: object, rule: str) -> None:
    text = refused(deployment(annotations={name: value}))
    assert text.startswith(f"file.metadata.annotations[{name}]")
    assert rule in text


def test_node_selector_is_merged_into_every_group_of_the_required_affinity() -> None:
    pod: Json = {
        "nodeSelector": {"pool": "fast", "disk": "ssd"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]},
                        {"matchExpressions": [{"key": "spare", "operator": "Exists"}]},
                        {},
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 20, "preference": {"matchExpressions": [{"key": "new", "operator": "Exists"}]}}
                ],
            }
        },
    }
    affinity = of(deployment(pod=pod)).affinity
    selector = (Requirement("disk", "In", ("ssd",)), Requirement("pool", "In", ("fast",)))
    assert affinity.node_terms == (
        (*selector, Requirement("zone", "In", ("a", "b"))),
        (*selector, Requirement("spare", "Exists")),
    )
    assert affinity.preferred == ((20, (Requirement("new", "Exists"),)),)


def test_the_architecture_follows_from_a_node_selector() -> None:
    assert of(deployment(pod={"nodeSelector": {"kubernetes.io/arch": "arm64"}})).architecture == ("arm64",)


def _required(*terms: list[Json]) -> Json:
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def test_the_architecture_is_known_only_where_every_group_names_it() -> None:
    arm: list[Json] = [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]
    intel: list[Json] = [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]
    other: list[Json] = [{"key": "zone", "operator": "In", "values": ["a"]}]
    assert of(deployment(pod=_required(arm, intel))).architecture == ("amd64", "arm64")
    assert of(deployment(pod=_required(arm, other))).architecture == ()


@pytest.mark.parametrize(
    ("term", "rule"),
    [
        ([{"key": "a", "operator": "Near", "values": ["b"]}], "operator: must be one of"),
        ([{"key": "a", "operator": "In"}], "values: must not be empty"),
        ([{"key": "a", "operator": "Gt", "values": ["x"]}], "values: must be one whole number"),
        ([{"operator": "Exists"}], "key: must be a text, is absent"),
    ],
)
def test_a_bad_expression_is_named_with_its_place(term: list[Json], rule: str) -> None:
    text = refused(deployment(pod=_required(term)))
    assert "nodeSelectorTerms[0].matchExpressions[0]" in text
    assert rule in text


def test_an_affinity_that_no_node_can_match_is_refused() -> None:
    assert "no node can match" in refused(deployment(pod=_required([])))


def test_terms_on_fields_are_refused_rather_than_passed_over() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert "matchFields: is not understood" in refused(deployment(pod={"affinity": {"nodeAffinity": required}}))


def test_tolerations_keep_kubernetes_defaults() -> None:
    pod: Json = {
        "tolerations": [
            {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
            {"operator": "Exists"},
        ]
    }
    assert of(deployment(pod=pod)).tolerations == (
        Toleration("gpu", "Equal", "yes", "NoSchedule"),
        Toleration("", "Exists", "", ""),
    )


def test_an_empty_key_tolerates_only_with_exists() -> None:
    assert "must be Exists where the key is empty" in refused(deployment(pod={"tolerations": [{"value": "x"}]}))


def test_everything_that_a_pod_refers_to_is_needed_in_its_namespace() -> None:
    app = container(
        env=[
            {"name": "A", "value": "plain"},
            {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "b"}}},
            {"name": "C", "valueFrom": {"secretKeyRef": {"name": "token", "key": "c"}}},
            {"name": "D", "valueFrom": {"secretKeyRef": {"name": "maybe", "key": "d", "optional": True}}},
        ],
        envFrom=[{"configMapRef": {"name": "shared"}}, {"secretRef": {"name": "login"}}],
    )
    pod: Json = {
        "containers": [app],
        "initContainers": [container("init", envFrom=[{"configMapRef": {"name": "setup"}}])],
        "serviceAccountName": "runner",
        "imagePullSecrets": [{"name": "registry"}],
        "volumes": [
            {"name": "v1", "configMap": {"name": "files"}},
            {"name": "v2", "secret": {"secretName": "keys"}},
            {"name": "v3", "persistentVolumeClaim": {"claimName": "data"}},
            {
                "name": "v4",
                "projected": {
                    "sources": [
                        {"configMap": {"name": "part"}},
                        {"secret": {"name": "mixed", "optional": True}},
                        {"serviceAccountToken": {"path": "t"}},
                        {"configMap": {"name": "kube-root-ca.crt"}},
                    ]
                },
            },
            {"name": "v5", "emptyDir": {}},
        ],
    }
    assert of(deployment(pod=pod)).needs == {
        "namespace": frozenset({"shop"}),
        "configmap:shop": frozenset({"settings", "shared", "setup", "files", "part"}),
        "secret:shop": frozenset({"token", "login", "registry", "keys"}),
        "serviceaccount:shop": frozenset({"runner"}),
        "persistentvolumeclaim:shop": frozenset({"data"}),
    }


def test_priority_class_is_kept_and_the_admitted_number_is_read() -> None:
    workload = of(deployment(pod={"priorityClassName": "urgent", "priority": 1000}))
    assert (workload.priority_class, workload.priority) == ("urgent", 1000)


def test_whole_gpus_come_from_the_requests_and_models_from_an_annotation() -> None:
    pod: Json = {"containers": [container(resources={"limits": {"nvidia.com/gpu": 2, "cpu": "4"}})]}
    workload = of(deployment(pod=pod, annotations={labels.GPU_MODELS: "A100, H100"}))
    assert workload.gpu == GpuNeed(2, 1000, ("A100", "H100"))


def test_a_share_of_a_gpu_is_said_by_annotation() -> None:
    assert of(deployment(annotations={labels.GPU_MILLI: "460"})).gpu == GpuNeed(0, 460)


def test_a_share_beside_whole_gpus_is_refused() -> None:
    pod: Json = {"containers": [container(resources={"limits": {"nvidia.com/gpu": 1}})]}
    assert "without whole GPUs" in refused(deployment(pod=pod, annotations={labels.GPU_MILLI: "460"}))


def test_a_service_is_as_many_instances_as_its_floor() -> None:
    assert of(service({"min-scale": "6"})).replicas == 6
    assert of(service({"minScale": "4"})).replicas == 4
    assert of(service({"min-scale": "0"})).replicas == 1
    assert of(service()).replicas == 1
    assert of(service(annotations={labels.REPLICAS: "5"})).replicas == 5


def test_a_service_asks_for_its_queue_proxy_as_well() -> None:
    assert of(service()).requests == {"cpu": 275, "memory": 256 << 20}
    told = {
        "queue.sidecar.serving.knative.dev/cpu-resource-request": "100m",
        "queue.sidecar.serving.knative.dev/memory-resource-request": "50Mi",
    }
    assert of(service(template=told)).requests == {"cpu": 350, "memory": 306 << 20}


def test_more_instances_than_the_ceiling_of_a_service_is_refused() -> None:
    text = refused(service({"max-scale": "3"}, annotations={labels.REPLICAS: "5"}))
    assert "5 instances are wanted" in text
    assert "max-scale is 3" in text


def test_a_ceiling_of_zero_is_none() -> None:
    assert of(service({"min-scale": "4", "max-scale": "0"})).replicas == 4


@pytest.mark.parametrize(
    ("spec", "replicas"),
    [({}, 1), ({"parallelism": 4}, 4), ({"parallelism": 4, "completions": 3}, 3), ({"parallelism": 0}, 0)],
)
def test_a_job_runs_as_many_at_once_as_it_has_work_for(spec: Json, replicas: int) -> None:
    assert of(job(spec)).replicas == replicas


def test_jobs_whose_instances_need_each_other_are_gangs() -> None:
    assert of(job({"parallelism": 4})).splittable
    assert not of(job({"parallelism": 4, "completions": 4, "completionMode": "Indexed"})).splittable
    assert not of(job(labels={"scheduling.x-k8s.io/pod-group": "g"})).splittable
    assert not of(job(annotations={labels.GANG: "true"})).splittable
    assert of(job({"completionMode": "Indexed"}, annotations={labels.GANG: "false"})).splittable


@pytest.mark.parametrize(
    ("version", "kind"),
    [("apps/v1", "StatefulSet"), ("apps/v1", "DaemonSet"), ("v1", "Pod"), ("extensions/v1beta1", "Deployment")],
)
def test_a_kind_that_cannot_be_placed_is_one_clear_line(version: str, kind: str) -> None:
    text = refused({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}})
    assert text == (
        f"file: {kind} ({version}) cannot be placed; that is "
        "Deployment (apps/v1), Service (serving.knative.dev/v1), Job (batch/v1)"
    )


def test_an_object_without_any_kind_is_refused_too() -> None:
    assert "an object without a kind (no apiVersion)" in refused({"metadata": {"name": "x"}})


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"metadata": []}, "file.metadata: must be an object"),
        ({"metadata": {}}, "file.metadata.name: must be a text, is absent"),
        ({"metadata": {"generateName": "x-"}}, "file.metadata.name: is required; generateName"),
        ({"metadata": {"name": "x"}}, "file.spec.template.spec.containers: must not be empty"),
        ({"metadata": {"name": "a/b"}}, "metadata.name: must be at most 253"),
        (
            {"metadata": {"name": "x"}, "spec": {"replicas": -1, "template": {"spec": {"containers": [{}]}}}},
            "from 0 to 100000",
        ),
        (
            {"metadata": {"name": "x"}, "spec": {"replicas": 10**30, "template": {"spec": {"containers": [{}]}}}},
            "file.spec.replicas: must be a whole number from 0 to 100000, is '1000",
        ),
        (
            {"metadata": {"name": "x"}, "spec": {"template": {"spec": {"containers": ["c"]}}}},
            "containers[0]: must be an",
        ),
    ],
)
def test_a_broken_deployment_is_refused_at_its_field(body: Json, text: str) -> None:
    assert text in refused({"apiVersion": "apps/v1", "kind": "Deployment", **body})


def test_what_we_wrote_on_an_object_ourselves_may_stay_on_it() -> None:
    said = {labels.WORKLOAD: "shop/checkout", labels.APPLIED: "digest", labels.COPIED_FROM: "eu"}
    assert of(deployment(annotations=said)) == of(deployment())


def test_a_job_of_very_many_completions_is_as_many_instances_as_run_at_once() -> None:
    assert of(job(spec={"parallelism": 4, "completions": 1_000_000})).replicas == 4


@pytest.mark.parametrize("second", [deployment(replicas=9), {"workload": {"key": "shop/checkout", "replicas": 2}}])
def test_a_name_that_stands_twice_in_a_file_is_refused(second: Json) -> None:
    with pytest.raises(InputError, match=r"^two\.yaml: shop/checkout stands in it more than once"):
        read_bundle(yaml.safe_dump_all([deployment(), second]), "two.yaml")


def test_a_file_may_hold_workloads_companions_lists_and_our_own_form() -> None:
    documents = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}, "data": {}},
        {"apiVersion": "v1", "kind": "List", "items": [deployment(), job()]},
        {"workload": {"key": "shop/stock", "kind": "knative", "replicas": 2}},
        None,
    ]
    bundle = read_bundle(yaml.safe_dump_all(documents), "all.yaml")
    assert [one.workload.key for one in bundle.manifests] == ["shop/checkout", "shop/report", "shop/stock"]
    assert [one["kind"] for one in bundle.companions] == ["Namespace", "ConfigMap"]
    assert bundle.manifests[2].body is None


def test_what_a_companion_brings_along_is_not_asked_of_the_cluster() -> None:
    pod: Json = {
        "containers": [container(envFrom=[{"configMapRef": {"name": "settings"}}, {"configMapRef": {"name": "other"}}])]
    }
    documents = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}},
        deployment(pod=pod),
    ]
    bundle = read_bundle(yaml.safe_dump_all(documents), "all.yaml")
    assert bundle.manifests[0].workload.needs == {"configmap:shop": frozenset({"other"})}


def test_a_file_without_a_workload_says_what_could_be_placed() -> None:
    with pytest.raises(InputError, match=r"^f\.yaml: holds nothing that can be placed; that is Deployment"):
        read_bundle("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "f.yaml")

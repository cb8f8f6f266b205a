"""From a decision to what members get: where something that it needs is gone, what runs is not updated."""

from dataclasses import replace

from federation.desk.carrying import beside_of, left_alone, rollout_of
from federation.manifest.read import Manifest, read_manifest
from federation.placement.answer import Placement
from federation.placement.pipeline import place
from federation.snapshot import Snapshot
from tests.federation.building import NOW, ClusterBuilder, cluster, fleet
from tests.federation.manifest.made import container, deployment

ROOM = {"cpu": "16", "memory": "64Gi"}
REASON = "no configmap shop/settings"


def asked(replicas: int) -> Manifest:
    """A Deployment that reads the ConfigMap `settings`."""
    source = [{"configMapRef": {"name": "settings"}}]
    pod = {"containers": [container(cpu="1", memory="64Mi") | {"envFrom": source}]}
    return read_manifest(deployment("web", replicas, pod=pod), "manifest")


def running(name: str, count: int) -> ClusterBuilder:
    return cluster(name).nodes(4, **ROOM).runs("shop/web", count)  # type: ignore[arg-type]


def decided(manifest: Manifest, *members: ClusterBuilder) -> tuple[Placement, Snapshot]:
    snapshot = fleet(*members)
    return place(snapshot, manifest.workload, now=NOW), snapshot


async def test_a_member_that_lost_a_configmap_keeps_what_runs_and_is_not_updated() -> None:
    """Pods that are started anew would not come up; those that run go on."""
    manifest = asked(6)
    bare = running("eu", 4).has(namespace={"shop"}, configmap__shop=set())
    whole = running("us", 2).has(namespace={"shop"}, configmap__shop={"settings"})
    placement, snapshot = decided(manifest, bare, whole)
    assert {one.cluster: (one.before, one.replicas) for one in placement.shares} == {"eu": (4, 4), "us": (2, 2)}
    assert left_alone(placement) == {"eu": REASON}
    beside = await beside_of(manifest, placement, (), clients={}, snapshot=snapshot, copy=False)
    assert beside.notes == (f"eu is left as it is: {REASON}",)
    assert [work.member for work in rollout_of(manifest, placement, beside).works] == ["us"]


async def test_where_nothing_is_lacking_or_instances_leave_every_member_is_asked() -> None:
    manifest = asked(6)
    whole = [running(name, 3).has(namespace={"shop"}, configmap__shop={"settings"}) for name in ("eu", "us")]
    placement, snapshot = decided(manifest, *whole)
    beside = await beside_of(manifest, placement, (), clients={}, snapshot=snapshot, copy=False)
    assert (left_alone(placement), beside.notes) == ({}, ())
    assert len(rollout_of(manifest, placement, beside).works) == 2
    fewer = replace(placement, shares=tuple(replace(one, replicas=1) for one in placement.shares))
    assert left_alone(fewer) == {}

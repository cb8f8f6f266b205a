"""A fleet for a person to look at: three real clusters with nodes and a few Deployments, until Ctrl-C.

`make demo-fleet` runs it. It prints the kubeconfig and the command that shows the fleet on prewarm's page.
"""

from __future__ import annotations

import signal
import sys
import threading

import click

from tests.cluster.real.cluster import Cluster, ClusterPlan, wait_for
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import MEMORY_USAGE, READY_DELAY, NodeShape, deployment, namespace
from tests.cluster.real.process import ProcessError
from tests.cluster.real.programs import AbsentError

_GPU = {"nvidia.com/gpu": "4"}
_PLANS = (
    ClusterPlan("eu", region="eu", nodes=(NodeShape(4), NodeShape(2, cpu="32", memory="128Gi", prefix="large"))),
    ClusterPlan("us", region="us", nodes=(NodeShape(3), NodeShape(1, extra=_GPU, prefix="gpu"))),
    ClusterPlan("ap", region="ap", nodes=(NodeShape(2, cpu="4", memory="16Gi"),)),
)
_WORKLOADS = {
    "eu": (("shop/cart", 4), ("shop/checkout", 3), ("shop/stock", 2)),
    "us": (("shop/cart", 2), ("media/thumbnails", 5)),
    "ap": (("shop/cart", 1),),
}
"""Cluster -> (workload, instances)."""


def main() -> int:
    """Hold the fleet up until a signal; 0 then, 2 where it cannot start."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    _say("starting three clusters (half a minute or less, 1.7 GB) ...")
    try:
        with Fleet(_PLANS) as fleet:
            for cluster in fleet:
                _fill(cluster)
            _explain(fleet)
            ended.wait()
            _say("stopping ...")
    except (AbsentError, ProcessError) as error:
        click.echo(f"demo-fleet: {error}", err=True)
        return 2
    return 0


def _fill(cluster: Cluster) -> None:
    wanted = _WORKLOADS[cluster.name]
    for name in sorted({key.partition("/")[0] for key, _ in wanted}):
        cluster.kubectl.apply([namespace(name)])
    usage = {READY_DELAY: "1500ms", MEMORY_USAGE: "48Mi"}
    cluster.kubectl.apply(deployment(key, count, annotations=usage) for key, count in wanted)
    total = sum(count for _, count in wanted)
    wait_for(lambda: _running(cluster) == total, deadline_s=120.0, what=f"running {total} pods in {cluster.name}")


def _running(cluster: Cluster) -> int:
    return len(cluster.kubectl.items("pods", "-A", "--field-selector=status.phase=Running"))


def _explain(fleet: Fleet) -> None:
    path = fleet.kubeconfig()
    for cluster in fleet:
        nodes, pods = len(cluster.kubectl.items("nodes")), _running(cluster)
        _say(f"  {cluster.name}: {nodes} nodes, {pods} pods Running at {cluster.server}")
    _say(f"kubeconfig: {path}")
    _say(f"look:       kubectl --kubeconfig {path} --context eu get pods -A")
    _say(f"page:       prewarm serve --kubeconfig {path}")
    _say("Ctrl-C stops the clusters and deletes them.")


def _say(text: str) -> None:
    click.echo(text)


if __name__ == "__main__":
    sys.exit(main())

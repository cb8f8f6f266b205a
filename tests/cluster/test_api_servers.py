"""The harness keeps its word about a bare API server: restarts, 410, tokens, certificates, rights, its end."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.cluster.conftest import require
from tests.cluster.real.accounts import make_account, rule
from tests.cluster.real.admin import Admin, StatusError
from tests.cluster.real.cluster import Cluster, ClusterPlan, wait_for
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.process import Process, ProcessError
from tests.cluster.real.programs import CONTROL_PLANE, AbsentError, find_programs

pytestmark = pytest.mark.cluster


def made(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}}


CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def test_killed_api_server_comes_back_on_the_same_port_with_its_data(bare_cluster: Cluster) -> None:
    kept = bare_cluster.admin.call("POST", CONFIG_MAPS, made("survivor"))
    bare_cluster.api_server.kill()
    with pytest.raises(OSError, match="refused"):
        bare_cluster.admin.call("GET", CONFIG_MAPS)
    bare_cluster.start_api_server()
    found = bare_cluster.admin.call("GET", f"{CONFIG_MAPS}/survivor")
    assert found["metadata"]["uid"] == kept["metadata"]["uid"]


def test_paused_api_server_takes_connections_and_answers_nobody_until_resumed(bare_cluster: Cluster) -> None:
    bare_cluster.api_server.pause()
    with pytest.raises(TimeoutError):
        bare_cluster.admin.call("GET", CONFIG_MAPS, timeout_s=0.5)
    bare_cluster.api_server.resume()
    assert bare_cluster.admin.call("GET", CONFIG_MAPS)["kind"] == "ConfigMapList"


def test_without_etcd_requests_hang_and_afterwards_the_data_is_there(bare_cluster: Cluster) -> None:
    bare_cluster.admin.call("POST", CONFIG_MAPS, made("written-before"))
    bare_cluster.etcd.kill()
    with pytest.raises((TimeoutError, StatusError)):
        bare_cluster.admin.call("POST", CONFIG_MAPS, made("never-written"), timeout_s=1.0)
    bare_cluster.start_etcd()
    wait_for(lambda: bare_cluster.admin.answers(f"{CONFIG_MAPS}/written-before"), what="answering again")


def test_a_version_before_compaction_is_gone_for_lists_and_for_watches(bare_cluster: Cluster) -> None:
    old = bare_cluster.admin.call("GET", CONFIG_MAPS)["metadata"]["resourceVersion"]
    for number in range(3):
        bare_cluster.admin.call("POST", CONFIG_MAPS, made(f"later-{number}"))
    bare_cluster.etcd.compact()
    bare_cluster.restart_api_server()
    first = bare_cluster.admin.raw("GET", f"{CONFIG_MAPS}?watch=1&resourceVersion={old}&timeoutSeconds=5")
    event = json.loads(first.splitlines()[0])
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    with pytest.raises(StatusError, match="410"):
        bare_cluster.admin.call("GET", f"{CONFIG_MAPS}?resourceVersion={old}&resourceVersionMatch=Exact")


def test_rewritten_token_file_holds_from_the_next_start(bare_cluster: Cluster) -> None:
    bare_cluster.write_tokens({"reader-token": ("reader", "readers")})
    bare_cluster.restart_api_server()
    reader = Admin(bare_cluster.server, "reader-token", bare_cluster.identity.ca_file)
    with pytest.raises(StatusError, match="403"):
        reader.call("GET", CONFIG_MAPS)
    bare_cluster.write_tokens({})
    bare_cluster.restart_api_server()
    with pytest.raises(StatusError, match="401"):
        reader.call("GET", CONFIG_MAPS)


def test_an_account_may_do_what_its_rules_say_and_nothing_else(bare_cluster: Cluster) -> None:
    account = make_account(bare_cluster, "default/narrow", [rule(["configmaps"], ["list"])], everywhere=False)
    narrow = Admin(bare_cluster.server, account.token(), bare_cluster.identity.ca_file)
    assert narrow.call("GET", CONFIG_MAPS)["kind"] == "ConfigMapList"
    for path in ("/api/v1/pods", "/api/v1/namespaces/kube-system/configmaps", f"{CONFIG_MAPS}/survivor"):
        with pytest.raises(StatusError, match="403"):
            narrow.call("GET", path)


@pytest.mark.slow
def test_a_token_that_expires_is_refused_soon_after(bare_cluster: Cluster) -> None:
    account = make_account(bare_cluster, "default/short", [rule(["configmaps"], ["list"])])
    short = Admin(bare_cluster.server, account.token(valid_s=3.0), bare_cluster.identity.ca_file)
    assert short.answers(CONFIG_MAPS)
    took = wait_for(lambda: not short.answers(CONFIG_MAPS), deadline_s=20.0, what="refusing the token")
    assert 1.0 < took < 16.0
    with pytest.raises(StatusError, match="401"):
        short.call("GET", CONFIG_MAPS)


def test_a_client_certificate_names_user_and_group(bare_cluster: Cluster, tmp_path: Path) -> None:
    pair = bare_cluster.identity.client_pair("carla", "system:masters")
    (tmp_path / "pair.pem").write_bytes(pair.certificate + pair.key)
    tls = ssl.create_default_context(cafile=str(bare_cluster.identity.ca_file))
    tls.load_cert_chain(tmp_path / "pair.pem")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    request = urllib.request.Request(
        f"{bare_cluster.server}/apis/authentication.k8s.io/v1/selfsubjectreviews",
        data=json.dumps(review).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, context=tls) as answer:
        user = json.load(answer)["status"]["userInfo"]
    assert (user["username"], "system:masters" in user["groups"]) == ("carla", True)


def test_a_program_that_dies_is_explained_by_the_end_of_its_log(tmp_path: Path) -> None:
    programs = require(*CONTROL_PLANE)
    broken = Process("etcd", [programs["etcd"], "--no-such-flag"], folder=tmp_path)
    broken.start()
    with pytest.raises(ProcessError, match=r"(?s)etcd ended with status \d+.*no-such-flag"):
        broken.wait_until(lambda: False, deadline_s=20.0)
    broken.stop()


OWNER = """
import sys, time
from tests.cluster.real.cluster import ClusterPlan
from tests.cluster.real.fleet import Fleet
with Fleet([ClusterPlan("orphan", pods_run=False)]) as fleet:
    print(fleet.folder, fleet["orphan"].etcd.pid, fleet["orphan"].api_server.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_nothing_outlives_its_owner(how: signal.Signals) -> None:
    require(*CONTROL_PLANE)
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        folder, *pids = owner.stdout.readline().decode().split()
        owner.send_signal(how)
        owner.wait(30.0)
        owner.stdout.close()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), what="rid of the processes")
    wait_for(lambda: not Path(folder).exists(), what="rid of the folder")


def test_absent_programs_are_named_with_the_way_to_get_them() -> None:
    with pytest.raises(AbsentError, match=r"no etcd, kwok here: run `make assets` and set PREWARM_ASSETS"):
        find_programs({"KUBEBUILDER_ASSETS": os.devnull}).require("etcd", "kwok")


def test_programs_are_found_in_the_order_of_the_variables(tmp_path: Path) -> None:
    for folder in ("assets/bin", "envtest", "single"):
        for name in ("etcd", "kube-apiserver"):
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o755)
    envtest = {"KUBEBUILDER_ASSETS": str(tmp_path / "envtest")}
    single = envtest | {"TEST_ASSET_ETCD": str(tmp_path / "single" / "etcd")}
    everything = single | {"PREWARM_ASSETS": str(tmp_path / "assets")}
    places = [find_programs(names)["etcd"].parent.name for names in (envtest, single, everything)]
    assert places == ["envtest", "single", "bin"]
    assert find_programs(single)["kube-apiserver"].parent.name == "envtest"


@pytest.mark.slow
def test_several_api_servers_come_up_side_by_side_and_end_in_order() -> None:
    require(*CONTROL_PLANE)
    with Fleet([ClusterPlan(f"c{number}", pods_run=False) for number in range(2)]) as fleet:
        pids = [part.pid for cluster in fleet for part in (cluster.etcd, cluster.api_server)]
        names = {cluster.name: cluster.kubectl.items("nodes") for cluster in fleet}
        assert [len(found) for found in names.values()] == [3, 3]
        began = time.monotonic()
    assert time.monotonic() - began < 15.0
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not fleet.folder.exists()

"""Fleets that the tests of this folder share; everything here is skipped, with the reason, where programs are absent.

A cluster is half a gigabyte, so a fleet is started once and its tests stay on one worker (tests/conftest.py). A test
may pause, kill and compact as it likes: what it left broken is brought back before the next one. It keeps to a
namespace of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.cluster.real.cluster import Cluster, ClusterPlan
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import namespace as namespace_manifest
from tests.cluster.real.programs import CONTROL_PLANE, FULL, AbsentError, Programs, find_programs

_TIMEOUT_S = 400  # the first test of a fleet also waits for its start


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests of real clusters the time of a slow machine."""
    for item in items:
        if item.get_closest_marker("cluster") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_TIMEOUT_S))


def require(*names: str) -> Programs:
    """The programs, or skip with what is missing."""
    programs = find_programs()
    try:
        programs.require(*names)
    except AbsentError as reason:
        pytest.skip(str(reason))
    return programs


@pytest.fixture(scope="session")
def whole_fleet() -> Iterator[Fleet]:
    """Three clusters with controllers and three nodes each, in regions eu, us and ap."""
    programs = require(*FULL)
    with Fleet([ClusterPlan(name, region=name) for name in ("eu", "us", "ap")], programs=programs) as fleet:
        yield fleet


@pytest.fixture
def fleet(whole_fleet: Fleet) -> Iterator[Fleet]:
    """The three clusters, whole again after the test."""
    yield whole_fleet
    whole_fleet.repair()


@pytest.fixture
def namespace(fleet: Fleet) -> Iterator[str]:
    """A namespace in every cluster of the fleet, gone after the test."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    for cluster in fleet:
        cluster.kubectl.apply([namespace_manifest(name)])
    yield name
    fleet.repair()
    for cluster in fleet:
        cluster.kubectl.run("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def whole_bare_cluster() -> Iterator[Cluster]:
    """One API server without controllers, with three nodes that only stand in its store."""
    programs = require(*CONTROL_PLANE)
    with Fleet([ClusterPlan("bare", pods_run=False)], programs=programs) as fleet:
        yield fleet["bare"]


@pytest.fixture
def bare_cluster(whole_bare_cluster: Cluster) -> Iterator[Cluster]:
    """The API server without controllers, alive again after the test."""
    yield whole_bare_cluster
    whole_bare_cluster.repair()

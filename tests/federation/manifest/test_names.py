"""Names of objects, as the API server takes them."""

from __future__ import annotations

import pytest

from federation.apply.state.objects import Ref, path_of
from federation.manifest import read_manifest
from prewarm.domain import InputError
from tests.federation.manifest.made import Json, deployment


def refused(body: Json) -> str:
    with pytest.raises(InputError) as caught:
        read_manifest(body, "file")
    return str(caught.value)


@pytest.mark.parametrize("name", ["..", ".", "Checkout", "check_out", "näme", "-a", "a-", "a..b", "a" * 254])
def test_a_name_that_no_object_can_have_is_refused(name: str) -> None:
    said = refused(deployment(name))
    assert said.startswith("file.metadata.name: must be at most 253 lower-case letters, digits, '-' and '.', is ")
    assert "metadata.namespace: must be" in refused(deployment(namespace=name))


@pytest.mark.parametrize("name", ["a", "0", "a.b-c.d", "a" * 253])
def test_a_name_of_any_length_that_objects_can_have_is_taken(name: str) -> None:
    assert read_manifest(deployment(name), "file").workload.key == f"shop/{name}"


@pytest.mark.parametrize(("namespace", "name"), [("shop", ".."), ("..", "a"), ("shop", "a/b"), ("shop", ".")])
def test_no_name_leads_to_another_path(namespace: str, name: str) -> None:
    with pytest.raises(InputError, match="is no name of an object"):
        path_of(Ref("v1", "ConfigMap", namespace, name))

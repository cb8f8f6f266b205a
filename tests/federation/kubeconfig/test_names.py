"""Ids of members are what Kubernetes takes, different, and made of nothing but the member's own names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.kubeconfig.names import member_id

RFC_1123 = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
sources = st.none() | st.text(max_size=80)


@given(st.text(max_size=300), sources)
def test_any_name_becomes_a_label_value_and_object_name(context: str, source: str | None) -> None:
    assert RFC_1123.fullmatch(member_id(context, source))


@given(st.sets(st.tuples(st.text(max_size=80), sources), min_size=2, max_size=20))
def test_different_members_have_different_ids(members: set[tuple[str, str | None]]) -> None:
    # "no file" and a file without a name are the same place
    places = {(context, source or None) for context, source in members}
    assert len({member_id(context, source) for context, source in places}) == len(places)


@given(st.from_regex(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?", fullmatch=True))
def test_an_id_is_never_taken_by_a_context_that_is_called_like_it(context: str) -> None:
    made = member_id(context.upper() + "/", None)
    assert member_id(made) != made


@pytest.mark.parametrize("name", ["north", "kind-kind", "a", "0", "x" * 63])
def test_a_fit_name_stays_as_it_is(name: str) -> None:
    assert member_id(name) == name


@pytest.mark.parametrize("name", ["North", "a.b", "-a", "a-", "x" * 64, "", "ä", "in-cluster", "a-0123456789ab"])
def test_an_unfit_name_gets_a_digest(name: str) -> None:
    made = member_id(name)
    assert made != name
    assert re.fullmatch(r".+-[0-9a-f]{12}", made)


def test_ids_stay_readable_at_the_end_that_tells_clusters_apart() -> None:
    arn = member_id("arn:aws:eks:eu-north-1:000000000000:cluster/shop-prod")
    assert arn.startswith("aws-eks-eu-north-1-000000000000-cluster-shop-prod-")
    assert member_id("Zürich").startswith("zurich-")
    assert member_id("北京").startswith("member-")


def test_the_file_shows_in_the_id_where_several_files_are_sources() -> None:
    a = member_id("admin@kubernetes", "/etc/fleet/site-a/input.kubeconfig.yaml")
    b = member_id("admin@kubernetes", "/etc/fleet/site-b/input.kubeconfig.yaml")
    assert a.startswith("admin-kubernetes-site-a-input-kubeconfig-")
    assert b.startswith("admin-kubernetes-site-b-input-kubeconfig-")


def test_an_id_is_the_same_in_every_process_and_version() -> None:
    assert member_id("Team A/prod") == "team-a-prod-36ca19af5156"

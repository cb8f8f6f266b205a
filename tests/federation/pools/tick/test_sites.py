"""How clusters stand, and where pools may be: cluster by cluster, state by state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federation.pools.tick.bounds import limits_of, spoken
from federation.pools.tick.observed import read_reports
from federation.pools.tick.sites import Sites, sites_of
from federation.snapshot import Cluster, MemberState, Running
from prewarm.domain import Action, FunctionKey
from prewarm.settings import PlacementPolicy
from tests.federation.pools.tick.made import NOW, fleet, member, said

POLICY = PlacementPolicy(stale_s=120.0, failback_s=300.0)
KEYS = (FunctionKey("shop/f0"), FunctionKey("shop/f1"))


def sites(*members: Cluster, lost: dict[str, float] | None = None, now: float = NOW) -> Sites:
    return sites_of(fleet(*members), policy=POLICY, since_lost=lost or {}, now=now)


@pytest.mark.parametrize(
    ("state", "seen", "left", "full", "kept", "why"),
    [
        (MemberState.READY, NOW, False, False, False, None),
        (MemberState.SLOW, NOW, False, False, False, None),
        (MemberState.DARK, NOW, True, True, False, "does not answer"),
        (MemberState.REFUSED, NOW, False, True, True, "refuses our credentials"),
        (MemberState.CORDONED, NOW, False, True, False, "cordoned: nothing new goes there"),
        (MemberState.READY, NOW - 121, False, True, True, "its nodes or pods were last seen 121 s ago, limit 120 s"),
        (MemberState.READY, None, False, True, True, "its nodes or pods were never seen"),
    ],
    ids=["ready", "slow", "dark", "refused", "cordoned", "stale", "never seen"],
)
def test_what_follows_from_a_state(
    state: MemberState, seen: float | None, left: bool, full: bool, kept: bool, why: str | None
) -> None:
    found = sites(member("a", state=state, seen=seen))

    assert (found.left.tolist(), found.full.tolist(), found.kept.tolist()) == ([left], [full], [kept])
    assert found.why == (why,)


def test_a_cluster_that_came_back_waits_until_it_is_trusted_and_one_that_was_never_lost_does_not() -> None:
    dark = sites(member("a", state=MemberState.DARK, since=NOW))
    assert dark.since_lost == {"a": NOW}

    back = member("a", since=NOW)
    early = sites(replace(back, ages=member("a", seen=NOW + 100).ages), lost=dict(dark.since_lost), now=NOW + 100)
    assert (early.full.tolist(), early.left.tolist()) == ([True], [False])
    assert early.why == ("came back 100 s ago, trusted from 300 s on",)
    later = sites(replace(back, ages=member("a", seen=NOW + 300).ages), lost=dict(early.since_lost), now=NOW + 300)
    assert (later.full.tolist(), dict(later.since_lost)) == ([False], {})

    assert sites(member("a", since=NOW)).full.tolist() == [False]


def test_room_is_counted_on_nodes_that_take_work() -> None:
    found = sites(member("a", free_mib=[1000, 300]), member("b", free_mib=[]))

    assert found.free.tolist() == [1300, 0]
    assert found.fits(np.array([400, 150, 400])).tolist() == [[2, 0], [8, 0], [2, 0]]


def test_delays_come_from_links_by_region_and_unknown_stays_unknown() -> None:
    found = sites(member("a", region="eu"), member("b", region="us"))

    assert found.from_regions(("eu", "us")).tolist() == [[1.0, 40.0], [40.0, 1.0]]
    assert np.isnan(found.from_regions(("moon",))).all()


def test_reports_are_read_once_while_they_are_the_same_object() -> None:
    cluster = member("a", running={"shop/f0": Running(3, 3, 1, pending=1), "shop/other": Running(9, 9, 9)})
    first = read_reports((cluster,), KEYS, {})

    assert (first["a"].wanted.tolist(), first["a"].bound.tolist()) == ([3, 0], [2, 0])
    assert read_reports((replace(cluster, price=2.0),), KEYS, first)["a"] is first["a"]
    longer = read_reports((cluster,), (*KEYS, FunctionKey("shop/other")), first)
    assert longer["a"].wanted.tolist() == [3, 0, 9]


def test_limits_follow_standing() -> None:
    found = sites(
        member("a", free_mib=[250]),
        member("b", state=MemberState.DARK),
        member("c", state=MemberState.CORDONED),
        member("d", state=MemberState.REFUSED),
    )
    limits = limits_of(found, np.array([[1, 1, 1, 1], [0, 0, 0, 0]]), np.array([100, 100]))

    assert limits.allowed.tolist() == [[True, False, True, True]] * 2
    assert limits.most.tolist() == [[3, 1, 1, 1], [2, 0, 0, 0]]
    assert limits.least.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("action", "value", "least", "most", "allowed"),
    [
        (Action.PIN, 4, 4, 4, True),
        (Action.FLOOR, 3, 3, 12, True),
        (Action.FLOOR, 20, 20, 20, True),
        (Action.CEILING, 1, 0, 1, True),
        (Action.EXCLUDE, None, 0, 0, False),
        (Action.FREEZE, None, 2, 2, True),
        (Action.PAUSE_UP, None, 0, 2, True),
        (Action.PAUSE_DOWN, None, 2, 12, True),
    ],
)
def test_a_persons_word_on_one_cluster(action: Action, value: int | None, least: int, most: int, allowed: bool) -> None:
    found = sites(member("a", free_mib=[1000]), member("b", free_mib=[1000]))
    before = np.array([[2, 2]])
    limits = limits_of(found, before, np.array([100]))
    word = said(action, "a", value)
    heard = spoken(limits, [word], rows={FunctionKey("shop/f0"): 0}, names=found.names, before=before, now=NOW)

    assert (limits.least[0].tolist(), limits.most[0].tolist()) == ([least, 0], [most, 12])
    assert limits.allowed[0].tolist() == [allowed, True]
    assert heard == {(0, 0): (word,)}


def test_words_that_are_over_or_about_others_change_nothing() -> None:
    found = sites(member("a"))
    before = np.array([[2]])
    limits = limits_of(found, before, np.array([100]))
    words = [
        replace(said(Action.PIN, "a", 1), expires_at=NOW),
        said(Action.PIN, "z", 1),
        said(Action.PIN, None, 1),
        said(Action.PIN, "a", 1, row=5),
    ]
    heard = spoken(limits, words, rows={FunctionKey("shop/f0"): 0}, names=found.names, before=before, now=NOW)

    assert not heard
    assert limits.least.tolist() == [[0]]

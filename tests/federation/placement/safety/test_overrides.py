"""What people said about clusters, as bounds of the division."""

import pytest

from federation.placement.answer import Placement
from federation.placement.pipeline import place
from federation.placement.terms import Terms
from prewarm.domain import Action, Override, function_key
from prewarm.settings import PlacementPolicy
from tests.federation.building import NOW, cluster, fleet, workload

KEY = "shop/checkout"


def word(action: Action, value: int | None = None, where: str | None = None, *, until: float | None = None) -> Override:
    """A person's word on the workload."""
    return Override(function_key(KEY), where, action, value, "team", "because", NOW - 10, until)


def counts(
    *words: Override, replicas: int = 6, running: tuple[int, int] = (0, 0), room: int = 20, paused: bool = False
) -> dict[str, int]:
    """Instances in a (the better) and b."""
    a = cluster("a", price=0.5).nodes(cpu=str(room), memory="64Gi")
    b = cluster("b").nodes(cpu=str(room), memory="64Gi")
    a, b = (one.runs(KEY, n) if n else one for one, n in zip((a, b), running, strict=True))
    terms = Terms(policy=PlacementPolicy(paused=paused), overrides=words)
    made: Placement = place(fleet(a, b), workload(KEY, replicas, asks={"cpu": "1"}), terms=terms, now=NOW)
    return {one.cluster: one.replicas for one in made.shares}


@pytest.mark.parametrize(
    ("words", "right"),
    [
        pytest.param((), {"a": 6}, id="nothing-said"),
        pytest.param((word(Action.PIN, 2, "b"),), {"a": 4, "b": 2}, id="pin-in-a-cluster"),
        pytest.param((word(Action.PIN, 0, "a"),), {"b": 6}, id="pin-to-none"),
        pytest.param((word(Action.FLOOR, 1, "b"),), {"a": 5, "b": 1}, id="floor-in-a-cluster"),
        pytest.param((word(Action.CEILING, 4, "a"),), {"a": 4, "b": 2}, id="ceiling-in-a-cluster"),
        pytest.param((word(Action.EXCLUDE, None, "a"),), {"b": 6}, id="exclude-a-cluster"),
        pytest.param((word(Action.PIN, 9),), {"a": 9}, id="pin-everywhere"),
        pytest.param((word(Action.FLOOR, 8),), {"a": 8}, id="floor-everywhere"),
        pytest.param((word(Action.CEILING, 3),), {"a": 3}, id="ceiling-everywhere"),
        pytest.param((word(Action.EXCLUDE),), {}, id="exclude-everywhere"),
        pytest.param((word(Action.PIN, 2, "b", until=NOW),), {"a": 6}, id="expired"),
        pytest.param((word(Action.PIN, 3, "elsewhere"),), {"a": 6}, id="an-unknown-cluster"),
        pytest.param((word(Action.PIN, 25, "b"),), {"b": 20}, id="nobody-is-pinned-above-the-room"),
    ],
)
def test_bounds(words: tuple[Override, ...], right: dict[str, int]) -> None:
    assert counts(*words) == right


def test_freeze_and_pauses_hold_what_runs() -> None:
    assert counts(word(Action.FREEZE), replicas=9, running=(1, 2)) == {"a": 1, "b": 2}
    assert counts(word(Action.FREEZE, None, "b"), running=(0, 2)) == {"a": 4, "b": 2}
    assert counts(word(Action.PAUSE_UP), replicas=9, running=(1, 2)) == {"a": 1, "b": 2}
    assert counts(word(Action.PAUSE_DOWN), replicas=1, running=(1, 2)) == {"a": 1, "b": 2}
    assert counts(word(Action.PAUSE_DOWN, None, "b"), replicas=1, running=(0, 2)) == {"b": 2}


def test_a_persons_word_wins_over_the_kill_switch_and_everything_else_stays() -> None:
    assert counts(replicas=9, running=(1, 2), paused=True) == {"a": 1, "b": 2}
    assert counts(word(Action.EXCLUDE, None, "b"), replicas=3, running=(1, 2), paused=True) == {"a": 1, "b": 0}


def test_the_answer_names_who_said_what() -> None:
    a = cluster("a").nodes(cpu="20", memory="64Gi")
    terms = Terms(overrides=(word(Action.FLOOR, 8),))
    made = place(fleet(a), workload(KEY, 6, asks={"cpu": "1"}), terms=terms, now=NOW)
    assert made.replicas == 8
    assert [one.text for one in made.reasons if one.factor == "override"] == ["floor 8 by team: because"]


def test_a_word_about_a_cluster_that_nobody_knows_says_so() -> None:
    terms = Terms(overrides=(word(Action.PIN, 3, "nowhere"),))
    made = place(fleet(cluster("a").nodes(cpu="20", memory="64Gi")), workload(KEY, 6), terms=terms, now=NOW)
    said = "pin 3 in nowhere by team: because (no cluster is called nowhere)"
    assert [one.text for one in made.reasons if one.factor == "override"] == [said]

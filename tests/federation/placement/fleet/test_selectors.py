"""Labels, taints and tolerations against tables written from the Kubernetes documentation."""

import pytest

from federation.placement.fleet.selectors import disliked, repelling, satisfies, satisfies_any, tolerates
from federation.placement.workload import Requirement, Toleration
from federation.snapshot import Taint

LABELS = {"zone": "a", "disk": "ssd", "cores": "16", "empty": "", "text": "16x"}


@pytest.mark.parametrize(
    ("key", "operator", "values", "holds"),
    [
        pytest.param("zone", "In", ("a", "b"), True, id="in-the-list"),
        pytest.param("zone", "In", ("b",), False, id="not-in-the-list"),
        pytest.param("rack", "In", ("a",), False, id="in-needs-the-label"),
        pytest.param("empty", "In", ("",), True, id="an-empty-value-is-a-value"),
        pytest.param("zone", "NotIn", ("b",), True, id="another-value"),
        pytest.param("zone", "NotIn", ("a",), False, id="a-forbidden-value"),
        pytest.param("rack", "NotIn", ("a",), True, id="not-in-holds-for-an-absent-label"),
        pytest.param("disk", "Exists", (), True, id="there"),
        pytest.param("rack", "Exists", (), False, id="not-there"),
        pytest.param("empty", "Exists", (), True, id="empty-but-there"),
        pytest.param("rack", "DoesNotExist", (), True, id="absent-as-wished"),
        pytest.param("disk", "DoesNotExist", (), False, id="there-against-the-wish"),
        pytest.param("cores", "Gt", ("8",), True, id="greater"),
        pytest.param("cores", "Gt", ("16",), False, id="equal-is-not-greater"),
        pytest.param("cores", "Lt", ("32",), True, id="less"),
        pytest.param("cores", "Lt", ("16",), False, id="equal-is-not-less"),
        pytest.param("cores", "Gt", ("-1",), True, id="negative-bounds-are-numbers"),
        pytest.param("text", "Gt", ("8",), False, id="a-label-that-is-no-number"),
        pytest.param("cores", "Gt", ("8.5",), False, id="a-bound-that-is-no-whole-number"),
        pytest.param("rack", "Gt", ("8",), False, id="greater-needs-the-label"),
        pytest.param("rack", "Lt", ("8",), False, id="less-needs-the-label"),
        pytest.param("cores", "Gt", ("8", "9"), False, id="one-bound-only"),
        pytest.param("cores", "Gt", ("9223372036854775808",), False, id="beyond-64-bits"),
        pytest.param("zone", "Like", ("a",), False, id="an-unknown-operator-matches-nothing"),
    ],
)
def test_one_expression(key: str, operator: str, values: tuple[str, ...], holds: bool) -> None:
    assert satisfies(LABELS, Requirement(key, operator, values)) is holds


ZONE_A, ZONE_B = Requirement("zone", "In", ("a",)), Requirement("zone", "In", ("b",))
SSD = Requirement("disk", "In", ("ssd",))


@pytest.mark.parametrize(
    ("terms", "holds"),
    [
        pytest.param((), True, id="no-terms-ask-for-nothing"),
        pytest.param(((),), False, id="an-empty-term-matches-nothing"),
        pytest.param(((ZONE_A, SSD),), True, id="all-of-a-term"),
        pytest.param(((ZONE_B, SSD),), False, id="one-of-a-term-fails"),
        pytest.param(((ZONE_B,), (SSD,)), True, id="terms-are-alternatives"),
        pytest.param(((), (SSD,)), True, id="an-empty-term-spoils-no-other"),
    ],
)
def test_terms_are_or_and_their_expressions_and(terms: tuple[tuple[Requirement, ...], ...], holds: bool) -> None:
    assert satisfies_any(LABELS, terms) is holds


GPU = Taint("dedicated", "gpu", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "accepts"),
    [
        pytest.param(Toleration("dedicated", "Equal", "gpu", "NoSchedule"), True, id="same-key-value-effect"),
        pytest.param(Toleration("dedicated", "", "gpu", "NoSchedule"), True, id="equal-is-the-default"),
        pytest.param(Toleration("dedicated", "Equal", "cpu", "NoSchedule"), False, id="another-value"),
        pytest.param(Toleration("other", "Equal", "gpu", "NoSchedule"), False, id="another-key"),
        pytest.param(Toleration("dedicated", "Equal", "gpu", "NoExecute"), False, id="another-effect"),
        pytest.param(Toleration("dedicated", "Equal", "gpu"), True, id="no-effect-means-all"),
        pytest.param(Toleration("dedicated", "Exists", "", "NoSchedule"), True, id="exists-asks-no-value"),
        pytest.param(Toleration("", "Exists"), True, id="empty-key-with-exists-tolerates-everything"),
        pytest.param(Toleration("", "Exists", "", "NoExecute"), False, id="everything-of-another-effect"),
        pytest.param(Toleration("", "Equal", "gpu"), False, id="empty-key-needs-exists"),
        pytest.param(Toleration("dedicated", "Near", "gpu"), False, id="an-unknown-operator"),
    ],
)
def test_one_toleration_on_one_taint(toleration: Toleration, accepts: bool) -> None:
    assert tolerates(toleration, GPU) is accepts


def test_no_schedule_and_no_execute_keep_away_and_prefer_no_schedule_does_not() -> None:
    soft = Taint("spot", "yes", "PreferNoSchedule")
    assert repelling((soft,), ()) is None
    assert disliked((soft,), ())
    assert not disliked((soft,), (Toleration("spot", "Exists"),))
    for effect in ("NoSchedule", "NoExecute"):
        hard = Taint("dedicated", "gpu", effect)
        assert repelling((soft, hard), ()) == hard
        assert repelling((hard,), (Toleration("dedicated", "Exists"),)) is None


def test_every_taint_must_be_tolerated_and_the_first_that_is_not_is_named() -> None:
    other = Taint("team", "b", "NoExecute")
    assert repelling((GPU, other), (Toleration("dedicated", "Exists"),)) == other
    assert repelling((GPU, other), (Toleration("", "Exists"),)) is None


def test_no_schedule_toleration_with_a_time_limit_effect_does_not_cover_no_execute() -> None:
    evicting = Taint("dedicated", "gpu", "NoExecute")
    assert repelling((evicting,), (Toleration("dedicated", "Equal", "gpu", "NoSchedule"),)) == evicting

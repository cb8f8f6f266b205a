"""The answer explains itself: sums, margins, the change that would flip it, and the same in JSON and in words."""

from dataclasses import replace

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.explain.flip import nearest_flip
from federation.placement.explain.record import decision_of, detail_of
from federation.placement.explain.text import sentences
from federation.placement.pipeline import place
from federation.placement.scorer import FACTORS, Question, Weighing
from federation.placement.terms import Terms
from federation.placement.workload import Affinity
from prewarm.domain import Mode
from prewarm.settings import PlacementPolicy
from prewarm.store.details import read_detail
from tests.federation.building import NOW, cluster, fleet, workload

THREE = fleet(
    cluster("a", region="eu", price=0.7).nodes(3, cpu="8", memory="32Gi"),
    cluster("b", region="eu", price=1.0).nodes(9, cpu="8", memory="32Gi").runs("shop/checkout", 2),
    cluster("c", region="us").nodes(3, cpu="8", memory="32Gi"),
)
EU = workload(replicas=6, affinity=Affinity(regions=("eu",)))


def test_contributions_sum_to_the_score_and_scores_are_in_order() -> None:
    made = place(THREE, EU, now=NOW)
    for one in made.scores:
        assert sum(factor.contribution for factor in one.factors) == pytest.approx(one.score, abs=1e-6)
        assert tuple(factor.name for factor in one.factors) == FACTORS
    assert [one.score for one in made.scores] == sorted((one.score for one in made.scores), reverse=True)
    assert made.runner_up == made.scores[1].cluster
    assert made.margin == pytest.approx(made.scores[0].score - made.scores[1].score)


def test_the_flip_is_true() -> None:
    """With the change that it names the other cluster has caught up, and with a little less it has not."""
    made = place(THREE, EU, now=NOW)
    assert made.flip is not None
    at = FACTORS.index(made.flip.factor)

    def scores(change: float) -> dict[str, float]:
        found = {}
        for one in made.scores:
            moved = change if made.flip is not None and one.cluster == made.flip.cluster else 0.0
            found[one.cluster] = one.score + moved * one.factors[at].weight
        return found

    best, second = made.scores[0].cluster, made.scores[1].cluster
    exact, less = scores(made.flip.change), scores(made.flip.change * 0.99)
    assert exact[best] == pytest.approx(exact[second], abs=1e-9)
    assert less[best] > less[second]


def test_flips_by_hand() -> None:
    names, weights = ("a", "b"), np.zeros(len(FACTORS))
    weights[:2] = 0.5, 0.25
    values = np.zeros((2, len(FACTORS)))
    values[0, :2] = 0.8, 0.2
    values[1, :2] = 0.6, 0.2
    flip = nearest_flip(names, values, weights, values @ weights)
    assert flip is not None
    assert (flip.cluster, flip.factor) == ("b", "fit")
    assert flip.change == pytest.approx(0.2)
    values[1, 0], values[0, 0] = 0.95, 1.0
    values[1, 1] = 0.0
    full = nearest_flip(names, values, weights, values @ weights)
    assert full is not None
    assert (full.cluster, full.factor) == ("a", "fit")
    assert full.change == pytest.approx(-0.15)
    assert nearest_flip(names[:1], values[:1], weights, values[:1] @ weights) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_no_smaller_single_change_would_flip_it(clusters: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random((clusters, len(FACTORS)))
    weights = rng.random(len(FACTORS)) * (rng.random(len(FACTORS)) < 0.7)
    order = np.argsort(-(values @ weights))
    values = values[order]
    scores = values @ weights
    flip = nearest_flip(tuple(f"c{at}" for at in range(clusters)), values, weights, scores)
    smallest = np.inf
    for at in range(clusters):
        for factor, weight in enumerate(weights):
            need = (scores[0] - scores[1:].max()) / weight if weight and at == 0 else np.inf
            need = (scores[0] - scores[at]) / weight if weight and at else need
            room = values[0, factor] if at == 0 else 1 - values[at, factor]
            smallest = min(smallest, need if need <= room + 1e-12 else np.inf)
    assert (flip is None) == np.isinf(smallest)
    if flip is not None:
        assert abs(flip.change) == pytest.approx(smallest)


def test_the_decision_has_the_names_of_the_api() -> None:
    made = replace(place(THREE, EU, terms=Terms(mode=Mode.ACTIVE), now=NOW), reserved_until=NOW + 90)
    decision = decision_of(made)
    assert (decision.kind, decision.mode, decision.function) == ("placement", Mode.ACTIVE, "shop/checkout")
    assert (decision.from_count, decision.to_count) == (2, 6)
    assert len(decision.id) == 26
    detail = orjson.loads(orjson.dumps(detail_of(made)))
    assert set(detail) == {
        "filtered", "scores", "runner_up", "margin", "flip", "ages_s", "placements", "preferred", "unplaced",
        "reserved_until", "vetoes", "why",
    }  # fmt: skip
    assert detail["filtered"] == [{"cluster": "c", "filter": "region", "reason": "region us not allowed (eu)"}]
    assert set(detail["scores"][0]) == {"cluster", "score", "room", "factors"}
    assert set(detail["scores"][0]["factors"][0]) == {"name", "value", "weight", "contribution"}
    assert set(detail["flip"]) == {"cluster", "factor", "change"}
    assert detail["ages_s"] == {"a": 0.0, "b": 0.0, "c": 0.0}
    assert sum(one["weight"] for one in detail["placements"]) == pytest.approx(1.0)
    assert detail["reserved_until"] == "1970-01-12T13:48:10Z"
    assert detail["why"] == "learned scorer off"


class _Residual:
    """A scorer whose residual is shown as a factor of its own."""

    def weigh(self, question: Question) -> Weighing:
        weights = np.full(len(FACTORS), 1 / len(FACTORS))
        return Weighing(weights, 0.0, "test", "1", residual=np.linspace(0.1, -0.1, len(question.clusters)))


@pytest.mark.parametrize("scorer", [None, _Residual()])
def test_what_is_kept_as_columns_is_read_as_the_record(scorer: _Residual | None) -> None:
    made = place(THREE, EU, terms=Terms(scorer=scorer), now=NOW)
    kept = orjson.loads(orjson.dumps(decision_of(made).detail, option=orjson.OPT_SERIALIZE_NUMPY))
    assert len(orjson.dumps(kept["scores"])) < len(orjson.dumps(detail_of(made)["scores"])) / 2
    read = read_detail(kept)
    assert read == orjson.loads(orjson.dumps(detail_of(made)))
    assert read is not None
    for score in read["scores"]:
        assert sum(factor["contribution"] for factor in score["factors"]) == pytest.approx(score["score"], abs=1e-6)
        assert len(score["factors"]) == len(FACTORS) + (scorer is not None)


def test_scores_are_the_records_that_are_read_from_them() -> None:
    scores = place(THREE, EU, now=NOW).scores
    assert [scores[at] for at in range(len(scores))] == list(scores) == list(scores[:])
    assert scores[-1] == list(scores)[-1]
    assert scores == place(THREE, EU, now=NOW).scores
    assert scores != place(THREE, replace(EU, replicas=1), now=NOW).scores
    with pytest.raises(IndexError):
        scores[len(scores)]


def test_an_age_that_is_unknown_is_null() -> None:
    made = place(fleet(cluster("a").nodes(cpu="8", memory="8Gi").seen(None)), workload(), now=NOW)
    assert detail_of(made)["ages_s"] == {"a": None}
    assert decision_of(made).inputs["data_age_s"] is None


def test_a_decision_that_was_held_says_so() -> None:
    paused = Terms(policy=PlacementPolicy(paused=True))
    assert (
        decision_of(place(THREE, EU, terms=paused, now=NOW)).held == "placement is paused: nothing is placed or moved"
    )
    assert decision_of(place(THREE, EU, now=NOW)).held is None


def test_in_words() -> None:
    made = place(THREE, EU, now=NOW)
    text = sentences(detail_of(made))
    assert text[0].startswith("b: 6 instances (was 2), 100% of the traffic")
    assert "c is out (region): region us not allowed (eu)" in text
    assert any(line.startswith("b scores 0.") and "room for" in line for line in text)
    assert any(line.startswith("next best is a, ") for line in text)
    assert any(line.startswith("a change of ") for line in text)


def test_words_for_what_is_unplaced_and_held_back() -> None:
    small = fleet(cluster("a").nodes(cpu="1", memory="8Gi"))
    assert "unplaced: 4" in sentences(detail_of(place(small, workload(replicas=6), now=NOW)))
    paused = Terms(policy=PlacementPolicy(paused=True))
    text = sentences(detail_of(place(small, workload(), terms=paused, now=NOW)))
    assert "held back: placement is paused: nothing is placed or moved" in text


def test_what_has_no_room_is_said_to_go_elsewhere_only_where_it_does() -> None:
    def overflow(replicas: int) -> list[str]:
        made = place(two, workload(replicas=replicas, asks={"cpu": "1"}), now=NOW)
        return [one.text for one in made.reasons if one.factor == "overflow"]

    two = fleet(cluster("a", price=0.1).nodes(cpu="4", memory="8Gi"), cluster("b").nodes(cpu="2", memory="8Gi"))
    assert overflow(6) == ["no room for 2 more in a; they go to the next best"]
    assert overflow(9) == ["no room for 5 more in a; 2 of them go to the next best"]
    one = fleet(cluster("a").nodes(cpu="4", memory="8Gi"))
    made = place(one, workload(replicas=9, asks={"cpu": "1"}), now=NOW)
    texts = [reason.text for reason in made.reasons]
    assert "no room for 5 more in a" in texts
    assert "5 of 9 instances fit nowhere" in texts


def test_what_a_pause_holds_back_is_not_said_to_fit_nowhere() -> None:
    here = fleet(cluster("a").nodes(cpu="8", memory="8Gi").runs("shop/checkout", 2))
    made = place(here, workload(replicas=4), terms=Terms(policy=PlacementPolicy(paused=True)), now=NOW)
    assert "2 of 4 instances wait: placement is paused" in [one.text for one in made.reasons]

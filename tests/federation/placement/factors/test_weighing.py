"""Who gives the weights: a learned scorer where its answer can be trusted, else the fixed rule in the same request."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from federation.placement.factors.weighing import rule_weights
from federation.placement.pipeline import place
from federation.placement.scorer import FACTORS, Declined, Question, Weighing
from federation.placement.terms import Terms
from federation.snapshot import Snapshot
from prewarm.domain import FloatArray, PrewarmError
from prewarm.settings import FactorWeights, PlacementPolicy
from tests.federation.building import NOW, cluster, fleet, workload

PRICE = FACTORS.index("price")


@dataclass
class Learned:
    """A scorer that answers what it was told to, or raises it; keeps the questions."""

    answer: Weighing | Declined | Exception
    questions: list[Question] = field(default_factory=list)

    def weigh(self, question: Question) -> Weighing | Declined:
        """As told."""
        self.questions.append(question)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def weights(**given: float) -> FloatArray:
    """Weights by name, 0 for the others."""
    return np.array([given.get(name, 0.0) for name in FACTORS])


def _fleet() -> Snapshot:
    return fleet(
        cluster("a", price=3.0).nodes(cpu="10", memory="64Gi"), cluster("b", price=1.0).nodes(cpu="2", memory="64Gi")
    )


def first(scorer: Learned, replicas: int = 1) -> tuple[str, bool, str | None]:
    """Where it goes, whether the rule decided, and why."""
    made = place(_fleet(), workload(replicas=replicas), terms=Terms(scorer=scorer), now=NOW)
    return made.scores[0].cluster, made.policy.rule_decided, made.policy.why


def test_the_rule_has_the_configured_weights_summing_to_one() -> None:
    given = rule_weights(FactorWeights())
    assert given.sum() == pytest.approx(1.0)
    assert given[FACTORS.index("network")] == pytest.approx(1.0 / 6.5)
    nothing = FactorWeights(*(0.0 for _ in FACTORS))
    assert rule_weights(nothing).tolist() == pytest.approx([1 / 9] * 9)


def test_a_learned_answer_decides_and_is_named() -> None:
    cheap, roomy = weights(price=2.0), weights(headroom=1.0)
    assert first(Learned(Weighing(cheap, 0.0, "ddpg", "7"))) == ("b", False, None)
    assert first(Learned(Weighing(roomy, 0.0, "ddpg", "7"))) == ("a", False, None)
    made = place(_fleet(), workload(), terms=Terms(scorer=Learned(Weighing(cheap, 0.0, "ddpg", "7"))), now=NOW)
    assert (made.policy.name, made.policy.version) == ("ddpg", "7")
    assert [factor.weight for factor in made.scores[0].factors] == pytest.approx(list(cheap / 2))


def test_its_temperature_divides() -> None:
    even = Learned(Weighing(weights(steadiness=1.0), 5.0, "ddpg", "7"))
    made = place(_fleet(), workload(replicas=4), terms=Terms(scorer=even), now=NOW)
    assert {one.cluster: one.replicas for one in made.shares} == {"a": 2, "b": 2}


def test_a_residual_is_a_factor_of_its_own_and_the_sum_is_the_score() -> None:
    pushed = Learned(Weighing(weights(price=1.0), 0.0, "ddpg", "7", residual=np.array([0.25, -0.05])))
    made = place(_fleet(), workload(), terms=Terms(scorer=pushed), now=NOW)
    assert made.scores[0].cluster == "a"
    for one in made.scores:
        assert sum(factor.contribution for factor in one.factors) == pytest.approx(one.score, abs=1e-9)
        assert one.factors[-1].name == "learned"
    assert [one.factors[-1].value for one in made.scores] == [0.25, -0.05]
    assert made.shares[0].cluster == "a"


GOOD = Weighing(weights(price=1.0), 0.0, "ddpg", "7")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(Declined("out of distribution"), "out of distribution", id="declines"),
        pytest.param(replace(GOOD, weights=np.ones(3)), "scorer ddpg refused: 3 weights for 9 factors", id="shape"),
        pytest.param(
            replace(GOOD, weights=np.full(9, np.nan)),
            "scorer ddpg refused: weights must be finite, none negative and not all 0",
            id="nan",
        ),
        pytest.param(
            replace(GOOD, weights=weights(price=-1.0, fit=2.0)),
            "scorer ddpg refused: weights must be finite, none negative and not all 0",
            id="negative",
        ),
        pytest.param(
            replace(GOOD, weights=np.zeros(9)),
            "scorer ddpg refused: weights must be finite, none negative and not all 0",
            id="all-zero",
        ),
        pytest.param(
            replace(GOOD, weights=np.full(9, np.inf)),
            "scorer ddpg refused: weights must be finite, none negative and not all 0",
            id="infinite",
        ),
        pytest.param(
            replace(GOOD, temperature=np.nan), "scorer ddpg refused: temperature must be 0 to 10", id="heat-nan"
        ),
        pytest.param(
            replace(GOOD, temperature=-1.0), "scorer ddpg refused: temperature must be 0 to 10", id="heat-low"
        ),
        pytest.param(
            replace(GOOD, residual=np.array([0.3, 0.0])),
            "scorer ddpg refused: residual must be within 0.25 for each of 2 clusters",
            id="residual-large",
        ),
        pytest.param(
            replace(GOOD, residual=np.array([np.nan, 0.0])),
            "scorer ddpg refused: residual must be within 0.25 for each of 2 clusters",
            id="residual-nan",
        ),
        pytest.param(
            replace(GOOD, residual=np.zeros(3)),
            "scorer ddpg refused: residual must be within 0.25 for each of 2 clusters",
            id="residual-shape",
        ),
        pytest.param(RuntimeError("no such tensor"), "scorer failed: no such tensor", id="raises"),
        pytest.param(PrewarmError("worker gone"), "scorer failed: worker gone", id="its-worker-died"),
    ],
)
def test_whatever_it_does_the_rule_decides_in_the_same_request(
    answer: Weighing | Declined | Exception, why: str
) -> None:
    by_rule = place(_fleet(), workload(replicas=3), now=NOW)
    made = place(_fleet(), workload(replicas=3), terms=Terms(scorer=Learned(answer)), now=NOW)
    assert made.shares == by_rule.shares
    assert made.scores == by_rule.scores
    assert (made.policy.rule_decided, made.policy.why) == (True, why)


def test_the_question_shows_the_clusters_that_passed() -> None:
    scorer = Learned(GOOD)
    full = cluster("full").nodes(cpu="1", memory="64Gi", free={"cpu": "0"})
    more = fleet(cluster("a").nodes(cpu="10", memory="64Gi").runs("shop/checkout", 2), full)
    place(more, workload(replicas=3), terms=Terms(scorer=scorer, policy=PlacementPolicy()), now=NOW)
    (asked,) = scorer.questions
    assert asked.clusters == ("a",)
    assert asked.values.shape == (1, len(FACTORS))
    assert asked.room.tolist() == [22.0]
    assert asked.now == NOW

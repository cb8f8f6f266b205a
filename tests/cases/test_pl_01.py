"""Nothing fits: the answer is a placement with unplaced instances and a reason for every cluster, and valid JSON."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from federation.placement.explain.record import decision_of, detail_of
from federation.placement.pipeline import place
from federation.placement.scorer import FACTORS, Declined, Question, Weighing
from federation.placement.terms import Terms
from federation.placement.workload import Affinity, Workload
from federation.snapshot import MemberState, Snapshot
from tests.federation.building import NOW, cluster, fleet, workload


@dataclass
class CountingScorer:
    """A learned scorer that wants the first factor only and counts what it is asked."""

    asked: int = 0

    def weigh(self, question: Question) -> Weighing | Declined:
        """Weight on the first factor."""
        self.asked += 1
        assert np.isfinite(question.values).all()
        return Weighing(np.eye(len(FACTORS))[0], 0.0, "counting", "1")


def _fleet(state: MemberState) -> Snapshot:
    gpu: dict[str, Any] = {"example.com/gpu": "4"}
    return fleet(
        cluster("eu-1", region="eu").nodes(cpu="40", memory="80Gi"),
        cluster("eu-2", region="eu", state=state).nodes(cpu="40", memory="80Gi", **gpu),
        cluster("us-1", region="us").nodes(cpu="40", memory="80Gi", **(gpu | {"example.com/gpu": "8"})),
    )


def _transcribe() -> Workload:
    asks = {"cpu": "2", "memory": "4Gi", "example.com/gpu": "1"}
    return workload("media/transcribe", 1, asks=asks, affinity=Affinity(regions=("eu",)))


def test_every_cluster_has_its_reason_and_nothing_is_placed() -> None:
    for scorer in (None, CountingScorer()):
        placement = place(_fleet(MemberState.DARK), _transcribe(), terms=Terms(scorer=scorer), now=NOW)
        assert placement.unplaced == 1
        assert placement.shares == ()
        assert {one.cluster: one.reason for one in placement.filtered} == {
            "eu-1": "no example.com/gpu",
            "eu-2": "unhealthy: does not answer",
            "us-1": "region us not allowed (eu)",
        }
        assert placement.policy.rule_decided


def test_the_record_is_valid_json_without_nan_and_the_learned_policy_is_not_asked() -> None:
    scorer = CountingScorer()
    placement = place(_fleet(MemberState.DARK), _transcribe(), terms=Terms(scorer=scorer), now=NOW)
    assert scorer.asked == 0
    text = orjson.dumps(dict(detail_of(placement)))
    assert b"null" in text
    assert b"NaN" not in text
    read = orjson.loads(text)
    assert read["scores"] == []
    assert read["unplaced"] == 1
    decision = decision_of(placement)
    assert (decision.from_count, decision.to_count, decision.kind) == (0, 0, "placement")


def test_once_the_cluster_is_healthy_the_next_try_places_there() -> None:
    for scorer in (None, CountingScorer()):
        placement = place(_fleet(MemberState.READY), _transcribe(), terms=Terms(scorer=scorer), now=NOW)
        assert [(one.cluster, one.replicas) for one in placement.shares] == [("eu-2", 1)]
        assert placement.unplaced == 0

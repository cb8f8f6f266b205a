"""Nothing fits: the answer is a placement with unplaced instances and a reason for every cluster, and valid JSON."""

import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from federation.placement.explain.record import decision_of, detail_of
from federation.placement.pipeline import place
from federation.placement.scorer import FACTORS, Declined, Question, Weighing
from federation.placement.terms import Terms
from federation.placement.workload import Affinity, Workload
from federation.snapshot import Cluster, MemberState, Snapshot
from tests.federation.building import NOW, cluster, fleet, workload
from tests.federation.desk.ground import Ground, standing
from tests.service import HandClock


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


class GpuGround(Ground):
    """Every member but eu-1 has four of the asked GPUs."""

    def _cluster(self, name: str, now: float) -> Cluster:
        one = super()._cluster(name, now)
        if name == "eu-1":
            return one
        gpus: dict[str, Any] = {"cpu": "40", "memory": "80Gi", "example.com/gpu": "4"}
        return replace(one, nodes=cluster(name).nodes(**gpus).build().nodes)


def _no_nan(word: str) -> float:
    raise AssertionError(f"{word} is not JSON")


@pytest.mark.parametrize("scorer", [None, CountingScorer()])
async def test_through_the_api_it_is_a_200_with_every_reason_and_nothing_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, scorer: Any
) -> None:
    """The status that the OpenAPI document names for an answer, whether or not anything was placed."""
    caplog.set_level(logging.WARNING)
    names = {"eu-1": "eu", "eu-2": "eu", "us-1": "us"}
    asks = {"cpu": "2", "memory": "4Gi", "example.com/gpu": "1"}
    form = {"key": "media/transcribe", "replicas": 1, "requests": asks, "affinity": {"regions": ["eu"]}}
    ground = GpuGround(dict.fromkeys(names, 40), HandClock(), names)
    async with standing(tmp_path, ground) as at:
        at.desk.scorer = scorer
        ground.darken("eu-2")
        answer = await at.client.post("/v1/placements", json={"workload": form})
        document = await at.call("GET", "/openapi.json")
        assert str(answer.status) in document["paths"]["/v1/placements"]["post"]["responses"]
        told = json.loads(await answer.text(), parse_constant=_no_nan)
        assert (answer.status, told["unplaced"], told["placements"]) == (200, 1, [])
        assert {one["cluster"]: one["reason"] for one in told["filtered"]} == {
            "eu-1": "no example.com/gpu",
            "eu-2": "unhealthy: does not answer",
            "us-1": "region us not allowed (eu)",
        }
        kept = await (await at.client.get(f"/v1/decisions/{told['decision']}")).text()
        assert json.loads(kept, parse_constant=_no_nan)["scores"] == []
        assert [one.getMessage() for one in caplog.records] == []
        ground.lighten("eu-2")
        again = await at.call("POST", "/v1/placements", {"workload": form})
        assert [(one["cluster"], one["replicas"]) for one in again["placements"]] == [("eu-2", 1)]

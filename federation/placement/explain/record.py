"""A placement as a decision: the record that is stored, served and shown, under the names of the API."""

from __future__ import annotations

from collections.abc import Mapping

from federation.placement.answer import Placement
from federation.placement.scores import ClusterScore
from prewarm.domain import Decision, function_key, rfc3339

_DIGITS = 9
"""Figures are written to nine digits after the point, far below the 1e-6 that sums are held to."""


def decision_of(placement: Placement) -> Decision:
    """The decision that a placement is; `held` where nothing was changed because nothing may be.

    Its scores are columns, as the store keeps them; what is read from there are records as in `detail_of`.
    """
    before = sum(share.before for share in placement.shares)
    after = sum(share.replicas for share in placement.shares)
    clusters = [share.cluster for share in placement.shares if share.replicas]
    ages = [age for age in placement.ages_s.values() if age is not None]
    stopped = placement.vetoes and after == before and not _changes(placement)
    return Decision(
        id=placement.id,
        at=placement.at,
        function=function_key(placement.workload, "workload.key"),
        cluster=clusters[0] if len(clusters) == 1 else None,
        from_count=before,
        to_count=after,
        applied=placement.applied,
        mode=placement.mode,
        policy=placement.policy,
        inputs={"replicas": float(placement.replicas), "data_age_s": max(ages, default=None)},
        reasons=placement.reasons,
        held=placement.vetoes[0] if stopped else None,
        kind="placement",
        detail={**_beside_scores(placement), "scores": placement.scores.columns},
    )


def detail_of(placement: Placement) -> Mapping[str, object]:
    """What only a placement has, as JSON values."""
    return {**_beside_scores(placement), "scores": [_score(one) for one in placement.scores]}


def _beside_scores(placement: Placement) -> dict[str, object]:
    reserved = placement.reserved_until
    return {
        "filtered": [{"cluster": f.cluster, "filter": f.filter, "reason": f.reason} for f in placement.filtered],
        "runner_up": placement.runner_up,
        "margin": None if placement.margin is None else round(placement.margin, _DIGITS),
        "flip": _flip(placement),
        "ages_s": dict(placement.ages_s),
        "placements": [
            {"cluster": share.cluster, "replicas": share.replicas, "before": share.before, "weight": share.weight}
            for share in placement.shares
        ],
        "preferred": dict(placement.preferred),
        "unplaced": placement.unplaced,
        "reserved_until": None if reserved is None else rfc3339(reserved),
        "vetoes": list(placement.vetoes),
        "why": placement.policy.why,
    }


def _changes(placement: Placement) -> bool:
    return any(share.replicas != share.before for share in placement.shares)


def _score(one: ClusterScore) -> dict[str, object]:
    factors = [
        {"name": f.name, "value": f.value, "weight": f.weight, "contribution": f.contribution} for f in one.factors
    ]
    return {"cluster": one.cluster, "score": one.score, "room": one.room, "factors": factors}


def _flip(placement: Placement) -> dict[str, object] | None:
    flip = placement.flip
    if flip is None:
        return None
    return {"cluster": flip.cluster, "factor": flip.factor, "change": round(flip.change, _DIGITS)}

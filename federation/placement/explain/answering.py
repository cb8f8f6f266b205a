"""A placement as the record that everybody reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from federation.placement.answer import Placement, Share
from federation.placement.divide.allot import Allotted
from federation.placement.explain.flip import nearest_flip
from federation.placement.explain.scores import cluster_scores
from federation.placement.explain.sentences import reasons_of
from federation.placement.factors.judged import Judged
from federation.placement.scores import Scores
from federation.snapshot import frozen
from prewarm.domain import IntArray, decision_id


def answer(judged: Judged, allotted: Allotted) -> Placement:
    """The record of one decision."""
    case, terms = judged.case, judged.case.terms
    order = _ranking(judged, allotted)
    ranked = _ranked(judged, order)
    names = ranked.clusters
    values, weights = judged.values[judged.at[order]], judged.weighing.weights
    return Placement(
        id=decision_id(case.now, case.workload.key, "placement"),
        at=case.now,
        workload=case.workload.key,
        replicas=allotted.replicas,
        shares=_shares(case.fleet.names, allotted),
        unplaced=allotted.unplaced,
        policy=judged.tag,
        mode=terms.mode,
        filtered=judged.sieved.filtered,
        scores=ranked,
        runner_up=names[1] if len(names) > 1 else None,
        margin=float(ranked.totals[0] - ranked.totals[1]) if len(names) > 1 else None,
        flip=nearest_flip(names, values, weights, judged.scores[order]),
        preferred=_preferred(case.fleet.names, allotted),
        ages_s=_ages_s(judged),
        reasons=reasons_of(judged, allotted, ranked),
        vetoes=allotted.vetoes,
    )


def _ages_s(judged: Judged) -> Mapping[str, float | None]:
    case = judged.case
    ages = np.maximum(case.now - case.fleet.facts.seen, 0.0)
    known: list[float | None] = ages.tolist()
    for at in np.flatnonzero(np.isnan(ages)).tolist():
        known[at] = None
    return MappingProxyType(dict(zip(case.fleet.names, known, strict=True)))


def _ranking(judged: Judged, allotted: Allotted) -> IntArray:
    """Places of the clusters that passed, best first, equals by the same hash as in the division."""
    return np.lexsort((-allotted.tie[judged.at], -np.round(judged.scores, 9)))


def _ranked(judged: Judged, order: IntArray) -> Scores:
    case, at, residual = judged.case, judged.at[order], judged.weighing.residual
    return cluster_scores(
        tuple([case.fleet.names[position] for position in at.tolist()]),
        judged.values[at],
        weights=judged.weighing.weights,
        residual=None if residual is None else np.asarray(residual)[order],
        room=(case.occupied + case.fits)[at],
    )


def _preferred(names: tuple[str, ...], allotted: Allotted) -> Mapping[str, int]:
    counts = allotted.preferred
    if counts is None:
        return frozen()
    return frozen({names[at]: int(counts[at]) for at in np.flatnonzero(counts).tolist()})


def _shares(names: tuple[str, ...], allotted: Allotted) -> tuple[Share, ...]:
    """Clusters that have or had instances, the most first."""
    counts, before = allotted.counts, allotted.before
    total = max(int(counts.sum()), 1)
    involved = np.flatnonzero((counts > 0) | (before > 0)).tolist()
    involved.sort(key=lambda at: (-counts[at], names[at]))
    return tuple([Share(names[at], int(counts[at]), int(before[at]), float(counts[at] / total)) for at in involved])

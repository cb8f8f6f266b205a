"""A placement in sentences for `prewarm explain` and `prewarm place`, read from the record: what was stored is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_SHOWN = 3
"""Clusters whose factors are written out; the rest is in the JSON."""
_TELLING = 4
"""Factors of a score that are written out, the largest contributions."""


_SHOWN_ALREADY = frozenset({"score", "unplaced"})
"""Reasons that repeat what the places and the scores say."""


def sentences(detail: Mapping[str, Any], reasons: Iterable[tuple[str, str]] = ()) -> list[str]:
    """Where it goes, what the best clusters score and why, who was dropped, and what would change the answer.

    reasons: the name and the words of each reason of the decision, for what else there is to know.
    """
    more = [words for name, words in reasons if name not in _SHOWN_ALREADY]
    return [*_places(detail), *_scores(detail["scores"]), *_filtered(detail["filtered"]), *_close(detail), *more]


def _places(detail: Mapping[str, Any]) -> Iterator[str]:
    for share in detail["placements"]:
        was = "" if share["before"] == share["replicas"] else f" (was {share['before']})"
        yield f"{share['cluster']}: {share['replicas']} instances{was}, {share['weight']:.0%} of the traffic"
    if detail["unplaced"]:
        yield f"unplaced: {detail['unplaced']}"
    for veto in detail["vetoes"]:
        yield f"held back: {veto}"


def _scores(scores: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in scores[:_SHOWN]:
        factors = sorted(one["factors"], key=lambda factor: -abs(factor["contribution"]))[:_TELLING]
        parts = ", ".join(f"{f['name']} {f['value']:.2f} x {f['weight']:.2f}" for f in factors)
        yield f"{one['cluster']} scores {one['score']:.3f}, room for {one['room']}: {parts}"
    if len(scores) > _SHOWN:
        yield f"and {len(scores) - _SHOWN} more clusters that pass"


def _filtered(filtered: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in filtered:
        yield f"{one['cluster']} is out ({one['filter']}): {one['reason']}"


def _close(detail: Mapping[str, Any]) -> Iterator[str]:
    flip = detail["flip"]
    if detail["runner_up"] is not None:
        yield f"next best is {detail['runner_up']}, {detail['margin']:.3f} behind"
    if flip is not None:
        yield f"a change of {flip['change']:+.3f} in {flip['factor']} of {flip['cluster']} would put another first"

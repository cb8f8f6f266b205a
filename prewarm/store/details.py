"""What only some kinds of decisions have, from how it is kept to how everybody reads it.

A placement over a hundred clusters has nine hundred factors. They are kept as columns, a fifth of the bytes, and read
as the records of the API: the name of each factor, its value, its weight, and what it contributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Detail = Mapping[str, Any]


def read_detail(kept: Detail | None) -> Detail | None:
    """The detail with its scores as records; scores that were kept as records already stay as they are."""
    scores = None if kept is None else kept.get("scores")
    return {**kept, "scores": records_of(scores)} if kept is not None and isinstance(scores, dict) else kept


def records_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Scores as records; columns: clusters, scores, room (c,), labels, weights (F,) and values (c, F)."""
    rows = zip(columns["clusters"], columns["scores"], columns["room"], columns["values"], strict=True)
    kinds = list(zip(columns["labels"], columns["weights"], strict=True))
    return [
        {"cluster": cluster, "score": score, "room": room, "factors": _factors(kinds, values)}
        for cluster, score, room, values in rows
    ]


def _factors(kinds: list[tuple[str, float]], values: list[float]) -> list[dict[str, Any]]:
    pairs = zip(kinds, values, strict=True)
    return [
        {"name": name, "value": value, "weight": weight, "contribution": value * weight}
        for (name, weight), value in pairs
    ]

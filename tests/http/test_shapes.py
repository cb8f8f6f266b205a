"""The shapes that the API writes: the document's operations, and a band that holds what it promises."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.api import all_routes, describe
from prewarm.http.shapes import fleet_minutes_json
from prewarm.loop.track import FleetMinute


def minutes(need: list[int], known: int = 5) -> list[FleetMinute]:
    """Minutes that were forecast at 50 with a spread that is far too small."""
    return [FleetMinute(1_000 + i, n, 50.0, 1.0, 60, 70, 1, 2, 3.0, 4.0, known, 5 - known) for i, n in enumerate(need)]


def test_the_band_is_as_wide_as_the_errors_ask_for() -> None:
    need = np.random.default_rng(1).normal(50, 10, 400).round().astype(int).tolist()
    said = fleet_minutes_json(minutes(need))
    low, high = np.array(said["low"]), np.array(said["high"])
    inside = np.mean((np.array(need) >= low) & (np.array(need) <= high))
    assert inside == pytest.approx(0.8, abs=0.03)


def test_a_minute_without_any_known_demand_is_no_zero() -> None:
    assert fleet_minutes_json(minutes([0, 0], known=0))["need"] == [None, None]
    assert fleet_minutes_json([])["at"] == []


def test_every_operation_is_described_once_with_its_failures() -> None:
    document = describe(all_routes())
    names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names)) == len(all_routes())
    for path in document["paths"].values():
        for operation in path.values():
            assert "application/problem+json" in operation["responses"]["default"]["content"]
    assert document["paths"]["/v1/invocations"]["post"]["requestBody"]["required"] is True
    assert document["paths"]["/healthz"]["get"].get("security") is None
    assert document["paths"]["/v1/mode"]["put"]["security"] == [{}, {"bearer": []}]

"""The weights that ship: for the factors of today, small, and better than the rule on worlds that chose nothing."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the learn extra is not installed")

from federation.placement.scorer import FACTORS
from gnn.fleet.task import FleetTask
from gnn.train.evaluate import evaluate, weights_for
from prewarm.cli.learn_part import shipped

OTHERS = list(range(540, 552))
"""Validation seeds that this run was not judged by."""


def test_they_read_todays_factors_and_their_card_names_the_seeds() -> None:
    file = shipped("fleet")
    student = weights_for(FleetTask(), file)
    assert student.shape.factors == FACTORS
    assert file.stat().st_size < 200_000
    card = file.with_suffix(".md").read_text(encoding="utf-8")
    assert "- seed: 0" in card
    assert "On evaluation seeds" in card


@pytest.mark.slow  # a hundred episodes
def test_they_are_better_than_the_rule() -> None:
    found = evaluate(FleetTask(), weights_for(FleetTask(), shipped("fleet")), OTHERS, lambda _share, _doing: None)
    assert found.score > 0.0
    assert found.declined == 0

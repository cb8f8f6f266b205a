"""The bench of parts: one part at a time, arithmetic of its rows, and a run that goes on where it was stopped."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the learn extra is not installed")

from gnn.bench import ablation
from gnn.bench.ablation import row_of, variants, whole_plan
from gnn.forms import Form
from gnn.published.measure.kept import Reading
from prewarm.bench.result import BenchResult


def reading(score: float, refused: float = 0.01, price: float = 10.0) -> Reading:
    """What a run measured."""
    return {"score": score, "refused": refused, "rule refused": 0.012, "price": price, "updates": 400.0}


def test_every_variant_has_its_part_changed_and_nothing_else() -> None:
    whole, *others = variants(whole_plan(quick=False))

    def flat(plan: object) -> dict[str, object]:
        told = asdict(plan)  # type: ignore[call-overload]
        return {**told.pop("learner"), **told.pop("encoder"), **told}

    usual = flat(whole.plan)
    changed = {
        (one.part, one.instead): {name for name, value in flat(one.plan).items() if value != usual[name]}
        for one in others
        if one.form is Form.WEIGHTS
    }
    assert changed == {
        ("graph", "means over types (DeepSets)"): {"kind"},
        ("graph", "every node alone"): {"kind"},
        ("replay", "even draws"): {"alpha"},
        ("trying", "imitation alone"): {"questions"},
        ("anchor", "none"): {"anchor"},
        ("imitation", "none: the actor starts as the rule, no anchor"): {"imitations", "anchor"},
        ("price of violations", "none"): {"price"},
        ("both", "neither imitation nor price"): {"imitations", "anchor", "price"},
    }
    assert [one.form for one in others if one.plan == whole.plan] == [Form.RESIDUAL, Form.DIRECT]
    assert whole.plan.learner.anchor > 0
    assert whole.plan.learner.price.step > 0


def test_a_row_is_the_mean_the_range_and_the_difference_seed_by_seed() -> None:
    whole = [reading(0.02), reading(0.03)]
    ours = [reading(0.01, 0.02, 0.0), reading(0.025, 0.04, 0.0)]
    variant = variants(whole_plan(quick=True))[1]
    row = row_of(variant, ours, whole)
    assert row["score"] == pytest.approx(0.0175)
    assert row["range"] == "+0.0100..+0.0250"
    assert row["less whole"] == "-0.0075 (-0.0100..-0.0050)"
    assert row["refused %"] == pytest.approx(3.0)
    assert row["refused % range"] == "2.00..4.00"
    assert row["rule's %"] == pytest.approx(1.2)
    assert row["price at the end"] == 0.0
    assert row_of(variant, whole, whole)["less whole"] == "-"


def test_what_was_run_before_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ran: list[tuple[str, str, int]] = []

    def trained(variant: ablation.Variant, seed: int, worlds: object) -> Reading:
        del worlds
        if len(ran) == 7:
            raise KeyboardInterrupt
        ran.append((variant.part, variant.instead, seed))
        return reading(0.01 * seed)

    monkeypatch.setattr(ablation, "trained", trained)
    shares: list[float] = []

    def once() -> BenchResult:
        return ablation.run(tmp_path, seed=0, progress=lambda share, _doing: shares.append(share))

    with pytest.raises(KeyboardInterrupt):
        once()
    assert len(ran) == 7
    ran.append(("stopped", "", 0))
    result = once()
    assert len(ran) == 8 + 33 - 7
    assert len(set(ran)) == len(ran)
    assert result.rows[0]["score"] == pytest.approx(0.01)  # seeds 0, 1 and 2
    assert max(shares) < 1.0


@pytest.mark.slow  # trains a small learner
def test_a_variant_is_trained_and_its_last_weights_judged() -> None:
    variant = variants(whole_plan(quick=True))[1]
    small = replace(variant, plan=replace(variant.plan, lessons=60, imitations=10, questions=20, begin=16))
    found = ablation.trained(small, 0, [0])
    again = ablation.trained(small, 0, [0])
    assert found == again
    assert float(found["updates"] or 0) >= 10

"""Settings of the named baselines: drawn by number, resumed where they stopped, never far from what they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gnn.published.kernel.layout import KINDS, NODE_FACTORS
from gnn.published.measure import tune_named
from gnn.published.measure.search import Trial
from gnn.published.rules.named import Rule, by_name, named_tuned

OWN = {
    "target load (Trimaran)": "target_load",
    "network-aware (Diktyo)": "peers",
    "Karmada available replicas": "room_share",
    "FGD with future fill": "future_fill",
}


@pytest.mark.parametrize("family", list(tune_named.FAMILIES))
def test_a_draw_is_the_same_every_time_and_keeps_what_the_rule_is(family: str) -> None:
    assert tune_named.drawn(family, 0) == by_name(family)
    first, other = tune_named.drawn(family, 3), tune_named.drawn(family, 4)
    assert first == tune_named.drawn(family, 3)
    assert first != other
    assert first.whole_gangs is by_name(family).whole_gangs
    for kind in KINDS:
        assert first.weights[kind][OWN[family]] == 1.0
        assert set(first.weights[kind]) <= set(NODE_FACTORS)


def test_the_cheapest_trial_is_kept_and_none_is_run_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Rule] = []

    def measured(rule: Rule, load: float, number: int) -> Trial:
        asked.append(rule)
        return Trial(number, {}, {}, 0.02 + abs(number - 2) / 100.0, 70.0, load)

    monkeypatch.setattr(tune_named, "measured", measured)
    file = tmp_path / "named.jsonl"
    tune_named.run(file, 0.9, 2)
    kept = tune_named.run(file, 0.9, 4)
    assert len(asked) == 4 * len(tune_named.FAMILIES)
    assert {one["trial"] for one in kept.values()} == {2}
    for family, one in kept.items():
        assert one["weights"] == tune_named.drawn(family, 2).weights["web"]
        assert one["cost"] == pytest.approx(2.0 + 10.0 + 10.0)
        assert one["published_cost"] == pytest.approx(4.0 + 10.0 + 10.0)
    assert json.loads(json.dumps(kept)) == kept


def test_what_was_found_is_no_worse_than_what_was_published() -> None:
    named = json.loads((Path(tune_named.__file__).parents[1] / "rules" / "named.json").read_text(encoding="utf-8"))
    assert set(named) == set(tune_named.FAMILIES)
    assert all(one["cost"] <= one["published_cost"] for one in named.values())
    for rule, family in zip(named_tuned(), named, strict=True):
        drawn = tune_named.drawn(family, named[family]["trial"])
        assert (rule.weights, rule.temperature, rule.target_load) == (
            drawn.weights,
            drawn.temperature,
            drawn.target_load,
        )

"""All rules by name, those that were tuned with the settings that tuning found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from gnn.mix.rules.market import MarketRule
from gnn.mix.rules.plain import AllLocal, AtRandom, ByWeight, CheapestFirst, Duplicated, OnePool
from gnn.mix.rules.scored import NetworkAware, QueueingSplit, Spreading, TargetLoad
from gnn.mix.rules.theta import ThetaRule
from gnn.mix.state import Policy

RULE = "theta rule, tuned"
MARKET = "theta rule in room, tuned"
_TUNED = Path(__file__).with_name("tuned.json")


def plain_rules() -> tuple[Policy, ...]:
    """Rules with published settings, or without any."""
    return (
        AtRandom(),
        Duplicated(),
        Spreading(),
        Spreading(packing=True, name="most allocated"),
        CheapestFirst(),
        ByWeight("room", name="weighted by room"),
        ByWeight("capacity", name="weighted by capacity"),
        TargetLoad(),
        NetworkAware(),
        AllLocal(),
        OnePool(),
        ByWeight("callers", name="Hamilton by callers"),
        QueueingSplit(),
        ThetaRule(),
    )


def tuned_rules() -> tuple[Policy, ...]:
    """The rules that got the learner's budget; the last one is the fixed rule that everything is compared with."""
    return (
        _tuned(ByWeight("room"), "weighted by room"),
        _tuned(TargetLoad(), "target load packing"),
        _tuned(NetworkAware(), "network aware"),
        tuned_theta(),
    )


def tuned_theta() -> ThetaRule:
    """The fixed rule as tuned: what a learned policy stands beside."""
    rule: ThetaRule = _tuned(ThetaRule(), "theta rule")
    return rule


def tuned_market() -> MarketRule:
    """The same rule whose plans are made to fit the room, tuned likewise: what action zero of the policy is."""
    rule: MarketRule = _tuned(MarketRule(), "theta rule in room")
    return rule


def _tuned(rule: Any, name: str) -> Any:
    settings = dict(_settings()[name]["settings"])
    if "memory" in settings:
        settings["memory"] = int(settings["memory"])
    return replace(rule, name=f"{name}, tuned", **settings)


@cache
def _settings() -> Mapping[str, Any]:
    found: Mapping[str, Any] = orjson.loads(_TUNED.read_bytes())
    return found

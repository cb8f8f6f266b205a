"""The rules that a learned policy is measured against, each as weights of the named factors by kind of pod.

Published settings where there are any. A factor of weight 1e-6 breaks ties at random, as the kube-scheduler does; where
a published rule only says which cluster, the scheduler's default scorers choose the node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from gnn.published.kernel.layout import KINDS, NODE_FACTORS, SIZE
from prewarm.domain import FloatArray
from prewarm.settings import FactorWeights

_TIES = {"random": 1e-6}
_DEFAULT = {"least_allocated": 1.0, "balanced": 1.0, "spread": 2.0}
_FIRST = 100.0
"""Weight of what decides alone."""
_INSIDE = {name: 1e-3 * weight for name, weight in _DEFAULT.items() if name != "spread"}
_FACTOR_NAMES = tuple(FactorWeights.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Rule:
    """weights: by kind of pod (`KINDS`), factors by name; temperature: by kind. target_load: of load-aware packing.

    whole_gangs: it looks for a cluster that holds the whole gang; a scheduler that scores pod by pod does not.
    """

    name: str
    weights: Mapping[str, Mapping[str, float]]
    temperature: Mapping[str, float]
    target_load: float = 0.4
    whole_gangs: bool = False

    @classmethod
    def same(cls, name: str, weights: Mapping[str, float], *, whole_gangs: bool = False) -> Rule:
        """One set of weights for all kinds, always the best cluster."""
        return cls(name, dict.fromkeys(KINDS, weights), dict.fromkeys(KINDS, 0.0), whole_gangs=whole_gangs)

    @property
    def table(self) -> FloatArray:
        """(3, F + 1) as the simulator takes it, the temperature last."""
        table = np.zeros((len(KINDS), SIZE + 1))
        for row, kind in enumerate(KINDS):
            for name, weight in {**_TIES, **self.weights[kind]}.items():
                table[row, NODE_FACTORS.index(name)] = weight
            table[row, SIZE] = self.temperature[kind]
        return table


def default_rule() -> Rule:
    """The kube-scheduler's default scorers with their default weights, in the cluster that LeastAllocated prefers.

    A scheduler sees one cluster, so its rule is read on the clusters' totals first and on the nodes then.
    """
    return Rule.same("kube-scheduler default", {"cluster_least": _FIRST, **_DEFAULT})


def ours() -> Rule:
    """The fixed rule of this project with its default weights."""
    defaults = FactorWeights()
    weights = {name: float(getattr(defaults, name)) for name in _FACTOR_NAMES}
    return Rule.same("fixed rule", weights, whole_gangs=True)


def tuned() -> Rule:
    """The pipeline's own factors with the weights that the search found; the file says what it was found on."""
    found = json.loads(files("gnn.published.rules").joinpath("tuned.json").read_text(encoding="utf-8"))
    return Rule("tuned rule", found["weights"], found["temperature"], whole_gangs=True)


def filled() -> Rule:
    """The tuned rule whose replicas also prefer nodes that are nearly full: what the learned policy departs from.

    By itself it fails less and fills less (docs/experiments.md, P9); led by a plan it does both better.
    """
    rule = tuned()
    web = {**rule.weights["web"], "most_allocated": 1.0}
    return Rule("tuned rule, full nodes first", {**rule.weights, "web": web}, rule.temperature, whole_gangs=True)


def _published() -> tuple[Rule, ...]:
    """Rules with their published settings, the default first."""
    return (
        default_rule(),
        Rule.same("default over all nodes", _DEFAULT),
        Rule.same("random", {"random": 1.0}),
        Rule.same("most allocated", {"most_allocated": 1.0}),
        Rule.same("network-aware (Diktyo)", {"peers": 1.0, **_INSIDE}),
        Rule.same("target load (Trimaran)", {"target_load": 1.0}),
        Rule.same("FGD", {"fragmentation": 1.0}),
        Rule.same("FGD with future fill", {"future_fill": 1.0}, whole_gangs=True),
        Rule.same("Karmada static weight", {"equal_share": 1.0, **_INSIDE}, whole_gangs=True),
        Rule.same("Karmada available replicas", {"room_share": 1.0, **_INSIDE}, whole_gangs=True),
        Rule.same("Karmada aggregated", {"aggregated": 1.0, **_INSIDE}, whole_gangs=True),
    )


def by_name(name: str) -> Rule:
    """A published rule."""
    return next(rule for rule in _published() if rule.name == name)


def named_tuned() -> tuple[Rule, ...]:
    """Four of them with the settings that were found for them; the file says on what, and what the published cost."""
    found = json.loads(files("gnn.published.rules").joinpath("named.json").read_text(encoding="utf-8"))
    return tuple(
        Rule(
            f"{name}, tuned",
            dict.fromkeys(KINDS, one["weights"]),
            dict.fromkeys(KINDS, one["temperature"]),
            one["target_load"],
            one["whole_gangs"],
        )
        for name, one in found.items()
    )


def baselines() -> tuple[Rule, ...]:
    """All of them, the default first."""
    return (*_published(), *named_tuned(), ours(), tuned(), filled())

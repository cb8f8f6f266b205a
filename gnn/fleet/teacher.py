"""Who the policy imitates first: room and calls weighed by what they cost for this workload.

A fixed weighting cannot know whether a workload's calls or its room are dearer. The teacher does, from the workload's
own figures, and otherwise keeps to the tuned rule. It looks at one placement only; what it costs later ones is left to
be learned.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from federation.placement.scorer import FACTORS
from federation.placement.workload import Workload
from gnn.fleet.outcome import goals_of
from gnn.forms import REACH, Rule

NETWORK, PRICE = FACTORS.index("network"), FACTORS.index("price")
NEARNESS = 0.5
"""How much nearness counts for a workload whose room and calls cost the same, against cheapness (chosen on training
episodes).
"""


def lesson(workload: Workload, rule: Rule) -> NDArray[np.float32]:
    """The teacher's action, (1, F + 1): nearness and cheapness in the ratio of what calls and room cost."""
    goals = goals_of(workload)
    wanted = NEARNESS * goals.delay / max(goals.utilisation, 1e-9)
    ratio = wanted * rule.weights[PRICE] / max(rule.weights[NETWORK], 1e-9)
    action = np.zeros((1, len(FACTORS) + 1), np.float32)
    near, cheap = _factors(ratio)
    action[0, NETWORK], action[0, PRICE] = _action(near), _action(cheap)
    return action


def _factors(ratio: float) -> tuple[float, float]:
    """Two factors of this ratio, as near to 1 as they can be, neither beyond `REACH`."""
    root = math.sqrt(max(ratio, 1e-9))
    if root >= 1.0:
        near = min(root, REACH)
        return near, near / ratio
    cheap = min(1.0 / root, REACH)
    return cheap * ratio, cheap


def _action(times: float) -> float:
    """The action that makes a weight count so many times (`forms.weights_of`)."""
    return (times - 1.0) / (REACH - 1.0) if times >= 1.0 else times - 1.0

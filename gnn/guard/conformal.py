"""Thresholds and p-values without any law: only that calibration and what comes are exchangeable.

Method: split conformal prediction (Vovk, Gammerman, Shafer, 2005; Lei et al., JASA'18, section 2). The chance that a
new score exceeds `threshold(scores, rate)` is at most `rate`, and at least `rate - 1/(n + 1)` where none are equal.
"""

from __future__ import annotations

import math

import numpy as np

from prewarm.domain import FloatArray


def threshold(scores: FloatArray, rate: float) -> float:
    """The smallest score that at most a share `rate` of what is like `scores` (n,) exceeds; infinite where n is too
    small to say so (n + 1 < 1 / rate).
    """
    rank = math.ceil((len(scores) + 1) * (1.0 - rate) - 1e-9)
    return float(np.sort(scores)[rank - 1]) if 0 < rank <= len(scores) else math.inf


def p_value(scores: FloatArray, score: float) -> float:
    """How usual a score is: at most a share p of what is like `scores` has a p-value of p or less."""
    return (1.0 + float(np.count_nonzero(scores >= score))) / (len(scores) + 1.0)

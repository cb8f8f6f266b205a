"""How long latency takes to settle after a change: the definition of the protocol, on P99 in a sliding window.

The window is five seconds, some 15,000 calls, whose P99 wanders by about one per cent of itself. The final value is the
P99 of the calls that begin from the third minute after the change to the fifth, before the next burst.
"""

from __future__ import annotations

import numpy as np

from gnn.published.measure.run import percentile_ms
from prewarm.domain import FloatArray, Int32Array

WINDOW_S, WITHIN, STAYS_S = 5, 0.05, 30
FINAL_S = (180, 300)


def windowed_p99_ms(histogram: Int32Array) -> FloatArray:
    """P99 of the calls that began in the five seconds up to each second's end, (seconds,); NaN in the first four."""
    sums = np.cumsum(histogram, axis=0, dtype=np.int64)
    sums[WINDOW_S:] -= sums[:-WINDOW_S].copy()
    whole = [float("nan")] * (WINDOW_S - 1)
    return np.array(whole + [percentile_ms(row, 0.99) for row in sums[WINDOW_S - 1 :]])


def convergence_s(histogram: Int32Array, changed_s: int) -> float:
    """Seconds from the change to the first from which P99 stays within 5 % of its final value for 30 s.

    NaN where it does not before the final value is taken.
    """
    final = percentile_ms(histogram[changed_s + FINAL_S[0] : changed_s + FINAL_S[1]].sum(axis=0), 0.99)
    p99 = windowed_p99_ms(histogram[changed_s - WINDOW_S : changed_s + FINAL_S[1]])[WINDOW_S:]
    return settled_after(p99, final)


def settled_after(series: FloatArray, final: float) -> float:
    """The definition itself, on one value a second: index of the first that begins 30 within 5 %, NaN without one."""
    inside = np.abs(series - final) <= WITHIN * final
    for at in range(len(inside) - STAYS_S + 1):
        if inside[at : at + STAYS_S].all():
            return float(at)
    return float("nan")

"""The network between clusters as the graph has it: near neighbours, callers' delays, and which clusters may host.

A hundred clusters have ten thousand links and fifty thousand function-cluster pairs; a network that looks at all of
them is ten times slower and no better (most never matter), so each cluster keeps its nearest links and each function
its best few candidates.
"""

from __future__ import annotations

import numpy as np

from federation.snapshot import Links
from prewarm.domain import BoolArray, FloatArray, IntArray

NEAREST = 8
CANDIDATES = 8
SHORTLIST = 24
_FULL_MS = 50.0
"""A cluster without free room is as unattractive as one so much farther away."""


def aligned(links: Links, names: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
    """Delay and bandwidth in the order of `names`, (n, n) each, NaN unknown; the delay to oneself is 0 if not told."""
    at = {name: i for i, name in enumerate(links.names)}
    rows = np.array([at.get(name, -1) for name in names], np.int64)
    known = (rows[:, None] >= 0) & (rows[None, :] >= 0)
    delay, bandwidth = np.full(known.shape, np.nan), np.full(known.shape, np.nan)
    pairs = np.broadcast_to(rows[:, None], known.shape)[known], np.broadcast_to(rows[None, :], known.shape)[known]
    delay[known], bandwidth[known] = links.delay_ms[pairs], links.bandwidth_mbps[pairs]
    own = np.arange(len(names))
    delay[own, own] = np.nan_to_num(delay[own, own], nan=0.0)
    return delay, bandwidth


def unknown_links(links: Links) -> int:
    """Links between clusters that are named and have no delay that can be believed."""
    bad = ~(np.isfinite(links.delay_ms) & (links.delay_ms >= 0))
    np.fill_diagonal(bad, False)
    return int(bad.sum())


def near_links(delay: FloatArray, bandwidth: FloatArray) -> tuple[IntArray, FloatArray]:
    """Each cluster's `NEAREST` links of known delay: ends (2, e) and raw columns (e, 2)."""
    if not len(delay):
        return np.zeros((2, 0), np.int64), np.zeros((0, 2))
    far = np.where(np.isfinite(delay) & (delay >= 0), delay, np.inf)
    np.fill_diagonal(far, np.inf)
    target = np.argsort(far, axis=1, kind="stable")[:, :NEAREST]
    source = np.broadcast_to(np.arange(len(delay))[:, None], target.shape)
    kept = np.isfinite(np.take_along_axis(far, target, axis=1))
    ends = np.stack([source[kept], target[kept]])
    return ends, np.column_stack([delay[ends[0], ends[1]], bandwidth[ends[0], ends[1]]])


def from_callers(by_region: FloatArray, by_cluster: FloatArray, regions: IntArray, delay: FloatArray) -> FloatArray:
    """Mean delay in ms from each function's callers to each cluster, (n, c), NaN where callers or delays are unknown.

    by_region (n, r), by_cluster (n, c): calls a second. regions (c,): row of each cluster's region, -1 none. Calls from
    a region have the mean known delay from its clusters.
    """
    known = np.isfinite(delay) & (delay >= 0)
    member = (regions[None, :] == np.arange(by_region.shape[1])[:, None]).astype(np.float64)
    reach = member @ known
    with np.errstate(invalid="ignore", divide="ignore"):
        of_region = (member @ np.where(known, delay, 0.0)) / reach
        calls = by_region @ (reach > 0) + by_cluster @ known
        total = by_region @ np.where(reach > 0, of_region, 0.0) + by_cluster @ np.where(known, delay, 0.0)
        mean: FloatArray = total / calls
    return mean


def shortlist(closeness: FloatArray) -> IntArray:
    """The `SHORTLIST` clusters nearest to each function's callers, (n, s), nearest first. closeness: (n, c) ms, NaN
    unknown.
    """
    near: IntArray = np.argsort(closeness, axis=1, kind="stable")[:, :SHORTLIST]
    return near


def candidates(closeness: FloatArray, near: IntArray, free_share: FloatArray, usable: BoolArray) -> IntArray:
    """Ends (2, e) of each function's `CANDIDATES` usable clusters: near its callers, and with room rather than without.

    near: the shortlist of closeness. free_share, usable: (c,). A cluster whose delay alone is unknown counts as the
    farthest that is known; where none is known, room alone decides.
    """
    crowded = np.where(usable, _FULL_MS * (1.0 - free_share), np.inf)
    delay = np.take_along_axis(closeness, near, axis=1)
    unknown = np.isnan(delay)
    farthest = np.where(unknown, -np.inf, delay).max(axis=1, initial=-np.inf)
    delay = np.where(unknown, np.where(np.isfinite(farthest), farthest, np.inf)[:, None], delay)
    cost = (delay + crowded[near]).astype(np.float32)
    best = np.argsort(cost, axis=1, kind="stable")[:, :CANDIDATES]
    chosen, finite = np.take_along_axis(near, best, axis=1), np.isfinite(np.take_along_axis(cost, best, axis=1))
    roomy = np.argsort(crowded, kind="stable")[:CANDIDATES]
    lost = ~finite.any(axis=1)
    chosen[lost], finite[lost] = roomy, np.isfinite(crowded[roomy])
    source = np.broadcast_to(np.arange(len(chosen))[:, None], chosen.shape)
    return np.stack([source[finite], chosen[finite]])

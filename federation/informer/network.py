"""The network between clusters, from what people said of clusters and of regions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from federation.snapshot import Links
from prewarm.settings import Link

Place = tuple[str, str | None]
"""A cluster's name and region."""


@lru_cache(maxsize=8)
def links_between(places: tuple[Place, ...], links: tuple[Link, ...]) -> Links:
    """Delay and bandwidth from each to each; what is said of clusters wins over what is said of their regions.

    A link holds both ways unless the other way is given as well; within a cluster the delay is 0; what nobody said is
    NaN.
    """
    said = {(link.a, link.b): link for link in links}
    size = len(places)
    delay_ms, bandwidth_mbps = np.full((size, size), np.nan), np.full((size, size), np.nan)
    for i, a in enumerate(places):
        for j, b in enumerate(places):
            if i == j:
                delay_ms[i, j] = 0.0
            elif (link := _find(said, a, b)) is not None:
                delay_ms[i, j] = link.delay_ms
                bandwidth_mbps[i, j] = np.nan if link.bandwidth_mbps is None else link.bandwidth_mbps
    delay_ms.setflags(write=False)
    bandwidth_mbps.setflags(write=False)
    return Links(tuple(name for name, _ in places), delay_ms, bandwidth_mbps)


def _find(said: dict[tuple[str, str], Link], a: Place, b: Place) -> Link | None:
    for one, other in _pairs(a, b):
        link = said.get((one, other)) or said.get((other, one))
        if link is not None:
            return link
    return None


def _pairs(a: Place, b: Place) -> Sequence[tuple[str, str]]:
    pairs = ((a[0], b[0]), (a[0], b[1]), (a[1], b[0]), (a[1], b[1]))
    return [(one, other) for one, other in pairs if one is not None and other is not None]

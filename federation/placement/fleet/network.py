"""Delays and bandwidths between clusters, and from regions to clusters, in the fleet's order.

An unknown link stays NaN: the network factor reads that as neutral, never as near. A cluster is near to itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from federation.snapshot import Links, Snapshot
from prewarm.domain import FloatArray, IntArray
from prewarm.settings import Call

Places = tuple[tuple[str, str | None], ...]
"""Name and region of each cluster."""
INSIDE_MS = 1.0
"""Delay inside one cluster, where no link says otherwise."""


@dataclass(frozen=True, slots=True)
class Network:
    """delay_ms, bandwidth_mbps: (C, C) from row to column, NaN unknown. from_region: (C,) delay from each region.

    callers, callees: the service graph by key. `links` and `calls` say what this was made of.
    """

    links: Links
    calls: tuple[Call, ...]
    delay_ms: FloatArray
    bandwidth_mbps: FloatArray
    from_region: Mapping[str, FloatArray]
    callers: Mapping[str, tuple[Call, ...]]
    callees: Mapping[str, tuple[Call, ...]]


def network_of(snapshot: Snapshot, last: Network | None, *, moved: bool = True) -> Network:
    """The network between the snapshot's clusters; `last` where nothing changed and no cluster has `moved`."""
    links, calls, clusters = snapshot.links, snapshot.calls, snapshot.clusters
    if last is not None and last.links is links and last.calls is calls and not moved:
        return last
    places = tuple((one.name, one.region) for one in clusters)
    at = {name: number for number, name in enumerate(links.names)}
    where = np.array([_known_as(name, region, at) for name, region in places], dtype=np.int64)
    delay_ms = _between(links.delay_ms, where)
    inside = np.diagonal(delay_ms)
    np.fill_diagonal(delay_ms, np.where(np.isfinite(inside) & (inside > 0), inside, INSIDE_MS))
    regions = {region for _, region in places if region is not None} | set(links.names)
    return Network(
        links=links,
        calls=calls,
        delay_ms=delay_ms,
        bandwidth_mbps=_between(links.bandwidth_mbps, where),
        from_region={region: _from(region, delay_ms, places, links, where) for region in sorted(regions)},
        callers=_grouped((call.callee, call) for call in calls),
        callees=_grouped((call.caller, call) for call in calls),
    )


def _known_as(name: str, region: str | None, at: Mapping[str, int]) -> int:
    """Where the links speak of a cluster: by its own name, else by its region's; -1 nowhere."""
    return at.get(name, at.get(region, -1) if region is not None else -1)


def _between(values: FloatArray, where: IntArray) -> FloatArray:
    known = where >= 0
    picked = np.full((len(where), len(where)), np.nan)
    picked[np.ix_(known, known)] = values[np.ix_(where[known], where[known])]
    return picked


def _from(region: str, network: FloatArray, places: Places, links: Links, where: IntArray) -> FloatArray:
    """Delay from a region: of a link that names it, else from its nearest cluster; NaN where neither is known."""
    delay = np.full(len(places), np.nan)
    known = where >= 0
    if region in links.names:
        delay[known] = links.delay_ms[links.names.index(region), where[known]]
    members = [at for at, (_, lies_in) in enumerate(places) if lies_in == region]
    if members:
        nearest = np.fmin.reduce(network[members], axis=0)
        delay = np.where(np.isfinite(delay), delay, nearest)
        delay[members] = np.diagonal(network)[members]
    return delay


def _grouped(pairs: Iterable[tuple[str, Call]]) -> dict[str, tuple[Call, ...]]:
    found: dict[str, list[Call]] = {}
    for key, call in pairs:
        found.setdefault(key, []).append(call)
    return {key: tuple(calls) for key, calls in found.items()}

"""Snapshot, facts and calls to a graph, again and again, at the price of what changed.

The informer hands the same object on for a cluster that did not change, and so do links, calls and facts; identity is
therefore the test of what may be kept. Only ages and what is summed over clusters are made anew for each graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from federation.snapshot import Links, MemberState, Snapshot, frozen
from gnn.graph import network
from gnn.graph.clusters import ClusterRows, renewed, with_ages
from gnn.graph.features import TABLE, column, encode, width
from gnn.graph.functions import Facts, call_edges, callers_by, told_columns
from gnn.graph.network import aligned, from_callers, near_links, shortlist, unknown_links
from gnn.graph.value import Edges, Graph
from prewarm.domain import FloatArray, IntArray
from prewarm.settings import Call

_USABLE = (MemberState.READY, MemberState.SLOW)
_CPU, _FREE_CPU, _FREE_MEMORY = (column("cluster", name) for name in ("cpu", "free_cpu", "free_memory"))


@dataclass(frozen=True, slots=True, eq=False)
class _Names:
    clusters: tuple[str, ...]
    regions: tuple[str, ...]
    functions: tuple[str, ...]
    region_of: IntArray
    ran: Mapping[str, tuple[str, ...]]
    ran_rows: IntArray
    """Row of the function of all that runs, cluster by cluster."""


@dataclass(frozen=True, slots=True, eq=False)
class _Still:
    """What depends on facts, calls, links and names only. told: (n, 5); closeness: (n, c); near: (n, s) the clusters
    nearest to callers; by_region: (n, r)."""

    facts: Mapping[str, Facts]
    calls: tuple[Call, ...]
    links: Links
    names: _Names
    told: FloatArray
    closeness: FloatArray
    near: IntArray
    by_region: FloatArray
    calls_in: FloatArray
    edges: Mapping[str, Edges]
    tally: Counter[str]


class GraphBuilder:
    """Makes graphs of one fleet, one after the other. candidates: with `may_run_on`, which is most of the work where
    many functions run; whoever asks about one function says himself where that may run.
    """

    def __init__(self, *, candidates: bool = True) -> None:
        self._candidates = candidates
        self._rows: dict[str, ClusterRows] = {}
        self._names: _Names | None = None
        self._still: _Still | None = None

    def build(self, snapshot: Snapshot, facts: Mapping[str, Facts]) -> Graph:
        """The graph of a snapshot; functions are those with facts, instances or calls, sorted by key."""
        self._rows = {one.name: renewed(one, self._rows.get(one.name)) for one in snapshot.clusters}
        names, still = self._named(snapshot, facts), self._still
        if still is None or not _holds(still, snapshot, facts, names):
            still = _stand_still(snapshot, facts, names)
        self._names, self._still = names, still
        return _assemble(list(self._rows.values()), names, still, at=snapshot.at, candidates=self._candidates)

    def _named(self, snapshot: Snapshot, facts: Mapping[str, Facts]) -> _Names:
        last, still = self._names, self._still
        ran = {name: rows.keys for name, rows in self._rows.items()}
        regions = tuple(one.region for one in snapshot.clusters)
        if (
            last is not None
            and still is not None
            and still.facts is facts
            and still.calls is snapshot.calls
            and last.ran == ran
            and tuple(last.regions[row] if row >= 0 else None for row in last.region_of.tolist()) == regions
        ):
            return last
        return _names(snapshot, facts, ran)


def _names(snapshot: Snapshot, facts: Mapping[str, Facts], ran: Mapping[str, tuple[str, ...]]) -> _Names:
    keys = set(facts).union(*ran.values())
    keys.update(key for call in snapshot.calls for key in (call.caller, call.callee))
    calling = {caller.region for one in facts.values() for caller in one.callers}
    regions = tuple(sorted({one.region for one in snapshot.clusters if one.region} | {one for one in calling if one}))
    at = {region: row for row, region in enumerate(regions)}
    region_of = np.array([at.get(one.region or "", -1) for one in snapshot.clusters], np.int64)
    functions = tuple(sorted(keys))
    place = {key: row for row, key in enumerate(functions)}
    ran_rows = np.array([place[key] for one in snapshot.clusters for key in ran[one.name]], np.int64)
    return _Names(tuple(one.name for one in snapshot.clusters), regions, functions, region_of, ran, ran_rows)


def _holds(still: _Still, snapshot: Snapshot, facts: Mapping[str, Facts], names: _Names) -> bool:
    return (
        still.facts is facts
        and still.calls is snapshot.calls
        and still.links is snapshot.links
        and still.names is names
    )


def _stand_still(snapshot: Snapshot, facts: Mapping[str, Facts], names: _Names) -> _Still:
    tally: Counter[str] = +Counter({"link.delay": unknown_links(snapshot.links)})
    delay, bandwidth = aligned(snapshot.links, names.clusters)
    told = told_columns(names.functions, facts)
    ends, calls = call_edges(snapshot.calls, names.functions, told[:, 0])
    calls_in = np.bincount(ends[1], weights=calls[:, 2], minlength=len(names.functions)).astype(np.float64)
    by_region = callers_by(names.functions, facts, names.regions, clusters=False)
    by_cluster = callers_by(names.functions, facts, names.clusters, clusters=True)
    edges = {
        "calls": Edges(ends, encode("calls", calls, tally)),
        "called_from": _called_from(by_region, tally),
        "link": _encoded("link", *near_links(delay, bandwidth), tally),
        "in_region": _in_region(names.region_of, tally),
    }
    closeness = from_callers(by_region, by_cluster, names.region_of, delay)
    on = (facts, snapshot.calls, snapshot.links, names)
    near = shortlist(closeness)
    return _Still(*on, told, closeness, near, by_region, calls_in=calls_in, edges=edges, tally=tally)


def _encoded(kind: str, ends: IntArray, raw: FloatArray, tally: Counter[str]) -> Edges:
    return Edges(ends, encode(kind, raw, tally))


def _called_from(by_region: FloatArray, tally: Counter[str]) -> Edges:
    ends = np.stack(np.nonzero(by_region)).astype(np.int64)
    calls = by_region[ends[0], ends[1]]
    share = calls / by_region.sum(axis=1)[ends[0]]
    return _encoded("called_from", ends, np.column_stack([calls, share]), tally)


def _in_region(region_of: IntArray, tally: Counter[str]) -> Edges:
    rows = np.flatnonzero(region_of >= 0)
    return _encoded("in_region", np.stack([rows, region_of[rows]]), np.zeros((len(rows), 0)), tally)


def _assemble(rows: list[ClusterRows], names: _Names, still: _Still, *, at: float, candidates: bool) -> Graph:
    tally = Counter(still.tally)
    clusters = _stacked([one.row for one in rows], "cluster")
    pools = [one.pools for one in rows]
    ends, counts = _running(rows, names)
    edges = {
        **still.edges,
        **_instances(ends, counts, len(names.functions), tally),
        "part_of": _part_of(rows, tally),
        "may_run_on": _may_run_on(rows, clusters, still, tally) if candidates else _nowhere(),
    }
    stamps = np.array([one.stamps for one in rows], np.float64).reshape(-1, 3)
    raw = {
        "cluster": with_ages(clusters, stamps, at),
        "pool": np.concatenate(pools) if pools else _stacked([], "pool"),
        "function": _functions(ends, counts, still),
        "region": _regions(clusters, names, still.by_region),
    }
    named = {
        "cluster": names.clusters,
        "pool": tuple(name for one in rows for name in one.pool_names),
        "function": names.functions,
        "region": names.regions,
    }
    nodes = {kind: encode(kind, values, tally) for kind, values in raw.items()}
    return Graph(frozen(named), frozen(nodes), frozen(edges), frozen(tally))


def _stacked(rows: list[FloatArray], kind: str) -> FloatArray:
    return np.array(rows, np.float64).reshape(-1, len(TABLE[kind]))


def _running(rows: list[ClusterRows], names: _Names) -> tuple[IntArray, FloatArray]:
    """Function and cluster of everything that runs, (2, e), and its counts (e, 4)."""
    source = names.ran_rows
    target = np.repeat(np.arange(len(rows)), [len(one.keys) for one in rows])
    counts = np.concatenate([one.counts for one in rows]) if rows else np.zeros((0, 4))
    return np.stack([source, target]), counts


def _instances(ends: IntArray, counts: FloatArray, functions: int, tally: Counter[str]) -> dict[str, Edges]:
    existing, ready = counts[:, 1], counts[:, 2]
    share = existing / np.maximum(np.bincount(ends[0], weights=existing, minlength=functions), 1.0)[ends[0]]
    warm = ready > 0
    part = ready / np.maximum(np.bincount(ends[0], weights=ready, minlength=functions), 1.0)[ends[0]]
    runs = np.column_stack([counts[:, 0], existing, counts[:, 3], share])
    return {
        "runs_on": _encoded("runs_on", ends, runs, tally),
        "warm_on": _encoded("warm_on", ends[:, warm], np.column_stack([ready, part])[warm], tally),
    }


def _part_of(rows: list[ClusterRows], tally: Counter[str]) -> Edges:
    target = np.repeat(np.arange(len(rows)), [len(one.pools) for one in rows])
    share = np.concatenate([one.pool_share for one in rows]) if rows else np.zeros(0)
    return _encoded("part_of", np.stack([np.arange(len(target)), target]), share[:, None], tally)


def _nowhere() -> Edges:
    return Edges(np.zeros((2, 0), np.int64), np.zeros((0, width("may_run_on")), np.float32))


def _may_run_on(rows: list[ClusterRows], clusters: FloatArray, still: _Still, tally: Counter[str]) -> Edges:
    usable = np.array([one.seen.state in _USABLE for one in rows], np.bool_)
    room = np.nan_to_num(np.fmin(clusters[:, _FREE_CPU], clusters[:, _FREE_MEMORY]))
    ends = network.candidates(still.closeness, still.near, room, usable)
    free = np.array([one.free for one in rows], np.float64).reshape(-1, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        fits = np.floor((free[ends[1]] / still.told[ends[0], 1:3]).min(axis=1))
    return _encoded("may_run_on", ends, np.column_stack([still.closeness[ends[0], ends[1]], fits]), tally)


def _functions(ends: IntArray, counts: FloatArray, still: _Still) -> FloatArray:
    many = len(still.told)
    of = [np.bincount(ends[0], weights=part, minlength=many) for part in (counts[:, 1] > 0, *counts.T)]
    return np.column_stack([still.told, still.calls_in, *of])


def _regions(clusters: FloatArray, names: _Names, by_region: FloatArray) -> FloatArray:
    inside = names.region_of >= 0
    at, many = names.region_of[inside], len(names.regions)
    cpu = np.bincount(at, weights=clusters[inside, _CPU], minlength=many)
    free = np.nan_to_num(clusters[inside, _FREE_CPU]) * clusters[inside, _CPU]
    with np.errstate(invalid="ignore"):
        share = np.bincount(at, weights=free, minlength=many) / cpu
    return np.column_stack([np.bincount(at, minlength=many), cpu, share, by_region.sum(axis=0)])

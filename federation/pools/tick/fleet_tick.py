"""One tick of the fleet: the totals that `prewarm.control` decided, divided over the clusters.

The total of a function is what the tick decided (its bounds, budget and overrides have spoken); where a region's own
pool pays, its parts are sized for themselves by the same newsvendor rule and may need a few more in all, within the
function's maximum, and never where a person spoke or data is missing. What was planned last is where a plan starts,
so it does not wait for members to report; what members report says how much room there is. A pool that had to leave a
cluster counts as being at home there while it waits to go back, for an hour after the cluster can be trusted again.

Pure over its arguments. `FleetPlan` is both the answer and the memory: hand it back at the next tick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from federation.pools.plan import plan_pools
from federation.pools.question import (
    ClusterRoom,
    Limits,
    PoolDemand,
    PoolPlan,
    Preference,
    SeedArray,
    Steadiness,
    seeds_of,
)
from federation.pools.regions import Demand, OpeningRule, OpenPools, open_regions
from federation.pools.split import by_place
from federation.pools.tick.bounds import limits_of, spoken
from federation.pools.tick.emptying import Emptying, Pools, emptied
from federation.pools.tick.observed import Report, read_reports
from federation.pools.tick.sites import MIB, Sites, sites_of
from federation.pools.tick.value import Callers, Values, pool_values
from federation.snapshot import Snapshot, frozen
from prewarm.control import TickDecisions
from prewarm.domain import BoolArray, FloatArray, FunctionKey, Int32Array, IntArray, Override
from prewarm.policy.columns import UNBOUNDED
from prewarm.policy.pool import pool_target
from prewarm.settings import PlacementPolicy

HOUR_S = 3600.0
STEP_S = 60.0
UNKNOWN_DELAY_MS = 50.0
"""Delay that stands in for one that nobody knows when pools of a region's own are weighed."""


@dataclass(frozen=True, slots=True)
class FleetTerms:
    """What holds while a fleet tick is planned.

    promised_mib: by cluster, room that placements of other workloads reserved and that is not yet seen taken.
    priority: by function key, 0 where absent. followed: (n,) whether anybody carries a function's plan out; one that
    nobody does (in shadow) starts every time from what members report. None is everybody. deployed_only: instances
    can only be scaled where an object of that name exists, so nothing is planned elsewhere. draining: clusters that a
    person empties.
    """

    policy: PlacementPolicy = field(default_factory=PlacementPolicy)
    overrides: tuple[Override, ...] = ()
    promised_mib: Mapping[str, int] = field(default_factory=frozen)
    priority: Mapping[FunctionKey, int] = field(default_factory=frozen)
    followed: BoolArray | None = None
    deployed_only: bool = False
    draining: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """A planned tick: `answer` says how many where, the rest says why; rows as in `tick.state.keys`."""

    tick: TickDecisions
    sites: Sites
    callers: Callers
    values: Values
    opened: OpenPools
    answer: PoolPlan
    heard: Mapping[tuple[int, int], tuple[Override, ...]]
    terms: FleetTerms
    reports: Mapping[str, Report]
    moves: tuple[tuple[float, int], ...]
    """When instances moved for the better within the last hour, and how many."""
    anchor: IntArray
    """Where each pool counts as being, (n, c): what is planned, or the home that it had to leave."""
    left_at: Mapping[str, float]
    """When pools last had to leave a cluster or could not yet return to it."""
    staying: IntArray
    """Instances that stay in drained clusters until others are ready in their place, (n,)."""

    @property
    def keys(self) -> tuple[FunctionKey, ...]:
        """The functions, in order of the rows."""
        return self.tick.state.keys

    @property
    def names(self) -> tuple[str, ...]:
        """The clusters, in order of the columns."""
        return self.sites.names


def plan_fleet(
    tick: TickDecisions, snapshot: Snapshot, last: FleetPlan | None, *, callers: Callers, terms: FleetTerms, now: float
) -> FleetPlan:
    """Divide the tick's totals over the snapshot's clusters."""
    keys, policy = tick.state.keys, terms.policy
    sites = sites_of(snapshot, policy=policy, since_lost={} if last is None else last.sites.since_lost, now=now)
    reports = read_reports(sites.clusters, keys, {} if last is None else last.reports)
    before, anchor = _where_they_were(last, keys, sites.names, reports, terms.followed)
    size = np.maximum(np.rint(tick.policy.memory_gb * 1e9 / MIB), 1).astype(np.int64)
    held_mib = np.array([int(reports[name].bound @ size) for name in sites.names], dtype=np.int64)
    values = pool_values(sites, callers, before, held_mib=held_mib, weights=policy.weights)
    limits = limits_of(sites, before, size)
    if terms.deployed_only and len(sites):
        deployed = np.stack([reports[name].deployed for name in sites.names], axis=1)
        limits = replace(limits, allowed=limits.allowed & deployed)
    heard = spoken(limits, terms.overrides, rows=tick.state.rows, names=sites.names, before=before, now=now)
    liked = values.total + values.stay * (anchor > 0)
    opened, wanted, parts = _opened(tick, sites, callers, liked, limits=limits, last=last, rule=_rule(policy))
    recent = tuple(one for one in (() if last is None else last.moves) if now - one[0] < HOUR_S)
    promised = np.array([terms.promised_mib.get(name, 0) for name in sites.names], dtype=np.int64)
    seeds, budget = _seeds(last, keys), max(0, policy.moves_per_hour - sum(count for _, count in recent))
    draining = np.array([name in terms.draining for name in sites.names], dtype=np.bool_)
    emptying = _emptying(limits, Pools(wanted, before, _ready(reports, sites, before), seeds), draining, budget)
    answer = plan_pools(
        PoolDemand(wanted + emptying.kept, size, seeds, _priority(terms, keys)),
        ClusterRoom(np.maximum(sites.free + held_mib - promised, 0), sites.seed),
        preference=Preference(values.total, policy.spread_temperature, parts),
        limits=_frozen(limits, before) if policy.paused else emptying.limits,
        previous=before,
        steadiness=Steadiness(budget, values.stay, anchor),
    )
    moved = int(answer.improved.sum()) + emptying.started(answer.plan.astype(np.int64), before, draining)
    left_at = _left_at(last, sites, answer, now)
    return FleetPlan(
        tick=tick,
        sites=sites,
        callers=callers,
        values=values,
        opened=opened,
        answer=answer,
        heard=heard,
        terms=terms,
        reports=reports,
        moves=(*recent, (now, moved)) if moved else recent,
        anchor=_homes(answer, anchor, [name in left_at for name in sites.names]),
        left_at=left_at,
        staying=emptying.kept,
    )


def _where_they_were(
    last: FleetPlan | None,
    keys: tuple[FunctionKey, ...],
    names: tuple[str, ...],
    reports: Mapping[str, Report],
    followed: BoolArray | None,
) -> tuple[IntArray, IntArray]:
    """Where pools are as planned last, and where they count as being, (n, c) each; of what nobody follows, as seen."""
    observed = {name: report.wanted for name, report in reports.items()}
    before = _aligned(last, keys, names, None if last is None else last.answer.plan, observed)
    anchor = _aligned(last, keys, names, None if last is None else last.anchor, observed)
    if followed is None:
        return before, anchor
    as_it_is = _aligned(None, keys, names, None, observed)
    return np.where(followed[:, None], before, as_it_is), np.where(followed[:, None], anchor, as_it_is)


def _emptying(limits: Limits, pools: Pools, draining: BoolArray, budget: int) -> Emptying:
    """Nothing is emptied while nothing is to be, or while nobody would be left."""
    if draining.any() and not draining.all():
        return emptied(limits, pools, draining=draining, budget=budget)
    return Emptying(limits, np.zeros_like(pools.wanted))


def _ready(reports: Mapping[str, Report], sites: Sites, like: IntArray) -> IntArray:
    ready = [reports[name].ready for name in sites.names]
    return np.stack(ready, axis=1) if ready else np.zeros_like(like)


def _aligned(
    last: FleetPlan | None,
    keys: tuple[FunctionKey, ...],
    names: tuple[str, ...],
    table: Int32Array | IntArray | None,
    observed: Mapping[str, IntArray],
) -> IntArray:
    """`table` of the last plan in this tick's rows and columns, (n, c); else what members want there."""
    aligned = np.zeros((len(keys), len(names)), dtype=np.int64)
    known = 0 if last is None else len(last.keys)
    columns = {} if last is None or keys[:known] != last.keys else {name: at for at, name in enumerate(last.names)}
    for column, name in enumerate(names):
        if table is not None and name in columns:
            aligned[:known, column] = table[:, columns[name]]
        else:
            aligned[:, column] = observed[name]
    return aligned


def _left_at(last: FleetPlan | None, sites: Sites, answer: PoolPlan, now: float) -> dict[str, float]:
    """Clusters that pools had to leave or cannot yet return to, with when that was; forgotten after an hour."""
    known = {} if last is None else {name: at for name, at in last.left_at.items() if now - at < HOUR_S}
    fell = answer.plan < answer.before
    pushed = (fell & (answer.evicted > 0)[:, None]).sum(axis=0) > 0
    new = {name: now for name, out in zip(sites.names, pushed.tolist(), strict=True) if out or name in sites.since_lost}
    return {**known, **new}


def _homes(answer: PoolPlan, anchor: IntArray, recently_left: list[bool]) -> IntArray:
    """Where each pool counts as being from now on."""
    away = ((anchor > answer.plan) & np.array(recently_left, dtype=np.bool_)).sum(axis=1) > 0
    return np.where(away[:, None], anchor, answer.plan.astype(np.int64))


def _rule(policy: PlacementPolicy) -> OpeningRule:
    return OpeningRule(delay_price_per_s=policy.delay_price_per_s, theta=policy.own_pool_at)


def _opened(
    tick: TickDecisions,
    sites: Sites,
    callers: Callers,
    liked: FloatArray,
    *,
    limits: Limits,
    last: FleetPlan | None,
    rule: OpeningRule,
) -> tuple[OpenPools, IntArray, FloatArray | None]:
    """The pools of each function, its instances in all, and the parts of them that each pool is to hold.

    liked: (n, c) values with what staying is worth; the shared pool is where that is most.
    """
    usable = limits.allowed & ~sites.full[None, :] & (limits.most > 0)
    home = np.where(usable, liked, -np.inf).argmax(axis=1) if len(sites) else np.zeros(len(usable), np.int64)
    delay_ms = sites.from_regions(callers.regions)
    delay_s = np.where(np.isfinite(delay_ms), delay_ms, UNKNOWN_DELAY_MS) / 1000
    demand = Demand(
        tick.levels, tick.policy.cold_cost, tick.policy.idle_cost, tick.limit, callers.rate * STEP_S, delay_s
    )
    opened = open_regions(demand, home, usable=usable, rule=rule, before=_was_open(last, usable.shape, sites.names))
    total = tick.to_count.astype(np.int64)
    free = opened.split & ~tick.held
    free[list(tick.spoken)] = False
    if not free.any():
        return opened, total, None
    own = np.where(free[:, None], opened.shares, 0.0)
    places = by_place(tick.levels, own)
    sizes = pool_target(places, np.repeat(tick.limit, len(sites)))[0].reshape(own.shape).astype(np.int64)
    needed = np.minimum(sizes.sum(axis=1), np.where(tick.policy.maximum < UNBOUNDED, tick.policy.maximum, UNBOUNDED))
    wanted = np.where(free, np.maximum(total, needed), total)
    if tick.policy.budget_gb is not None and float(wanted @ tick.policy.memory_gb) > tick.policy.budget_gb:
        wanted = total
    return opened, wanted, sizes.astype(np.float64)


def _was_open(last: FleetPlan | None, shape: tuple[int, ...], names: tuple[str, ...]) -> BoolArray | None:
    if last is None or last.names != names:
        return None
    was = np.zeros(shape, dtype=np.bool_)
    was[: len(last.keys)] = last.opened.open
    return was


def _frozen(limits: Limits, before: IntArray) -> Limits:
    """Nothing is placed or moved."""
    return Limits(limits.allowed | (before > 0), before, before)


def _seeds(last: FleetPlan | None, keys: tuple[FunctionKey, ...]) -> SeedArray:
    known = 0 if last is None else len(last.keys)
    if last is not None and keys[:known] == last.keys:
        return np.concatenate([last.answer.pools.seed, seeds_of(keys[known:])])
    return seeds_of(keys)


def _priority(terms: FleetTerms, keys: tuple[FunctionKey, ...]) -> IntArray | None:
    if not terms.priority:
        return None
    return np.array([terms.priority.get(key, 0) for key in keys], dtype=np.int64)
